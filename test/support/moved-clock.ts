/**
 * A clock that is moved for a whole run of tests: that of the databases here, `Date` of the test processes in
 * `moved-date.ts`. Both go on from the instant at the usual pace. Monotonic time and timers stay as they are.
 */
import type postgres from 'postgres'

export interface MovedClock {
  /** How far it is ahead of that of the machine; negative: behind. */
  readonly aheadMs: number
  /** Of the server and of the processes, by its name. */
  readonly timeZone: string
}

/** A clock that shows this instant now. */
export function clockAt(instant: Date, timeZone: string): MovedClock {
  return { aheadMs: instant.getTime() - Date.now(), timeZone }
}

/** Moves it by what a table says, which may change while the database is used. */
export async function moveClockByTable(sql: postgres.Sql): Promise<void> {
  await sql`create table moved_clock (ahead interval not null)`
  await sql`insert into moved_clock values ('0')`
  await moveClockBy(sql, '(select c.ahead from public.moved_clock c)')
}

/**
 * Everything that tells the present in SQL: all but the keywords `current_timestamp`, `current_date` and
 * their like.
 */
const FUNCTIONS = {
  now: 'stable',
  transaction_timestamp: 'stable',
  statement_timestamp: 'stable',
  clock_timestamp: 'volatile',
}

/**
 * Moves the clock of a database, and so that of its copies. Needs a superuser, and an empty database: views
 * and functions that are there keep the clock that they were made with.
 */
export async function moveClock(sql: postgres.Sql, aheadMs: number): Promise<void> {
  await moveClockBy(sql, `interval '${aheadMs} milliseconds'`)
}

async function moveClockBy(sql: postgres.Sql, ahead: string): Promise<void> {
  for (const [name, volatility] of Object.entries(FUNCTIONS)) {
    await sql.unsafe(`
      alter function pg_catalog.${name}() rename to unmoved_${name};
      create function pg_catalog.${name}() returns timestamptz language sql ${volatility} parallel safe
        return pg_catalog.unmoved_${name}() + ${ahead}`)
  }
}
