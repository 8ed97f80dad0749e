/**
 * People change their minds while work is under way: what is paid for is kept, and nothing is bought that
 * nobody wants.
 */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { openDatabase } from '../../src/db/database.ts'
import { closeEndedSlots } from '../../src/history/close-slots.ts'
import { countStates } from '../post/posting.ts'
import { lasting } from '../support/lasting.ts'
import { buy, clear, collect, watchKeywords } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'

const OWN_APP = '1480010017'
const world = lasting(() => createWorld({ sandbox: { callsPerMinute: 100_000 }, now: '2026-03-10 13:00+00' }))
beforeEach(() => clear(world))

/** A watch whose task is posted and charged, and not collected yet. */
async function sendOut(): Promise<void> {
  await watchKeywords(world, ['yoga'])
  await world.db
    .sql`insert into app_watch (project, store, app_id) values ('fitness', 'ios_store', ${OWN_APP})`
  await buy(world)
  assert.deepEqual(await countStates(world.db), { posted: 1 })
}

/** What was charged for each keyword, and how its slots are shown. */
async function readKeywords() {
  const rows = await world.db.sql<{ keyword: string; charges: number; outcomes: string[] }[]>`
    select t.subject as keyword, count(c.service_id) as charges,
      array(select h.outcome from rank_history h where h.target_id = t.id order by h.slot) as outcomes
    from target t left join charge c on c.target_id = t.id and c.kind = 'charge'
    where t.function = 'app_searches' group by t.id order by t.id`
  return rows.map(({ keyword, charges, outcomes }) => [
    keyword,
    charges,
    outcomes.map((outcome) => (outcome === 'not_in_top' ? 'ranked' : outcome)).join(' '),
  ])
}

describe('while its task is out, a watch', () => {
  const endings: Record<string, string> = {
    'is disabled': 'update keyword_watch set enabled = false',
    'is deleted': 'delete from keyword_watch',
    'is truncated': 'truncate keyword_watch',
    'loses its project, which is disabled': 'update project set enabled = false',
  }
  for (const [what, statement] of Object.entries(endings)) {
    test(`${what}: its result is stored and shown, and nothing more is bought`, async () => {
      await sendOut()
      await world.db.sql.unsafe(statement)
      await buy(world)
      assert.equal((await collect(world)).stored, 1)
      await world.setNow('2026-03-11 13:00+00')
      const later = openDatabase(world.db.url)
      await buy(world, { db: later })
      await later.close()
      await world.setNow('2026-03-10 13:00+00')
      assert.deepEqual(await countStates(world.db), { collected: 1 })
      assert.deepEqual(await readKeywords(), [['yoga', 1, 'ranked']])
    })
  }

  test('is disabled and enabled again: its slot is not bought a second time', async () => {
    await sendOut()
    await world.db.sql`update keyword_watch set enabled = false`
    await world.db.sql`update keyword_watch set enabled = true`
    await buy(world)
    assert.deepEqual(await countStates(world.db), { posted: 1 })
    await collect(world)
    await buy(world)
    assert.deepEqual(await readKeywords(), [['yoga', 1, 'ranked']])
  })

  test('is deleted and inserted again: its slot is not bought a second time', async () => {
    await sendOut()
    await world.db.sql`delete from keyword_watch`
    await watchKeywords(world, ['yoga'])
    await collect(world)
    await buy(world)
    assert.deepEqual(await readKeywords(), [['yoga', 1, 'ranked']])
  })

  test('gets another keyword: both are measured, each once', async () => {
    await sendOut()
    await world.db.sql`update keyword_watch set keyword = 'pilates'`
    await buy(world)
    assert.equal((await collect(world)).stored, 2)
    assert.deepEqual(await readKeywords(), [
      ['yoga', 1, 'ranked'],
      ['pilates', 1, 'ranked'],
    ])
  })

  test('gets another depth: what is out comes back as deep as it was asked', async () => {
    await sendOut()
    await world.db.sql`update keyword_watch set depth = 200, priority = 2`
    await buy(world)
    await collect(world)
    const [row] = await world.db.sql`select depth, outcome from rank_history`
    assert.equal(row?.depth, 10)
    assert.deepEqual(await countStates(world.db), { collected: 1 })
  })
})

describe('a budget lowered below what is spent', () => {
  test('buys nothing more, collects what is out, and says of the rest why not', async () => {
    await sendOut()
    await world.db.sql`update project set daily_usd = 0.0001`
    await watchKeywords(world, ['pilates'])
    await buy(world)
    assert.equal((await collect(world)).stored, 1)
    assert.deepEqual(await countStates(world.db), { collected: 1 })
    const problems = await world.db.sql`select subject, problem from watch_problem`
    assert.deepEqual([...problems], [{ subject: 'pilates', problem: 'dearer_than_budget' }])

    await world.db.sql`update project set daily_usd = 1`
    await buy(world)
    assert.equal((await collect(world)).stored, 1)
    assert.deepEqual(
      (await readKeywords()).map(([keyword, charges]) => [keyword, charges]),
      [
        ['yoga', 1],
        ['pilates', 1],
      ],
    )
  })
})

describe('a person who changes watches and does not commit', () => {
  test('holds nobody up: slots are closed, tasks planned, the rest is done after the commit', async () => {
    await watchKeywords(world, ['yoga', 'pilates'])
    await world.setNow('2026-03-12 13:00+00')
    const person = openDatabase(world.db.url)
    const runner = openDatabase(world.db.url, { maxConnections: 1 })
    await runner.sql`set statement_timeout = '20s'`
    await person.begin(async (tx) => {
      await tx`update keyword_watch set priority = 2 where keyword = 'yoga'`
      assert.deepEqual(await closeEndedSlots(runner), { budget: 0, missed: 4 })
      await buy(world, { db: runner })
      assert.deepEqual(await countStates(world.db), { posted: 2 })
    })
    const later = openDatabase(world.db.url)
    assert.deepEqual(await closeEndedSlots(later), { budget: 0, missed: 0 })
    const gaps = await later.sql`
      select t.subject, count(*) as gaps from ranking r join target t on t.id = r.target_id
        where r.gap = 'missed' group by 1 order by 1`
    assert.deepEqual(
      [...gaps],
      ['pilates', 'yoga'].map((subject) => ({ subject, gaps: 2 })),
    )
    await Promise.all([person, runner, later].map((db) => db.close()))
    await world.setNow('2026-03-10 13:00+00')
  })
})
