/** How many connections a process has at once (DATABASE_CONNECTIONS), and what shares them. */
import { TIMINGS } from '../timings.ts'
import type { SqlRunner } from './driver.ts'

/** The queue's own pool, and the session in which it listens. */
export const QUEUE_POOL = 3
/** With the connections for permits and for a look at what hangs. */
const ALWAYS = QUEUE_POOL + 1 + 2
/** More bring nothing. */
const MOST_STATEMENTS = 10

export interface Share {
  /** Of the pool for statements and transactions. */
  readonly statements: number
  /** Of jobs that run at once, each with a session that holds its lock. */
  readonly jobs: number
}

/** Pure. */
export function shareConnections(connections: number): Share {
  const free = connections - ALWAYS
  const statements = Math.min(MOST_STATEMENTS, Math.ceil(free / 2))
  return { statements, jobs: free - statements }
}

/**
 * Compares what a process may use with what the login, the database and the server allow.
 * @returns a sentence where it is more; null where all is well
 */
export async function describeFewConnections(db: SqlRunner, connections: number): Promise<string | null> {
  const [least] = await db<{ whose: string; allowed: number }[]>`
    select whose, allowed from (
      select 'the role ' || quote_ident(rolname), rolconnlimit from pg_roles
      where rolname = current_user and not rolsuper and rolconnlimit >= 0
      union all
      select 'the database ' || quote_ident(datname), datconnlimit from pg_database
      where datname = current_database() and datconnlimit >= 0
      union all
      select 'the server', current_setting('max_connections')::int
        - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int
    ) as l (whose, allowed)
    where allowed < ${connections}::int order by allowed limit 1`
  if (least === undefined) return null
  const { whose, allowed } = least
  const remedy =
    allowed < TIMINGS.fewestConnections
      ? `It works with ${TIMINGS.fewestConnections} or more: raise that limit.`
      : `Set DATABASE_CONNECTIONS=${allowed} or less, or raise that limit.`
  return `This process may use ${connections} connections at once, and ${whose} allows ${allowed}. ${remedy}`
}
