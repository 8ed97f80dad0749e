/**
 * What a database does to those who use it: it ends their sessions, has no connection left, and gives up on
 * statements.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { MAX_CONNECTIONS } from './servers.ts'
import { HARNESS, type World } from './world.ts'

/**
 * Cuts this share of everybody's connections; returns how many these were, none while Postgres starts again.
 */
export async function cut({ sql }: World, share: number): Promise<number> {
  const ended = await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where backend_type = 'client backend' and application_name <> ${HARNESS} and random() < ${share}`.catch(
    () => [],
  )
  return ended.length
}

/** Ends one session; false when it had ended by itself. */
export async function endSession({ sql }: World, pid: number): Promise<boolean> {
  const [row] = await sql<{ ended: boolean }[]>`select pg_terminate_backend(${pid}) as ended`
  return row?.ended === true
}

/** While Postgres starts again nobody is connected. */
const ignoreRestart = () => {}

/** Cuts everybody, and takes every connection there is for a while. */
export async function occupyConnections(world: World, forMs: number): Promise<void> {
  const connection = { application_name: HARNESS }
  const flood = postgres(world.url, { max: MAX_CONNECTIONS, onnotice: () => {}, connection })
  const held = Array.from({ length: MAX_CONNECTIONS }, () =>
    flood`select pg_sleep(${forMs / 1000})`.catch(ignoreRestart),
  )
  await cut(world, 1)
  // The statement of a connection that was refused may wait for ever, and all the others would stay with it.
  await Promise.race([Promise.all(held), sleep(2 * forMs)])
  await flood.end({ timeout: 2 })
}

const WRITTEN = [
  'task',
  'post',
  'charge',
  'spend',
  'ledger',
  'due_slot',
  'period_change',
  'api_call',
  'ranking',
  'job_run',
  'pgboss.job',
]

/** What `failStatements` needs. */
export async function installFailures(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    create table crash_failure (share float8 not null);
    insert into crash_failure values (0);
    create function crash_fail() returns trigger language plpgsql as $$
    begin
      if random() < (select share from crash_failure) then
        raise exception 'The harness fails a statement.'
          using errcode = (array['40001', '40P01', '57014'])[1 + floor(random() * 3)];
      end if;
      return null;
    end $$`)
  for (const table of WRITTEN) {
    await sql.unsafe(
      `create trigger crash_fail after insert or update or delete on ${table} for each statement ` +
        'execute function crash_fail()',
    )
  }
  // Waits for the commit, and fails that.
  await sql.unsafe(`
    create constraint trigger crash_fail_commit after update on post deferrable initially deferred
    for each row execute function crash_fail()`)
}

/**
 * For a while, this share of everybody's writes fails as Postgres may always let them fail; some at their
 * commit.
 */
export async function failStatements(world: World, share: number, forMs: number): Promise<void> {
  const set = (now: number) => world.sql`update crash_failure set share = ${now}`
  await set(share)
  await sleep(forMs)
  await set(0)
}
