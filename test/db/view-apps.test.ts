/** What people read of the pages of apps: what changed on them, and the reviews. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const PLACE = { location_code: 2840, language_code: 'en' }

const list = lasting(createWatchlist)
beforeEach(async () => {
  await list.clear()
  await list.setNow('2026-03-10 13:00+00')
})

describe('app_change', () => {
  interface Texts {
    readonly title?: string
    readonly description?: string
    readonly images?: string[]
    readonly details?: Record<string, string | number[] | string[]>
  }

  /** Stores the texts of a page, and returns what a snapshot calls them. */
  async function listing({ details = {}, ...texts }: Texts): Promise<{ listing_hash: Buffer }> {
    const hash = Buffer.from(JSON.stringify({ details, texts }))
    await list.sql`insert into listing ${list.sql({ hash, details: list.sql.json(details), ...texts })}`
    return { listing_hash: hash }
  }

  /** As `day before field old new`. */
  const changes = (where = 'true') =>
    list.ask(
      "to_char(slot, 'DD'), to_char(previous_slot, 'DD'), field, old_value, new_value",
      `app_change where ${where}`,
    )

  test('has one row for each field that changed, old and new', async () => {
    await list.addApp({ ...PLACE, info: true })
    const old = await listing({
      title: 'Yoga',
      description: 'Long',
      images: ['a', 'b'],
      details: { developerUrl: 'x', subtitle: 'Every morning' },
    })
    const now = await listing({
      title: 'Yoga+',
      description: 'Long',
      images: ['b'],
      details: { developerUrl: 'y', subtitle: 'Every day' },
    })
    await list.describeApp('1001', '2026-03-10 00:00+00', {
      ...old,
      version: '1.0',
      price_micros: 0,
      rating: 4.5,
    })
    await list.describeApp('1001', '2026-03-11 00:00+00', {
      ...now,
      version: '1.1',
      price_micros: 1_990_000,
      rating: 4.6,
    })
    assert.deepEqual(await changes(), [
      '11 10 developer_url x y',
      '11 10 images ["a", "b"] ["b"]',
      '11 10 price 0 1.99',
      '11 10 subtitle Every morning Every day',
      '11 10 title Yoga Yoga+',
      '11 10 version 1.0 1.1',
    ])
  })

  test('is empty while the page stays as it is, and says nothing of the first measurement', async () => {
    await list.addApp({ ...PLACE, info: true })
    const same = await listing({ title: 'Yoga' })
    for (const day of ['10', '11', '12']) {
      await list.describeApp('1001', `2026-03-${day} 00:00+00`, {
        ...same,
        version: '1.0',
        votes_count: Number(day),
      })
    }
    assert.deepEqual(await changes(), [])
  })

  test('looks over gaps to the measurement before, and opens no older one', async () => {
    await list.addApp({ ...PLACE, info: true })
    await list.describeApp('1001', '2026-03-10 00:00+00', { version: '1.0' })
    await list.describeApp('1001', '2026-03-11 00:00+00', { gap: 'failed' })
    await list.describeApp('1001', '2026-03-12 00:00+00', { version: '2.0' })
    await list.describeApp('1001', '2026-03-13 00:00+00', { version: '1.0' })
    assert.deepEqual(await changes(), ['12 10 version 1.0 2.0', '13 12 version 2.0 1.0'])
    assert.equal((await changes("slot >= '2026-03-13'")).length, 1)
  })

  test('of a range of days is asked of app_changes, which reads its partitions alone', async () => {
    await list.addApp({ ...PLACE, info: true })
    for (const [n, slot] of [
      '2026-02-10',
      '2026-03-10',
      '2026-05-30',
      '2026-05-31',
      '2026-08-10',
    ].entries()) {
      await list.describeApp('1001', `${slot} 00:00+00`, { version: `${n}.0` })
    }
    const of = "app_changes('fitness', '2026-05-31', '2026-05-31')"
    assert.deepEqual(await list.ask("to_char(day, 'DD'), field, new_value, tags", of), ['31 version 3.0 {}'])
    for (const read of ['app_changes', 'project_events']) {
      const plan = await list.sql.unsafe(
        `explain (analyze, costs off, timing off, summary off) select * from ${read}('fitness', ` +
          `'2026-05-20', '2026-05-31')`,
      )
      const text = plan.map((row) => row['QUERY PLAN']).join('\n')
      const partitions = [...text.matchAll(/ on (app_snapshot_\d+)(?!.*never executed)/g)].map(
        (match) => match[1],
      )
      // March has the measurement before the first of the range.
      assert.deepEqual([...new Set(partitions)].sort(), ['app_snapshot_202603', 'app_snapshot_202605'], read)
    }
  })

  test('shows an app that left the store and came back, and no field that nobody could see', async () => {
    await list.addApp({ ...PLACE, info: true })
    await list.describeApp('1001', '2026-03-10 00:00+00', { version: '1.0' })
    await list.describeApp('1001', '2026-03-11 00:00+00', { found: false })
    await list.describeApp('1001', '2026-03-12 00:00+00', { version: '2.0' })
    assert.deepEqual(await changes(), ['11 10 found true false', '12 11 found false true'])
  })

  test('leaves out other apps of the page, and a detail that only one measurement knows', async () => {
    await list.addApp({ ...PLACE, info: true })
    const old = await listing({ details: { similarApps: [1], genres: ['a'] } })
    const now = await listing({ details: { similarApps: [2], genres: ['a'], motto: 'new' } })
    await list.describeApp('1001', '2026-03-10 00:00+00', old)
    await list.describeApp('1001', '2026-03-11 00:00+00', now)
    assert.deepEqual(await changes(), [])
  })

  test('compares what the project asked for: of a weekly watch weeks', async () => {
    await list.addApp({ ...PLACE, info: true })
    await list.addApp({ ...PLACE, info: true, project: 'wellness', every: '7 days' })
    for (const [day, version] of [
      ['09', '1'],
      ['10', '2'],
      ['16', '3'],
    ]) {
      await list.describeApp('1001', `2026-03-${day} 00:00+00`, { version })
    }
    assert.deepEqual(await changes("project = 'wellness'"), ['16 09 version 1 3'])
  })
})

