/**
 * Two days side by side, like for like: what is compared is what both have measured, and its parts add up.
 */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import fc from 'fast-check'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const list = lasting(createWatchlist)
beforeEach(clear)

async function clear(): Promise<void> {
  await list.clear()
  await list.setNow('2026-03-10 13:00+00')
  await list.addApp()
  await list.addApp({ app_id: '1002', role: 'competitor' })
}

const slot = (day: number) => `2026-03-${day} 00:00+00`
/** The own app at this rank, others around it; null: it is not there. */
const captureAt = (keyword: string, day: number, rank: number | null, fields = {}) =>
  list.capture(
    keyword,
    slot(day),
    [...Array.from({ length: (rank ?? 3) - 1 }, (_, n) => `${n + 1}00`), rank === null ? '99' : '1001'],
    fields,
  )

interface Change {
  readonly role: string
  readonly before: number | null
  readonly after: number | null
  readonly change: number | null
  readonly share: number | null
  readonly top: string
  readonly compared: number
  readonly due: number
}

const change = (more = list.sql``, role = 'own', days = [10, 11]) => list.sql<Change[]>`
  select role, round(visibility_before, 2)::float8 as before, round(visibility_after, 2)::float8 as after,
    change::float8, share_change::float8 as share, top_before || ' → ' || top_after as top, compared, due
  from visibility_change('fitness', ${`2026-03-${days[0]}`}, ${`2026-03-${days[1]}`} ${more})
    where role = ${role}`

describe('visibility_change', () => {
  test('is over the keywords that both days have measured, and says how many they are', async () => {
    for (const keyword of ['yoga', 'zen', 'calm', 'core', 'new']) await list.addKeyword({ keyword })
    await list.setNow('2026-03-11 13:00+00')
    for (const keyword of ['yoga', 'zen', 'core']) await captureAt(keyword, 10, 2)
    await list.leaveGap('calm', slot(10), 'budget')
    await captureAt('yoga', 11, 1)
    await captureAt('zen', 11, 4)
    await captureAt('calm', 11, 1)
    await list.leaveGap('core', slot(11), 'failed')
    const compared = { before: 50, after: 62.5, change: 12.5, top: '2 → 2', compared: 2, due: 5 }
    const [row] = await change()
    assert.deepEqual({ ...row, share: null }, { role: 'own', ...compared, share: null })
    assert.deepEqual(
      (await change(list.sql`, in_enough => 0.8`)).map(({ change, compared, due }) => ({
        ...{ change, compared, due },
      })),
      [{ change: null, compared: 2, due: 5 }],
    )
  })

  test('counts the same keywords in a top on both days as those that came and left say', async () => {
    for (const keyword of ['yoga', 'zen', 'calm']) await list.addKeyword({ keyword })
    await list.setNow('2026-03-11 13:00+00')
    await captureAt('yoga', 10, 2)
    await captureAt('yoga', 11, 5)
    await captureAt('zen', 10, 4)
    await list.leaveGap('zen', slot(11), 'failed')
    await list.leaveGap('calm', slot(10), 'failed')
    await captureAt('calm', 11, 1)
    const [row] = await change(list.sql`, in_top => 3`)
    assert.equal(row?.top, '1 → 0')
    const crossed =
      await list.sql`select movement from entered_left_top('fitness', '2026-03-10', '2026-03-11', 3)`
    assert.deepEqual([...crossed], [{ movement: 'left' }])
  })

  test('leaves out what was looked at on one day alone: a greater depth is no rise', async () => {
    await list.addKeyword()
    await list.setNow('2026-03-11 13:00+00')
    await captureAt('yoga', 10, null, { depth: 3 })
    await captureAt('yoga', 11, 4)
    const [row] = await change()
    assert.deepEqual([row?.before, row?.after, row?.share, row?.top], [0, 0, 0, '0 → 0'])
  })

  test('compares weeks by the mean of each keyword over the days that were measured', async () => {
    await list.addKeyword()
    await list.addKeyword({ keyword: 'zen' })
    await list.setNow('2026-03-13 13:00+00')
    for (const [day, rank] of [
      [10, 1],
      [11, 2],
      [12, 4],
    ] as const)
      await captureAt('yoga', day, rank)
    await list.leaveGap('yoga', slot(13), 'failed')
    for (const day of [11, 12]) await captureAt('zen', day, 1)
    const [row] = await change(list.sql`, in_days => 2`, 'own', [11, 13])
    assert.deepEqual([row?.before, row?.after, row?.top, row?.compared], [87.5, 62.5, '2 → 2', 2])
  })

  test('of a tag is over the keywords that have it, and has charts apart', async () => {
    await list.addKeyword({ tags: ['brand'] })
    await list.addKeyword({ keyword: 'zen' })
    await list.setNow('2026-03-11 13:00+00')
    for (const [keyword, ranks] of [
      ['yoga', [2, 1]],
      ['zen', [1, 4]],
    ] as const)
      for (const [n, rank] of ranks.entries()) await captureAt(keyword, 10 + n, rank)
    assert.deepEqual(
      (await change(list.sql`, in_tag => 'brand'`)).map(({ change }) => change),
      [50],
    )
    assert.deepEqual((await change(list.sql`, in_tag => 'none'`)).length, 0)
  })
})

