/** A call window that is shorter than the minute of the service, where a run of days or of many crashes must not wait for it. */
import type { SqlRunner } from '../../src/db/database.ts'

/** A permit holds for half a second; the window counts that too. */
const PERMIT_S = 0.5

/** The one gives permits, the other says how long a call would have to wait: a post asks that before it is claimed. */
const FUNCTIONS = ['take_call_permits', 'call_wait']

/**
 * Makes the window of all limits of calls shorter in this database, until it is migrated again. The limits stay, so that as many more calls
 * are allowed in a minute.
 */
export async function shortenCallWindow(sql: SqlRunner, windowMs: number): Promise<void> {
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
