/**
 * Finds the session that holds the lock for which another session waits: of a row, of a table, or an advisory
 * lock. The waiting session must still wait: the server tells which process blocks another, and not which has
 * blocked it.
 */
import { TIMINGS } from '../timings.ts'
import type { SqlRunner } from './driver.ts'

/** What the login may not see of another's session is null. */
export interface LockHolder {
  /** 0: a prepared transaction, which belongs to no session. */
  readonly pid: number
  readonly application: string | null
  readonly user: string | null
  readonly state: string | null
  readonly openForMs: number | null
  readonly queryStart: Date | null
  /** Its latest statement on one line, shortened, with quoted values removed. */
  readonly query: string | null
}

const QUERY_LENGTH = 80

/**
 * The sessions that block the waiting one, directly or through others, and wait for no lock themselves. The
 * longest open transaction comes first; none when the session does not wait any more.
 * @param observer another session than the waiting one
 * @param waitingPid null: any session of this login's runners
 */
export async function readLockHolders(observer: SqlRunner, waitingPid: number | null): Promise<LockHolder[]> {
  return observer<LockHolder[]>`
    with recursive chain (pid) as (
      select unnest(pg_blocking_pids(w.pid)) from pg_stat_activity w
      where w.pid = ${waitingPid} or ${waitingPid}::int is null and w.usename = current_user
        and w.datname = current_database() and w.application_name like 'storerank%'
      union select unnest(pg_blocking_pids(pid)) from chain where pid <> 0
    )
    select pid, nullif(a.application_name, '') as application, a.usename as "user", a.state,
      extract(epoch from clock_timestamp() - a.xact_start)::float8 * 1000 as "openForMs",
        a.query_start as "queryStart",
      left(regexp_replace(regexp_replace(a.query, '''[^'']*''?', '''…''', 'g'), '\\s+', ' ', 'g'),
        ${QUERY_LENGTH}::int) as query
    from chain left join pg_stat_activity a using (pid)
    where pid = 0 or cardinality(pg_blocking_pids(pid)) = 0
    order by a.xact_start`
}

/**
 * The sentence for a transaction that gave up because a lock was not given to it in time.
 * @param name what gave up, as the subject of a sentence: "Planning"
 */
export function describeLockTimeout(
  name: string,
  lockTimeoutMs: number,
  [holder, ...others]: readonly LockHolder[],
): string {
  const gaveUp = `${name} gave up because it was not given a lock within ${formatDuration(lockTimeoutMs)}.`
  if (holder === undefined) {
    return (
      `${gaveUp} Its holder could not be seen; \`select pg_blocking_pids(pid), * from pg_stat_activity\` ` +
      'shows it while it is waited for.'
    )
  }
  if (holder.pid === 0) {
    return (
      `${gaveUp} A prepared transaction holds it; pg_prepared_xacts lists them, for \`commit prepared\` ` +
      'or `rollback prepared`.'
    )
  }
  const more = others.length === 0 ? '' : ` So do ${others.map(({ pid }) => `process ${pid}`).join(', ')}.`
  return (
    `${gaveUp} ${describeHolder(holder)} holds it.${more} End that transaction, or its session: select ` +
    `pg_terminate_backend(${holder.pid}).`
  )
}

/** A session as the subject of a sentence. */
export function describeHolder({
  pid,
  application,
  user,
  state,
  openForMs,
  queryStart,
  query,
}: LockHolder): string {
  const facts = [
    application,
    user === null ? null : `user ${user}`,
    openForMs === null ? null : `transaction open for ${formatDuration(openForMs)}`,
    state,
    query === null || queryStart === null ? null : `since ${queryStart.toISOString()} at: ${query}`,
  ]
  return `Process ${pid} (${facts.filter((fact) => fact !== null).join(', ')})`
}

function formatDuration(ms: number): string {
  const seconds = ms / 1000
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`
  return seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`
}

/**
 * Ends sessions of this login's runners that have waited for the rest of a statement for as long as a
 * transaction may be idle. The driver asks for the types of a new statement before it sends their values: a
 * server that has answered waits for these without any timeout, and the session keeps its locks, that of the
 * ledger too. The transfer of a COPY is no such wait.
 * @returns how many these were
 */
export async function endStuckSessions(
  db: SqlRunner,
  silentMs = TIMINGS.idleInTransactionMs,
): Promise<number> {
  const ended = await db`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and usename = current_user and application_name like 'storerank%'
      and state = 'active' and wait_event = 'ClientRead' and query !~* '^\\s*copy'
      and state_change <= clock_timestamp() - make_interval(secs => ${silentMs / 1000})`
  return ended.length
}