describe('visibility_movers', () => {
  test('names the keywords that made the change, in points that add up to it', async () => {
    await list.addKeyword({ weight: 3 })
    await list.addKeyword({ keyword: 'zen' })
    await list.setNow('2026-03-11 13:00+00')
    await captureAt('yoga', 10, 2)
    await captureAt('yoga', 11, 1)
    await captureAt('zen', 10, 1)
    await captureAt('zen', 11, null)
    const parts = await list.sql`
      select keyword, rank_before, rank_after, points from visibility_movers('fitness', '2026-03-10',
        '2026-03-11')
      where role = 'own' order by points desc`
    assert.deepEqual(
      [...parts],
      [
        { keyword: 'yoga', rank_before: 2, rank_after: 1, points: '37.5' },
        { keyword: 'zen', rank_before: 1, rank_after: null, points: '-25' },
      ],
    )
    assert.equal((await change())[0]?.change, 12.5)
  })
})

/** A day of a keyword: a gap, or what stood on it, perhaps read in part. */
const day = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom('failed', 'budget') },
  {
    weight: 3,
    arbitrary: fc.record({
      places: fc.shuffledSubarray(['1001', '1002', '7', '8', '9'], { minLength: 1 }),
      reason: fc.constantFrom(null, null, null, 'One item could not be read.'),
    }),
  },
)
const history = fc.array(fc.record({ weight: fc.integer({ min: 1, max: 4 }), days: fc.tuple(day, day) }), {
  minLength: 1,
  maxLength: 5,
})

async function write(
  keywords: readonly (typeof history extends fc.Arbitrary<infer T> ? T : never)[number][],
) {
  await clear()
  for (const [n, { weight }] of keywords.entries()) await list.addKeyword({ keyword: `k${n}`, weight })
  await list.setNow('2026-03-11 13:00+00')
  for (const [n, { days }] of keywords.entries()) {
    for (const [at, what] of days.entries()) {
      if (typeof what === 'string') await list.leaveGap(`k${n}`, slot(10 + at), what)
      else await list.capture(`k${n}`, slot(10 + at), what.places, { reason: what.reason })
    }
  }
}

const readChanges = () => list.sql<{ app: number; change: number; share: number; compared: number }[]>`
  select app, change::float8, share_change::float8 as share, compared
  from visibility_change('fitness', '2026-03-10', '2026-03-11') where app is not null`
const readParts = () => list.sql<{ app: number; keyword: string; points: number; share: number }[]>`
  select app, keyword, points::float8, share_points::float8 as share
  from visibility_movers('fitness', '2026-03-10', '2026-03-11')`
const addUp = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)
const signOf = (value: number) => (Math.abs(value) < 1e-9 ? 0 : Math.sign(value))

test('of any history the parts add up to the change of visibility and of share of voice', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (keywords) => {
      await write(keywords)
      const parts = await readParts()
      for (const { app, compared, ...told } of await readChanges()) {
        const own = parts.filter((part) => part.app === app)
        assert.equal(own.length, compared)
        assert.ok(Math.abs(addUp(own.map(({ points }) => points)) - told.change) < 1e-9)
        assert.ok(Math.abs(addUp(own.map(({ share }) => share)) - told.share) < 1e-9)
      }
    }),
    { numRuns: 25 },
  )
})

test('a measurement that is taken away never turns what the others say', async () => {
  await fc.assert(
    fc.asyncProperty(history, fc.nat(), fc.constantFrom(0, 1), async (keywords, pick, at) => {
      await write(keywords)
      const gone = `k${pick % keywords.length}`
      const others = (await readParts()).filter(({ keyword }) => keyword !== gone)
      await list.sql`
        delete from ranking r using target t where t.id = r.target_id and t.subject = ${gone}
          and r.slot = ${slot(10 + at)}`
      await list.leaveGap(gone, slot(10 + at), 'failed')
      const left = await readChanges()
      const apps = new Set(others.map(({ app }) => app))
      assert.deepEqual(new Set(left.map(({ app }) => app)), apps)
      for (const { app, change } of left) {
        const own = others.filter((part) => part.app === app)
        assert.equal(signOf(change), signOf(addUp(own.map(({ points }) => points))))
      }
    }),
    { numRuns: 25 },
  )
})
