import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { createWritten, type SeenNumbers, writeNumbers } from '../../src/history/numbers.ts'
import { openTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

const db = lasting(openTestDatabase)
beforeEach(() => db.sql`truncate app_numbers`)

const US = 2840
const seen = (
  id: number,
  day: string,
  [votes, rating, priceMicros]: readonly [number | null, number | null, number | null],
  locationCode = US,
): SeenNumbers => ({ id, day, locationCode, numbers: { votes, rating, priceMicros, currency: 'USD' } })

const readRows = async () => {
  const rows = await db.sql`
    select location_code, day::text, block, apps, votes, ratings, price_micros as prices, currency
    from app_numbers order by id`
  return rows.map((row) => ({ ...row }))
}

const readEntries = async (id: number, locationCode = US) => {
  const rows = await db.sql`
    select n.day::text, n.votes[p] as votes, n.ratings[p] as rating, n.price_micros[p] as price
      from app_numbers n
    cross join lateral (select array_position(apps, ${id % 32_768}::smallint) as p) e
    where e.p is not null and block = ${Math.floor(id / 32_768)} and location_code = ${locationCode}
    order by n.id`
  return rows.map((row) => [row.day, row.votes, row.rating, row.price])
}

test('an app is written once a day and place when a number differs, and whole once a month', async () => {
  const written = createWritten()
  const steps: [string, readonly [number | null, number | null, number | null]][] = [
    ['2026-09-10', [100, 450, 0]],
    ['2026-09-10', [101, 450, 0]],
    ['2026-09-11', [100, 450, 0]],
    ['2026-09-12', [102, 450, 990_000]],
    ['2026-09-11', [101, 440, 0]],
    ['2026-09-13', [null, null, null]],
    ['2026-09-14', [102, 451, 0]],
    ['2026-10-01', [102, 451, 0]],
    ['2026-10-02', [102, 451, 0]],
  ]
  for (const [day, numbers] of steps) await writeNumbers(db, written, [seen(5, day, numbers)])
  assert.deepEqual(await readEntries(5), [
    ['2026-09-10', 100, 450, null],
    ['2026-09-12', 102, null, 990_000],
    ['2026-09-14', null, 451, 0],
    ['2026-10-01', 102, 451, null],
  ])
})

test('a batch is a row for each place, day and block of apps, each app once in it', async () => {
  await writeNumbers(db, createWritten(), [
    seen(40_000, '2026-09-10', [7, null, 0]),
    seen(9, '2026-09-10', [3, 400, 0]),
    seen(2, '2026-09-10', [1, 300, 0]),
    seen(9, '2026-09-10', [4, 400, 0]),
    seen(2, '2026-09-10', [5, 300, 0], 2276),
  ])
  const row = { location_code: US, day: '2026-09-10', prices: null, currency: 'USD' }
  assert.deepEqual(await readRows(), [
    { ...row, block: 1, apps: [7232], votes: [7], ratings: null },
    { ...row, block: 0, apps: [2, 9], votes: [1, 3], ratings: [300, 400] },
    { ...row, location_code: 2276, block: 0, apps: [2], votes: [5], ratings: [300] },
  ])
})

test('two processes write what either has seen once, also after one has begun again', async () => {
  const [one, other] = [createWritten(), createWritten(1)]
  const day = (number: number) => `2026-09-0${number}`
  await writeNumbers(db, one, [seen(1, day(1), [10, 400, 0])])
  await writeNumbers(db, other, [seen(1, day(1), [10, 400, 0]), seen(2, day(1), [20, 400, 0])])
  await writeNumbers(db, other, [seen(3, day(1), [30, 400, 0], 2276)])
  await Promise.all([
    writeNumbers(db, one, [seen(1, day(2), [11, 400, 0]), seen(2, day(2), [21, 400, 0])]),
    writeNumbers(db, other, [seen(1, day(2), [11, 400, 0]), seen(2, day(2), [21, 400, 0])]),
  ])
  await writeNumbers(db, createWritten(), [seen(1, day(3), [11, 400, 0]), seen(2, day(3), [21, 400, 0])])
  assert.deepEqual(await readEntries(1), [
    [day(1), 10, 400, null],
    [day(2), 11, null, null],
  ])
  assert.deepEqual(await readEntries(2), [
    [day(1), 20, 400, null],
    [day(2), 21, null, null],
  ])
})
