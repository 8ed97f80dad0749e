/** How late results come: each is counted once, in whatever order the transactions that store them commit. */
import { Histogram, type Registry } from 'prom-client'
import type { Database } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'

/** From a minute to two days. */
const LATENCY_BUCKETS_S = [60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400, 172_800]
/** Results that are read by one statement. */
const RESULTS_AT_ONCE = 5_000
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/**
 * Results that were stored since this process began, by any process: how late, and so how many. A result has
 * its time before its transaction commits, so that an earlier one may come later: a look reads up to the
 * beginning of the oldest transaction that may store something, and the next one goes on from there.
 * @param storingMs such a transaction is waited for that long: one that was forgotten stops no count
 */
export function createStoredResults(registry: Registry, { sql }: Database, storingMs: number) {
  const histogram = new Histogram({
    name: 'storerank_due_to_stored_seconds',
    help:
      'From the instant at which a measurement was due to its result in the history; counts results ' +
      'since this process began.',
    buckets: LATENCY_BUCKETS_S,
    registers: [registry],
  })
  let after: { readonly endedAt: string; readonly id: string } | undefined
  return {
    observe: async () => {
      const { startedAt, settledTo } = await readSettled(sql, storingMs)
      after ??= { endedAt: startedAt, id: FIRST_ID }
      for (;;) {
        const rows: readonly { endedAt: string; id: string; seconds: number }[] = await sql`
          select extract(epoch from k.ended_at - k.slot)::float8 as seconds, k.ended_at::text as "endedAt",
            k.id from task k
          where (k.ended_at, k.id) > (${after.endedAt}::text::timestamptz, ${after.id}::uuid)
            and k.state = 'collected'
            and k.ended_at < ${settledTo}::text::timestamptz
          order by k.ended_at, k.id limit ${RESULTS_AT_ONCE}`
        for (const { seconds } of rows) histogram.observe(Math.max(0, seconds))
        after = rows.at(-1) ?? after
        if (rows.length < RESULTS_AT_ONCE) return
      }
    },
  }
}

/**
 * Up to when all that was stored can be seen by the next statement: what was stored before this one is either
 * committed or of a transaction that has an id, because it locks its tasks before it dates them. The session
 * of another login shows its id and not when it began, and is waited for as long as any. Those of the server
 * itself have no user.
 */
async function readSettled(db: Database['sql'], storingMs: number) {
  return oneRow(
    await db<{ startedAt: string; settledTo: string }[]>`
    select w.started_at::text as "startedAt",
      least(w.started_at, min(greatest(a.xact_start, w.from_at))
        filter (where a.pid is not null))::text as "settledTo"
    from (
      select statement_timestamp() as started_at, statement_timestamp() - ${storingMs}
        * interval '1 millisecond' as from_at
    ) w
    left join pg_stat_activity a on a.datname = current_database() and a.usesysid is not null
      and a.backend_xid is not null
    group by w.started_at`,
  )
}
