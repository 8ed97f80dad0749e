/** The latest ranks, as a person reads them. */
import type { Database } from '../db/database.ts'

export interface RankLine {
  readonly project: string
  readonly store: string
  readonly keyword: string
  readonly location: string
  readonly app: string
  readonly role: string
  readonly rank: number | null
  readonly change: number | null
  readonly depth: number | null
  readonly results: number | null
  readonly outcome: string
}

/** Latest rank of each watched app on each keyword of its project; own apps first, then by rank. At most `limit` lines. */
export async function readLatestRanks(
  db: Database,
  limit: number,
): Promise<{ lines: RankLine[]; total: number }> {
  const lines = await db.sql<(RankLine & { total: number })[]>`
    select project, store, keyword, location, coalesce(label, title, app_id) as app, role, rank, change_1d as change, depth,
      results_count as results, outcome, count(*) over () as total
    from rank_change
    order by project, role = 'own' desc, coalesce(label, title, app_id), store, rank nulls last, keyword, location
    limit ${limit}`
  return { lines: lines.map(({ total: _, ...line }) => line), total: lines[0]?.total ?? 0 }
}

/** When the next slot of any watch begins; null when nothing is watched. */
export async function readNextDue(db: Database): Promise<Date | null> {
  const [row] = await db.sql<{ at: Date | null }[]>`
    select min(slot_of(every, storerank_now()) + every) as at
    from watch_period where ended_at is null and target_id is not null`
  return row?.at ?? null
}
