/** What the budget cut waits: a plan without money for it reads the heads of the queues, and with money no more than it can pay. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { TIMINGS } from '../../src/timings.ts'
import { createPlanning, type Planning } from '../support/planning.ts'

const PRICE = 1200
const keywords = (count: number, of = 'keyword') => Array.from({ length: count }, (_, n) => `${of} ${n}`)

let planning: Planning
before(async () => {
  planning = await createPlanning()
})
after(() => planning.drop())
beforeEach(async () => {
  await planning.clear()
  await planning.setNow('2026-03-10 13:00+00')
})

/** Pages that a plan reads and writes, in any table or index. */
async function countPages(): Promise<number> {
  const { sql } = planning.db
  const read = async () => {
    await sql`select pg_stat_force_next_flush()`
    const [row] = await sql<{ pages: number }[]>`
      select blks_hit + blks_read as pages from pg_stat_database where datname = current_database()`
    return row?.pages ?? 0
  }
  const before = await read()
  const { planned } = await planning.plan()
  assert.equal(planned, 0)
  return (await read()) - before
}

const waiting = async () => (await planning.db.sql`select from waiting_slot`).count

test('a plan without money reads as much when two thousand slots wait for it as when three hundred do', async () => {
  const pages: number[] = []
  for (const count of [300, 2000]) {
    await planning.clear()
    await planning.setBudget('a', { dailyMicros: PRICE })
    await planning.spend('a', PRICE, '2026-03-10 12:00+00')
    await planning.watch('a', keywords(count))
    assert.equal((await planning.plan()).cut, count)
    await planning.db.sql`vacuum analyze`
    await countPages()
    pages.push(await countPages())
  }
  const [few = 0, many = 0] = pages
  // The index may be a page deeper.
  assert.ok(many <= few + 40, `${few} pages with 300, and ${many} with 2,000`)
})

test('a plan looks at what a new budget can pay at the least price there is, and one slot more', async () => {
  await planning.setBudget('a', { dailyMicros: PRICE })
  await planning.watch('a', keywords(50))
  await planning.plan()
  await planning.setBudget('a', { dailyMicros: 4 * PRICE })
  const { due, planned, cut } = await planning.plan()
  // A search of the Android store costs half.
  assert.deepEqual({ due, planned, cut }, { due: 7, planned: 3, cut: 4 })
  assert.equal(await waiting(), 46)
})

test('a budget that can pay for more than becomes due at once wakes no more than it pays for', async (t) => {
  await planning.setBudget('a', { dailyMicros: PRICE })
  await planning.watch('a', keywords(50))
  await planning.plan()
  await planning.setBudget('a', { dailyMicros: 11 * PRICE })
  t.mock.property(TIMINGS, 'wakeSlots', 5)
  const { due, planned } = await planning.plan()
  assert.equal(planned, 10)
  // 20 at the price of the Android store, and one more.
  assert.equal(due, 21)
  assert.equal(await waiting(), 39)
})

test('what a budget pays for in many transactions is no barrier to what is new: each project that has room pays its share', async (t) => {
  await planning.setBudget('b', { dailyMicros: PRICE })
  await planning.spend('b', PRICE, '2026-03-10 12:00+00')
  await planning.watch('b', keywords(12))
  assert.equal((await planning.plan()).cut, 12)
  await planning.setBudget('b', {})
  for (const name of ['a', 'b']) await planning.watch(name, ['shared'])
  t.mock.property(TIMINGS, 'wakeSlots', 5)
  const { due, planned, cut } = await planning.plan()
  assert.deepEqual({ due, planned, cut }, { due: 13, planned: 13, cut: 0 })
  const [shared] = await planning.db.sql`
    select cardinality(k.payers) as payers from task k join target t on t.id = k.target_id where t.subject = 'shared'`
  assert.deepEqual({ ...shared }, { payers: 2 })
})

test('a watch that comes later and is less urgent than what waits is not paid before it', async () => {
  await planning.setBudget('a', { dailyMicros: 2 * PRICE })
  await planning.watch('a', ['dear'], { depth: 201, priority: 2 })
  await planning.setBudget('a', { dailyMicros: 7 * PRICE })
  await planning.spend('a', 2 * PRICE, '2026-03-10 12:00+00')
  await planning.plan()
  await planning.watch('a', ['cheap'])
  assert.deepEqual(await planning.plan(), {
    due: 2,
    planned: 0,
    plannedMicros: 0,
    cut: 2,
    cutMicros: 7 * PRICE,
    posts: 0,
  })
})

test('what several projects ask for is bought when any of them has money again, and waits for no other one then', async () => {
  for (const name of ['a', 'b']) {
    await planning.setBudget(name, { dailyMicros: PRICE })
    await planning.spend(name, PRICE, '2026-03-10 12:00+00')
    await planning.watch(name, ['yoga', 'zen'])
  }
  await planning.plan()
  assert.equal(await waiting(), 4)
  await planning.setBudget('b', {})
  assert.equal((await planning.plan()).planned, 2)
  await planning.setBudget('a', {})
  assert.equal((await planning.plan()).planned, 0)
  assert.equal(await waiting(), 0)
})

test('what waits costs less, or goes first, from when its watch says so', async () => {
  await planning.setBudget('a', { dailyMicros: 4 * PRICE })
  await planning.spend('a', 2 * PRICE, '2026-03-10 12:00+00')
  await planning.watch('a', ['deep', 'other'], { depth: 300 })
  await planning.plan()
  await planning.db.sql`update keyword_watch set depth = 100 where keyword = 'deep'`
  assert.deepEqual([(await planning.plan()).planned, await planning.plannedKeywords()], [1, ['deep']])
  await planning.setBudget('a', { dailyMicros: 5 * PRICE })
  await planning.watch('a', ['last'])
  await planning.plan()
  await planning.db.sql`update keyword_watch set priority = 2 where keyword = 'last'`
  assert.deepEqual([(await planning.plan()).planned, await planning.plannedKeywords()], [1, ['deep', 'last']])
})

test('what is over waits no longer', async () => {
  await planning.setBudget('a', { dailyMicros: PRICE })
  await planning.spend('a', PRICE, '2026-03-10 12:00+00')
  await planning.watch('a', keywords(3))
  await planning.plan()
  await planning.setNow('2026-03-11 00:00+00')
  await planning.closeSlots()
  assert.equal((await planning.plan()).planned, 1)
  assert.equal(await waiting(), 2)
})
