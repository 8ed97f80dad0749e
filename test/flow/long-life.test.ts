/** What is asked each minute or hour, and by people who look, does not read what three months have left. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { JOBS } from '../../jobs/index.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { readFigures } from '../../src/monitor/figures.ts'
import { executeJob } from '../../src/queue/job.ts'
import { readFailedSince, readLastRuns, readOpenWork, readProblems } from '../../src/report/status.ts'
import { lasting } from '../support/lasting.ts'
import { buy, collect, watchKeywords } from '../support/stages.ts'
import { createWorld, until } from '../support/world.ts'

/** Rows of each kind, one in six minutes: 83 days. */
const OLD = 20_000
/** Some look back seven days, or at most as many calls as a minute has. */
const MOST_READ = OLD / 5
/** They look at all of a day, or of a table, by night. */
const NIGHTLY = ['housekeeping', 'audit', 'references', 'summary']
const RULES = {
  job_late: 1,
  balance_low: 1000,
  budget_used: 1,
  outage: null,
  rank_moved: 1,
  not_measured: 1,
  listing_changed: null,
  review_low: 2,
}

const world = lasting(createWorld)
before(async () => {
  await watchKeywords(world, ['yoga', 'tea'])
  await buy(world)
  await collect(world)
  await untilTold(() =>
    askApart(async (db) => {
      await leaveWork(db)
      await leaveAlerts(db)
      await db.sql`vacuum analyze`
    }),
  )
})

const old = sql`(
  select n, clock_timestamp() - interval '1 day' - n * interval '6 minutes' as at
    from generate_series(1, ${OLD}::int) n) old`

async function leaveWork({ sql: db }: Database): Promise<void> {
  await db`insert into job_run (job, slot, state, started_at, ended_at, summary)
    select job, at, 'done', at, at, '{"due": 0}' from ${old},
      unnest(${JOBS.map((job) => job.name)}::text[]) job`
  await db`insert into api_call (id, kind, path, runner, permit_at, deadline_at, ended_at, http_status)
    select -n, 'get', '/v3', 'runner', at, at, at, 200 from ${old} order by n desc`
  await db`insert into account_usage (fetched_at, login, balance_micros, prices)
    select at, 'sandbox', 1000000, prices from ${old}, (select prices from account_usage limit 1) known`
  await db`insert into service_failure (service_id, function, at) select 'old ' || n, 'postback_url', at
    from ${old}`
  await db`insert into audit_difference (service_id, kind, posted_at) select 'old ' || n, 'cost', at
    from ${old}`
  await db`insert into rejected_result (task_id, service_id, target_id, slot, path, problem, body_gzip,
    received_at)
    select uuid_v7(), 'old ' || n, 1, at, 'items', 'none', '', at from ${old} where n % 100 = 0`
  await db`insert into post (store, function, state, settled_at, created_at)
    select 'ios_store', 'app_searches', 'settled', at, at from ${old}`
  await db`insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', 'old ' || n, 2840, 'en' from ${old}`
  const measured = sql`${old} join target t on t.subject = 'old ' || n`
  await db`insert into task (target_id, slot, slot_ends_at, state, problem, priority, estimate_micros,
    payers, service_id, posted_at, ended_at)
    select id, at, at, case when n % 10 = 0 then 'failed' else 'collected' end, case when n % 10 = 0
      then 'none' end, 1, 1200, '{1}',
      'old ' || n, at, at from ${measured}`
  await db`select ensure_history_partitions(now() - interval '100 days', now())`
  await db`insert into ranking (target_id, slot, gap, reason) select id, at, 'missed', 'none'
    from ${measured}`
  await db`insert into charge (at, slot, amount_micros, target_id, project_id, kind, service_id)
    select at, at, 1200, t.id, p.id, 'charge', 'old ' || n from ${measured}, project p`
}

async function leaveAlerts({ sql: db }: Database): Promise<void> {
  await db`insert into alert_channel (name, kind, secret_variable) values ('chat', 'slack', 'ALERT_CHAT')`
  for (const [kind, threshold] of Object.entries(RULES))
    await db`insert into alert_rule (project, name, kind, threshold, channel)
      select name, ${kind}, ${kind}, ${threshold}, 'chat' from project`
  await db`insert into alert_message (project_id, channel_id, state, content, ended_at)
    select p.id, c.id, case when n % 2 = 0 then 'dead' else 'delivered' end, '{}', at
      from ${old}, project p, alert_channel c`
  await db`insert into alert_event (rule_id, subject, slot, kind, severity, found_at, message_id)
    select r.id, 'yoga', m.ended_at, r.kind, r.severity, m.ended_at, m.id from alert_message m, alert_rule r
      where r.kind = 'rank_moved'`
}

/**
 * Rows that were read of each table until now, of its own or of an index, whichever is more. Sessions tell
 * when they end.
 */
async function readRows({ sql: db }: Database): Promise<Map<string, number>> {
  const rows = await db<{ name: string; rows: number }[]>`
    select relname as name, (seq_tup_read + greatest(coalesce(idx_tup_fetch, 0), (
      select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes i
        where i.relid = t.relid)))::float8 as rows
    from pg_stat_user_tables t where schemaname = 'public'`
  return new Map(rows.map((row) => [row.name, row.rows]))
}

/** Asks in sessions of its own, and finds the tables of which more was read than there is a reason for. */
async function findMuchRead(ask: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await readRows(world.db)
  await untilTold(ask)
  const read = [...(await readRows(world.db))].map(
    ([name, rows]) => [name, rows - (before.get(name) ?? 0)] as const,
  )
  // As many targets as are watched: they do not age.
  return Object.fromEntries(read.filter(([name, rows]) => name !== 'target' && rows > MOST_READ))
}

/** Does what opens sessions, and waits until they are gone: by then they have told what they read. */
async function untilTold(work: () => Promise<unknown>): Promise<void> {
  const own = await listSessions()
  await work()
  await until('the sessions are gone', async () => (await listSessions()).every((pid) => own.includes(pid)))
}

async function listSessions(): Promise<number[]> {
  const rows = await world.db.sql<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`
  return rows.map(({ pid }) => pid)
}

async function askApart(ask: (db: Database) => PromiseLike<unknown>): Promise<void> {
  const db = openDatabase(world.db.url)
  await ask(db)
  await db.close()
}

test('what reads all old rows is found', async () => {
  const read = await findMuchRead(() => askApart((db) => db.sql`select count(state) from job_run`))
  assert.deepEqual(Object.keys(read), ['job_run'])
})

describe('old rows are not read', () => {
  for (const job of JOBS.filter(({ name }) => !NIGHTLY.includes(name)))
    test(`by the job ${job.name}`, async () => {
      const read = await findMuchRead(async () => {
        const runner = await world.openRunner()
        await executeJob(runner.context, job)
        await runner.stop()
      })
      assert.deepEqual(read, {})
    })

  const questions: Readonly<Record<string, (db: Database) => Promise<unknown>>> = {
    figures: (db) => readFigures(db, world.settings),
    'last runs': readLastRuns,
    'open work': readOpenWork,
    problems: (db) => readProblems(db, 20),
    'failed results': (db) => readFailedSince(db, new Date()),
  }
  for (const [name, ask] of Object.entries(questions))
    test(`by the question of ${name}`, async () => {
      assert.deepEqual(await findMuchRead(() => askApart(ask)), {})
    })
})
