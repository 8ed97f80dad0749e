/** Whatever is done to a watch, in whatever order: one open period a part, and no slot asked for twice. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import fc from 'fast-check'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const START = '2026-03-10T13:00:00Z'

const PLACES = [
  { location_code: 2840, location_name: null },
  { location_code: null, location_name: 'united states' },
  { location_code: 2276, location_name: null },
  { location_code: null, location_name: 'Nowhere' },
]

/** What a person writes into a row, any part of it at a time. */
const edit = fc
  .record(
    {
      info: fc.boolean(),
      reviews: fc.boolean(),
      enabled: fc.boolean(),
      every: fc.constantFrom('1 hour', '6 hours', '1 day', '7 days'),
      reviews_depth: fc.integer({ min: 1, max: 500 }),
      place: fc.constantFrom(...PLACES),
    },
    { requiredKeys: [] },
  )
  .map(({ place, ...fields }) => ({ priority: 1, ...fields, ...place }))
const step = fc.record({
  minutes: fc.oneof(fc.constant(10), fc.integer({ min: 0, max: 2_000 })),
  row: fc.constantFrom('first', 'second'),
  edit,
  runs: fc.boolean(),
})

describe('a watch of an app', () => {
  const list = lasting(createWatchlist)
  before(async () => {
    await list.sql`insert into location (store, code, name)
      values ('ios_store', 2840, 'United States'), ('ios_store', 2276, 'Germany')`
  })

  /** Slots that more than one period of a project asks of one target. */
  const askedTwice = () => list.sql`
    select p.project, p.target_id, s.slot, count(*) as periods
    from watch_period p
    cross join generate_series(${START}::timestamptz - interval '8 days', storerank_now() + interval '8 days',
      '1 hour') s (slot)
    where p.target_id is not null and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, s.slot, null)
    group by 1, 2, 3 having count(*) > 1`

  const openTwice = () => list.sql`
    select from watch_period where ended_at is null and target_id is not null
    group by project, target_id having count(*) > 1`

  /** What rows ask for at a known place, and nothing of the project measures. */
  const unmeasured = () => list.sql`
    select w.id, part.function
    from app_watch w
    cross join lateral (values ('app_info', w.info), ('app_reviews', w.reviews)) part (function, is_asked)
    cross join lateral (
      select coalesce(w.location_code, l.code) as code
      from (select) one left join location l on l.store = w.store and lower(l.name) = lower(w.location_name)
    ) place
    where w.enabled and part.is_asked and place.code is not null and not exists (
      select from watch_period p join target t on t.id = p.target_id
      where p.ended_at is null and p.project = w.project and t.function = part.function
        and t.location_code = place.code
    )`

  test('may be edited in any order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), async (steps) => {
        await list.sql`truncate app_watch, watch_period, target cascade`
        let nowMs = Date.parse(START)
        await list.setNow(START)
        const ids = {
          first: await list.addApp({ location_code: 2840, language_code: 'en', info: true, reviews: true }),
          second: await list.addApp({
            location_name: 'United States',
            language_code: 'en',
            info: true,
            reviews: true,
          }),
        }
        for (const { minutes, row, edit: fields, runs } of steps) {
          nowMs += minutes * 60_000
          await list.setNow(new Date(nowMs).toISOString())
          await list.sql`update app_watch set ${list.sql(fields)} where id = ${ids[row]}`.catch((error) =>
            assert.match(error.constraint_name, /^app_watch_(same_row_twice|location_known)$/),
          )
          assert.deepEqual([...(await askedTwice())], [])
          assert.equal((await openTwice()).count, 0)
          if (!runs) continue
          await list.sql`select start_missing_watch_periods()`
          assert.deepEqual([...(await unmeasured())], [])
        }
        assert.deepEqual([...(await askedTwice())], [])
      }),
      { numRuns: 30 },
    )
  })
})
