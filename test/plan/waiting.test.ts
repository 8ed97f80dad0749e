/**
 * What the budget cut waits: a plan without money for it decides none of it again, and one with money what it
 * pays for, the most urgent first.
 */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { lasting } from '../support/lasting.ts'
import { createPlanning } from '../support/planning.ts'

const PRICE = 1200
const keywords = (count: number, of = 'keyword') => Array.from({ length: count }, (_, n) => `${of} ${n}`)

const planning = lasting(createPlanning)
beforeEach(async () => {
  await planning.clear()
  await planning.setNow('2026-03-10 13:00+00')
})

const waiting = async () => (await planning.db.sql`select from due_slot where short_of is not null`).count

test('what a budget without room has cut is not decided again, of one project or of all', async () => {
  await planning.setBudget('a', { dailyMicros: PRICE })
  await planning.spend('a', PRICE, '2026-03-10 12:00+00')
  await planning.watch('a', keywords(30))
  await planning.watch('b', keywords(20, 'other'))
  assert.deepEqual([(await planning.plan({ maxDayMicros: PRICE })).cut, await waiting()], [50, 50])
  assert.equal((await planning.plan({ maxDayMicros: PRICE })).due, 0)
  const { due, planned } = await planning.plan()
  assert.deepEqual([due, planned, await waiting()], [20, 20, 30])
})

test('what a budget has cut is bought as far as the raised one reaches, in pieces of any size', async () => {
  await planning.setBudget('a', { dailyMicros: PRICE })
  await planning.watch('a', keywords(50))
  await planning.plan()
  await planning.setBudget('a', { dailyMicros: 4 * PRICE })
  assert.equal((await planning.plan({}, 5)).planned, 3)
  assert.equal(await waiting(), 46)
  await planning.setBudget('a', {})
  assert.equal((await planning.plan({}, 7)).planned, 46)
  assert.equal(await waiting(), 0)
})

test('what a budget pays for in many pieces is no barrier to what is new', async () => {
  await planning.setBudget('b', { dailyMicros: PRICE })
  await planning.spend('b', PRICE, '2026-03-10 12:00+00')
  await planning.watch('b', keywords(12))
  assert.equal((await planning.plan()).cut, 12)
  await planning.setBudget('b', {})
  for (const name of ['a', 'b']) await planning.watch(name, ['shared'])
  const { due, planned, cut } = await planning.plan({}, 5)
  assert.deepEqual({ due, planned, cut }, { due: 13, planned: 13, cut: 0 })
  const [shared] = await planning.db.sql`
    select cardinality(k.payers) as payers from task k join target t on t.id = k.target_id
      where t.subject = 'shared'`
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

test('what several projects ask for is bought when any of them has money again', async () => {
  for (const name of ['a', 'b']) {
    await planning.setBudget(name, { dailyMicros: PRICE })
    await planning.spend(name, PRICE, '2026-03-10 12:00+00')
    await planning.watch(name, ['yoga', 'zen'])
  }
  await planning.plan()
  assert.equal(await waiting(), 2)
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
