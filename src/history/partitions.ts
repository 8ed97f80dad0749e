/** Monthly partitions of the history: made ahead of time by a job, and on demand by whoever writes. */
import type { Database } from '../db/database.ts'

/** Makes the partitions from the present month to `monthsAhead` months later; returns how many were missing. */
export async function makePartitionsAhead(db: Database, monthsAhead: number): Promise<number> {
  const [row] = await db.sql<{ made: number }[]>`
    select ensure_history_partitions(storerank_now(), storerank_now() + make_interval(months => ${monthsAhead})) as made`
  return row?.made ?? 0
}

/** In a transaction of its own, before the one that writes: attaching takes a lock that must be short. */
export async function ensurePartitionsOfSlots(db: Database, slots: readonly Date[]): Promise<void> {
  if (slots.length === 0) return
  const times = slots.map((slot) => slot.getTime())
  await db.sql`
    select ensure_history_partitions(${new Date(Math.min(...times))}, ${new Date(Math.max(...times))})`
}
