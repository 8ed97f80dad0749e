/** Slots: a grid in UTC that no time zone, year or change of the clocks moves. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import postgres from 'postgres'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

const HOUR_MS = 3_600_000
const ORIGIN_MS = Date.UTC(2001, 0, 1)

let database: TestDatabase
let sql: postgres.Sql
before(async () => {
  database = await createTestDatabase()
  sql = postgres(database.url, { max: 1, onnotice: () => {} })
})
after(async () => {
  await sql.end()
  await database.drop()
})

const hours = fc.oneof(
  fc.constantFrom(1, 2, 3, 4, 6, 8, 12),
  fc.integer({ min: 1, max: 31 }).map((days) => days * 24),
)
const instant = fc.date({ min: new Date('2001-01-01'), max: new Date('2060-12-31'), noInvalidDate: true })
/** Changes of the clocks by an hour, by half an hour, by none, and a day that was skipped. */
const zone = fc.constantFrom(
  'UTC',
  'America/New_York',
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Pacific/Apia',
)
/** As a person writes it: days as days, hours as hours. */
const everyOf = (h: number) => (h % 24 === 0 ? `${h / 24} days` : `${h} hours`)

/** The slot of each instant, in a session of the zone. */
async function slotsOf(every: string, zoneName: string, at: readonly Date[]): Promise<Date[]> {
  await sql`select set_config('timezone', ${zoneName}, false)`
  const rows = await sql<{ slot: Date }[]>`
    select slot_of(${every}::interval, a.at) as slot
    from unnest(${at.map((one) => one.toISOString())}::timestamptz[]) with ordinality a (at, n) order by n`
  return rows.map(({ slot }) => slot)
}

describe('the slot of an instant', () => {
  // A Monday: slots of seven days begin on Mondays, and those of hours at full ones.
  test('began less than one period ago, on the grid of 2001-01-01 00:00 UTC', async () => {
    await fc.assert(
      fc.asyncProperty(
        hours,
        zone,
        fc.array(instant, { minLength: 1, maxLength: 50 }),
        async (h, zoneName, at) => {
          const slots = await slotsOf(everyOf(h), zoneName, at)
          at.forEach((one, i) => {
            const periodMs = h * HOUR_MS
            const slot = slots[i]!.getTime()
            assert.equal(slot, one.getTime() - ((one.getTime() - ORIGIN_MS) % periodMs))
          })
          assert.deepEqual(await slotsOf(everyOf(h), 'UTC', slots), slots)
        },
      ),
      { numRuns: 10 },
    )
  })

  test('is over when the next begins, in a session of any zone', async () => {
    await fc.assert(
      fc.asyncProperty(hours, zone, instant, async (h, zoneName, at) => {
        await sql`select set_config('timezone', ${zoneName}, false)`
        const [row] = await sql`
          select slot_of(e, ${at}) as slot, slot_end(e, slot_of(e, ${at})) as ends,
            slot_of(e, slot_end(e, slot_of(e, ${at}))) as next
          from (select ${everyOf(h)}::interval as e) every`
        assert.equal(row?.ends.getTime() - row?.slot.getTime(), h * HOUR_MS)
        assert.deepEqual(row?.next, row?.ends)
      }),
      { numRuns: 10 },
    )
  })
})
