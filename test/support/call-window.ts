/**
 * The call window as a test needs it: empty, with permits of some age, or shorter than the minute of the
 * service, where a run of days or of many crashes must not wait for it.
 */
import type { CallKind } from '../../src/service/transport.ts'
import type { AnySql } from './database.ts'

/** A permit holds for half a second; the window counts that too. */
const PERMIT_S = 0.5

/**
 * The one gives permits, the other says how long a call would have to wait: a post asks that before it is
 * claimed.
 */
const FUNCTIONS = ['take_call_permits', 'call_wait']

/**
 * Makes the window of all limits of calls shorter in this database, until it is migrated again. The limits
 * stay, so that as many more calls are allowed in a minute.
 */
export async function shortenCallWindow(sql: AnySql, windowMs: number): Promise<void> {
  for (const name of FUNCTIONS) {
    const [row] = await sql<{ text: string }[]>`
      select pg_get_functiondef(oid) as text from pg_proc where proname = ${name}`
    const shorter = row?.text.replace(
      /call_window interval DEFAULT '[^']+'/,
      `call_window interval DEFAULT '${windowMs / 1000 + PERMIT_S} seconds'`,
    )
    if (shorter === undefined || shorter === row?.text)
      throw new Error(`${name} no longer has a window that can be made shorter.`)
    await sql.unsafe(shorter)
  }
}

/** The window as it is before any call. */
export async function forgetCalls(sql: AnySql): Promise<void> {
  await sql`truncate api_call, account_usage`
  await sql`update call_window set last_call_id = 0, in_flight = default`
}

/** Permits given that many seconds ago, whose calls have ended. */
export async function permitsAgo(
  sql: AnySql,
  secondsAgo: readonly number[],
  kind: CallKind = 'task_get',
): Promise<void> {
  await sql`
    insert into api_call (id, kind, path, runner, permit_at, deadline_at, ended_at)
    select w.last_call_id + row_number() over (order by s desc), ${kind}, '/v3', 'test',
      clock_timestamp() - make_interval(secs => s), clock_timestamp(), clock_timestamp()
    from call_window w, unnest(${[...secondsAgo]}::float8[]) s`
  await sql`update call_window set last_call_id = coalesce((select max(id) from api_call), 0)`
}
