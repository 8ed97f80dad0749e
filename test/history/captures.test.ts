import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import fc from 'fast-check'
import { insertRankings } from '../../src/history/captures.ts'
import { formatTimestamp } from '../../src/service/fields.ts'
import { billingUnits } from '../../src/service/functions.ts'
import { lasting } from '../support/lasting.ts'
import { readSpendDifferences, recount } from '../support/ledger.ts'
import { buy, clear, collect, fetchItems, handOut, store, tamper, watchKeywords } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'

const world = lasting(() =>
  createWorld({
    sandbox: { callsPerMinute: 100_000 },
    settings: { budget: { maxDayMicros: 500_000_000, maxMonthMicros: null, maxRunMicros: null } },
  }),
)
afterEach(() => clear(world))

/** What the service says each task has cost in the end. */
async function readServiceCosts(): Promise<Map<string, number>> {
  const costs = new Map<string, number>()
  const query = {
    from: new Date(Date.now() - 3_600_000),
    to: new Date(),
    limit: 1000,
    includeMetadata: false,
    sort: 'asc',
  } as const
  for (let offset = 0; ; offset += 1000) {
    const rows = await world.client.listTaskIds({ ...query, offset })
    for (const row of rows) costs.set(row.id, row.costMicros ?? 0)
    if (rows.length < 1000) return costs
  }
}

async function readOurCosts(): Promise<Map<string, number>> {
  const rows = await world.db.sql<{ id: string; micros: number }[]>`
    select service_id as id, sum(amount_micros)::bigint as micros from charge group by 1`
  return new Map(rows.map((row) => [row.id, row.micros]))
}