describe('reviews', () => {
  const addReview = async (appId: string, fields: object) => {
    const [app] = await list.sql`select id from app where app_id = ${appId}`
    const seen = { first_seen_at: '2026-03-10', last_seen_at: '2026-03-10', written_at: '2026-03-09' }
    const review = {
      app: app?.id,
      review_id: '1',
      location_code: 2840,
      language_code: 'en',
      ...seen,
      ...fields,
    }
    await list.sql`insert into review ${list.sql(review)}`
  }

  test('are shown to the projects that follow them, or did, and to no other', async () => {
    await list.addApp({ ...PLACE, reviews: true, label: 'Mine' })
    await list.addApp({ ...PLACE, reviews: true, project: 'wellness' })
    await list.addApp({ project: 'another' })
    await list.sql`update app_watch set reviews = false where project = 'wellness'`
    await addReview('1001', { rating: 5, title: 'Love it', text: 'Every day', author: 'Ann', version: '1.0' })
    const columns = 'project, app_id, label, role, location, rating, title, text, author, version'
    assert.deepEqual(await list.ask(columns, 'app_review'), [
      'fitness 1001 Mine own 2840 5 Love it Every day Ann 1.0',
      'wellness 1001 own 2840 5 Love it Every day Ann 1.0',
    ])
  })

  test('say how helpful they were found, and what the developer answered last', async () => {
    await list.addApp({ ...PLACE, reviews: true })
    const answers = [
      { text: 'of the second', timestamp: '2026-03-10T09:00:00.000Z' },
      { text: 'undated', timestamp: null },
      { text: 'of the first', timestamp: '2026-03-09T09:00:00.000Z' },
    ].map((answer) => ({ author: 'us', title: null, ...answer }))
    await addReview('1001', { helpful_count: 3, responses: list.sql.json(answers) })
    await addReview('1001', { review_id: '2', responses: list.sql.json([]) })
    assert.deepEqual(
      await list.ask("review_id, helpful_count, response, to_char(responded_at, 'DD HH24')", 'app_review'),
      ['1 3 of the second 10 09', '2'],
    )
  })

  test('are shown once where a project follows them in two places', async () => {
    await list.addApp({ ...PLACE, reviews: true })
    await list.addApp({ location_code: 2276, language_code: 'de', reviews: true })
    await addReview('1001', {})
    assert.equal((await list.sql`select from app_review`).count, 1)
  })

  test('of the last days are found by the index', async () => {
    await list.addApp({ ...PLACE, reviews: true })
    await list.sql`insert into review (app, review_id, location_code, language_code, written_at,
      first_seen_at, last_seen_at)
      select a.id, n::text, 2840, 'en', '2026-03-10'::timestamptz - make_interval(hours => n), '2026-03-10',
        '2026-03-10'
      from app a, generate_series(1, 5000) n`
    await list.sql`analyze review, app, watch_period`
    const plan = await list.sql.unsafe(`explain select * from app_review
      where project = 'fitness' and written_at >= '2026-03-09 12:00+00' order by written_at desc`)
    assert.match(plan.map((row) => row['QUERY PLAN']).join('\n'), /review_by_time/)
  })

  test('have their slots in app_slot, and none among the details', async () => {
    await list.addApp({ ...PLACE, reviews: true })
    await list.describeApp('1001', '2026-03-10 00:00+00', { rating: 4.5, reviews_count: 7 }, 'app_reviews')
    assert.equal((await list.sql`select from app_history`).count, 0)
    assert.deepEqual(await list.ask('gap, found, rating, reviews_count', 'app_slot'), ['t 4.5 7'])
  })
})
