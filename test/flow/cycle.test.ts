import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { JOBS } from '../../jobs/index.ts'
import { runCycle } from '../../src/queue/cycle.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { migrateLater } from '../support/database.ts'
import { createWorld, type World } from '../support/world.ts'

const QUIET = { waitMs: 60_000, onPhase: () => {}, onProgress: () => {} }

let world: World
before(async () => {
  world = await createWorld()
})
after(() => world.close())

async function cycle() {
  const { context, stop } = await world.openRunner()
  const result = await runCycle(context, await startRunner(context, []), JOBS, QUIET)
  await stop()
  return result
}

test('one cycle measures what is watched, and the second buys nothing', async () => {
  const { sql } = world.db
  await sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select 'fitness', 'ios_store', keyword, 2840, 'en' from unnest(array['yoga', 'c++', '100% free', 'naïve', '日本語']) keyword`
  await sql`insert into app_watch (project, store, app_id) values ('fitness', 'ios_store', '1480010017')`

  const first = await cycle()
  assert.equal(first.plan.planned, 5)
  const rows = await sql`select keyword, outcome, rank from rank_history order by keyword`
  assert.equal(rows.length, 5)
  assert.ok(rows.every((row) => ['ranked', 'not_in_top'].includes(row.outcome)))
  assert.ok(rows.some((row) => row.keyword === 'yoga' && row.rank <= 15))

  const second = await cycle()
  assert.equal(second.plan.planned, 0)
  const [{ posted } = { posted: 0 }] =
    await sql`select count(*)::int as posted from api_call where kind = 'task_post'`
  assert.equal(posted, 1)
})

test('a cycle that waits for results ends when a newer storerank has migrated the database', async () => {
  await world.db.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    values ('fitness', 'ios_store', 'calm', 2840, 'en')`
  await migrateLater(world.db.sql)
  await assert.rejects(cycle(), { code: 'configuration', message: /while this one was running/ })
})