/** A posted task for each bill, `task 0` and on, charged to as many projects as pay it. */
async function chargeTasks(
  bills: readonly { chargedMicros: number; payers: number; depth: number }[],
): Promise<void> {
  const { sql } = world.db
  await sql`insert into project (name) select 'p' || n from generate_series(1, 6) n`
  await sql`select ensure_history_partitions('2026-03-10', '2026-03-10')`
  await sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', 'word ' || n, 2840, 'en'
      from generate_series(1, ${bills.length}::int) n`
  await sql`
    with bill as (
      select 'task ' || (n - 1) as service_id, charged, payers, depth, t.id as target_id
      from unnest(${bills.map((one) => one.chargedMicros)}::bigint[],
        ${bills.map((one) => one.payers)}::int[],
        ${bills.map((one) => one.depth)}::int[]) with ordinality b (charged, payers, depth, n)
      join target t on t.subject = 'word ' || n
    ), posted as (
      insert into task (target_id, slot, slot_ends_at, state, depth, priority, estimate_micros, payers,
        service_id)
      select target_id, '2026-03-10', '2026-03-11', 'posted', depth, 1, charged,
        array(select id from project order by id limit bill.payers), service_id
      from bill
      returning target_id, service_id, payers
    )
    insert into charge (kind, project_id, amount_micros, target_id, slot, service_id)
    select 'charge', project_id, charged / b.payers + case place when 1 then charged % b.payers else 0 end,
      p.target_id, '2026-03-10', service_id
    from posted p join bill b using (service_id) cross join unnest(p.payers)
      with ordinality as y (project_id, place)`
  await recount(sql)
}

describe('refunds', () => {
  test('leave what the service charged, for any keyword, depth and priority in both stores', async () => {
    const words = [
      'yoga',
      'chess',
      'running',
      'bank',
      'photo',
      'xqzvbnk',
      'game',
      'free',
      'quixotry',
      '日本語',
    ]
    await world.db.sql`
      insert into keyword_watch (project, store, keyword, location_code, language_code, depth, priority)
      select 'fitness', store, words[1 + n % 10] || ' ' || chr(97 + n / 10), 2840, 'en',
        1 + (hashtext(n || store) & 2147483647) % case store when 'ios_store' then 700 else 200 end,
        1 + (hashtext(store || n) & 1)
      from generate_series(0, 49) n, unnest(array['ios_store', 'android_store']) store,
        (select ${words}::text[] as words) w`
    await world.db.sql`
      insert into app_watch (project, store, app_id, info, location_code, language_code, priority)
      values ('fitness', 'ios_store', '1480010017', true, 2840, 'en', 2),
        ('fitness', 'android_store', 'com.unknown.app', true, 2840, 'en', 1)`
    await buy(world)
    assert.deepEqual((await collect(world)).stored, 102)

    const [ours, theirs] = [await readOurCosts(), await readServiceCosts()]
    assert.equal(ours.size, 102)
    assert.deepEqual(ours, theirs)
    const [refunded] = await world.db
      .sql`select count(distinct service_id) as tasks from charge where kind = 'refund'`
    assert.ok(refunded?.tasks > 15, `only ${refunded?.tasks} were refunded`)
  })

  test('leave what the service charged for charts and reviews, of any depth and priority', async () => {
    await world.db.sql`
      insert into chart_watch (project, collection, category, location_code, language_code, depth, priority)
      select 'fitness', 'topselling_' || kind, nullif(category, ''), 2840, 'en', depth, 1 + depth % 2
      from unnest(array['free', 'paid', 'new_free']) kind,
        unnest(array['', 'game', 'medical', 'weather', 'dating']) category,
        lateral (select 1 + (hashtext(kind || category) & 2147483647) % 200) as d (depth)`
    await world.db.sql`
      insert into app_watch (project, store, app_id, reviews, reviews_depth, location_code, language_code,
        priority)
      select 'fitness', 'ios_store', app_id, true, 1 + (hashtext(app_id) & 2147483647) % 500, 2840, 'en',
        1 + place % 2
      from unnest(array['1480010017', '1480010025', '1480010041', '999999999', '999999998'])
        with ordinality a (app_id, place)`
    await buy(world)
    assert.equal((await collect(world)).stored, 20)
    const [ours, theirs] = [await readOurCosts(), await readServiceCosts()]
    assert.equal(ours.size, 20)
    for (const [id, micros] of ours) assert.equal(theirs.get(id), micros)
    const [refunded] = await world.db
      .sql`select count(distinct t.function) as functions from charge c join target t on t.id = c.target_id
        where c.kind = 'refund'`
    assert.equal(refunded?.functions, 2)
  })

  test('are what was charged for the units that did not come, to the millionth', async () => {
    const bill = fc.record({
      chargedMicros: fc.integer({ min: 0, max: 20_000_000 }),
      payers: fc.integer({ min: 1, max: 6 }),
      depth: fc.integer({ min: 1, max: 2400 }),
      results: fc.integer({ min: 0, max: 2500 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(bill, { minLength: 1, maxLength: 40 }), async (bills) => {
        await clear(world)
        const captures = bills.map((one, i) => ({
          serviceId: `task ${i}`,
          statusCode: 20000,
          capturedAt: null,
          checkUrl: null,
          resultsReturned: one.results,
          pages: [],
          problem: null,
          resultsCount: null,
          appIds: [],
          absolute: null,
          paid: [],
          incomplete: null,
        }))
        await chargeTasks(bills)
        await world.db.begin((tx) => insertRankings(tx, captures))
        const refunds = await world.db.sql<{ serviceId: string; micros: number; most: number }[]>`
          select service_id as "serviceId", sum(amount_micros)::bigint as micros, max(amount_micros) as most
          from charge where kind = 'refund' group by 1`
        const expected = bills.flatMap(({ chargedMicros, depth, results }, i) => {
          const posted = billingUnits('ios_store', 'app_searches', depth)
          const returned = Math.min(posted, billingUnits('ios_store', 'app_searches', results))
          const micros = Math.floor((chargedMicros * (posted - returned)) / posted)
          return micros === 0 ? [] : [[`task ${i}`, -micros]]
        })
        assert.deepEqual(refunds.map(({ serviceId, micros }) => [serviceId, micros]).sort(), expected.sort())
        assert.ok(refunds.every(({ most }) => most <= 0))
        assert.deepEqual(await readSpendDifferences(world.db.sql), [])
      }),
      { numRuns: 5 },
    )
  })

  test('split a remainder to the first project', async () => {
    for (const project of ['one', 'three', 'two', 'zwei', 'zwo', 'zz', 'zzz']) {
      await watchKeywords(world, ['xqzvbnk'], { project, depth: 200 })
    }
    await buy(world)
    await collect(world)
    const rows = await world.db.sql`
      select kind, array_agg(amount_micros::int order by p.name) as shares, sum(amount_micros)::int as micros
      from charge c join project p on p.id = c.project_id group by 1 order by 1`
    assert.deepEqual(
      [...rows],
      [
        { kind: 'charge', shares: [348, 342, 342, 342, 342, 342, 342], micros: 2400 },
        { kind: 'refund', shares: [-174, -171, -171, -171, -171, -171, -171], micros: -1200 },
      ],
    )
  })

  test('come from what was charged, not from the estimate: a dearer task is not paid back', async (t) => {
    await watchKeywords(world, ['yoga', 'xqzvbnk'], { depth: 200 })
    const { client } = await tamper(t, world, (path, body) => {
      if (path.endsWith('/task_post')) for (const task of body.tasks) task.cost = 0.003
    })
    await buy(world, { client })
    await collect(world)
    const rows = await world.db.sql`
      select t.subject, sum(c.amount_micros)::int as micros from charge c join target t on t.id = c.target_id
      group by 1 order by 1`
    assert.deepEqual(
      [...rows],
      [
        { subject: 'xqzvbnk', micros: 1500 },
        { subject: 'yoga', micros: 3000 },
      ],
    )
  })

  test('are not taken from the cost that a result names', async (t) => {
    await watchKeywords(world, ['yoga'], { depth: 10 })
    await buy(world)
    const { client } = await tamper(t, world, (path, body) => {
      if (path.includes('/task_get/'))
        Object.assign(body, { cost: 9 }, { tasks: [{ ...body.tasks[0], cost: 9 }] })
    })
    await collect(world, { client })
    const rows = await world.db.sql`select kind, amount_micros::int as micros from charge`
    assert.deepEqual([...rows], [{ kind: 'charge', micros: 1200 }])
  })
})

test('advertisements and bundles are not ranked: they move absolute ranks, and are kept', async () => {
  await watchKeywords(
    world,
    Array.from({ length: 12 }, (_, index) => `yoga ${index}`),
    { depth: 50 },
  )
  await buy(world)
  const fetched = await fetchItems(world, await handOut(world))
  await store(world, fetched)
  const rows = await world.db.sql`
    select keyword, array_agg(app_id order by rank) as apps, array_agg(rank order by rank) as ranks,
      array_agg(absolute_rank order by rank) as absolute
    from ranked_apps group by 1`
  let shifted = 0
  const advertised: unknown[][] = []
  for (const row of rows) {
    const one = fetched.find((each) => each.kind === 'ranking' && each.search?.keyword === row.keyword)
    assert.ok(one?.kind === 'ranking' && one.search !== null)
    const { apps, absolute, itemsCount } = one.search
    const ranks = apps.map((_, index) => index + 1)
    assert.deepEqual(
      row.apps,
      apps.map((app) => app?.appId),
    )
    assert.deepEqual([row.ranks, row.absolute], [ranks, absolute ?? ranks])
    if (itemsCount > apps.length) shifted += 1
    const [first] = one.search.paid
    if (first) advertised.push([row.keyword, first.app.appId, first.place])
  }
  const paid = await world.db.sql`
    select t.subject, a.app_id, r.paid_places[1] as place from ranking r join target t on t.id = r.target_id
    join app a on a.id = r.paid_ids[1] order by 1`
  assert.deepEqual(
    paid.map((row) => [row.subject, row.app_id, row.place]),
    advertised.toSorted(),
  )
  assert.ok(advertised.length > 0)
  assert.equal(rows.length, 12)
  const [kept] = await world.db.sql`select count(*) as rankings from ranking where absolute is not null`
  assert.equal(kept?.rankings, shifted)
  assert.ok(shifted > 0 && shifted < 12)
})

describe('the details of an app', () => {
  const watchApp = (project: string, location: number) => world.db.sql`
    insert into app_watch (project, store, app_id, info, location_code, language_code)
    values (${project}, 'android_store', 'com.example.app', true, ${location}, 'en')`

  const page = {
    type: 'android_store_info_organic',
    app_id: 'com.example.app',
    title: 'Example',
    url: 'https://store/app',
    icon: 'https://store/icon',
    description: 'Long.',
    reviews_count: 12,
    rating: { rating_type: 'Max5', value: 4.5, votes_count: 34, rating_max: 5 },
    // A binary fraction just below it: 2,009,999.9999999998 micro-units.
    price: { current: 2.01, currency: 'EUR' },
    is_free: false,
    main_category: 'Tools',
    developer: 'Example Ltd',
    version: '1.2.3',
    minimum_os_version: '9',
    size: '12 MB',
    released_date: '2020-01-02 03:04:05 +00:00',
    last_update_date: '2026-01-02 03:04:05 +00:00',
    update_notes: 'Better.',
    images: ['https://store/1', 'https://store/2'],
    installs_count: 5_000_000_000,
    developer_email: 'a@example.com',
    genres: ['Tools'],
  }

  test('fill every column, and the long texts are kept once for all places that show the same', async (t) => {
    await watchApp('fitness', 2840)
    await watchApp('travel', 2276)
    await buy(world)
    const capturedAt = new Date(Math.floor(Date.now() / 1000) * 1000)
    const datetime = formatTimestamp(capturedAt)
    const { client } = await tamper(t, world, (path, body) => {
      if (path.includes('/task_get/')) {
        const task = body.tasks[0]
        const result = [{ app_id: page.app_id, check_url: page.url, datetime, items: [page] }]
        body.tasks[0] = { ...task, status_code: 20000, result }
      }
    })
    assert.equal((await collect(world, { client })).stored, 2)
    const rows = await world.db.sql`
      select s.*, t.check_url, a.app_id, a.title, a.developer, encode(s.listing_hash, 'hex') as hash
      from app_snapshot s join app a on a.id = s.app join target t on t.id = s.target_id order by s.target_id`
    assert.equal(rows.length, 2)
    assert.equal(rows[0]?.hash, rows[1]?.hash)
    const { target_id, slot, gap, reason, app, listing_hash, hash, ...columns } = rows[0] ?? {}
    assert.deepEqual([gap, reason], [null, null])
    assert.deepEqual(columns, {
      captured_at: capturedAt,
      found: true,
      rating: 4.5,
      votes_count: 34,
      reviews_count: 12,
      price_micros: 2_010_000,
      currency: 'EUR',
      is_free: false,
      version: '1.2.3',
      minimum_os_version: '9',
      size: '12 MB',
      main_category: 'Tools',
      installs_count: 5_000_000_000,
      released_at: new Date('2020-01-02T03:04:05Z'),
      updated_at: new Date('2026-01-02T03:04:05Z'),
      check_url: 'https://store/app',
      app_id: 'com.example.app',
      title: 'Example',
      developer: 'Example Ltd',
    })
    const listings = await world.db.sql`
      select title, description, update_notes, icon, images, details->>'developerEmail' as email,
        details->'genres' as genres
      from listing`
    assert.deepEqual(
      [...listings],
      [
        {
          title: 'Example',
          description: 'Long.',
          update_notes: 'Better.',
          icon: 'https://store/icon',
          images: ['https://store/1', 'https://store/2'],
          email: 'a@example.com',
          genres: ['Tools'],
        },
      ],
    )
  })

  test('that the store does not have are a measurement, and not a gap', async () => {
    await watchApp('fitness', 2840)
    await buy(world)
    await collect(world)
    const [row] = await world.db.sql`select found, gap, app, listing_hash from app_snapshot`
    assert.deepEqual({ ...row }, { found: false, gap: null, app: null, listing_hash: null })
  })

  test('that come late fill the gap that was left for them', async () => {
    await watchApp('fitness', 2840)
    await buy(world)
    await world.db.sql`select ensure_history_partitions(slot, slot) from task`
    await world.db
      .sql`insert into app_snapshot (target_id, slot, gap, reason) select target_id, slot, 'missed', 'Late.'
        from task`
    assert.equal((await collect(world)).stored, 1)
    const [row] = await world.db.sql`select found, gap, reason from app_snapshot`
    assert.deepEqual({ ...row }, { found: false, gap: null, reason: null })
  })
})
