/** The latest ranks, as a person reads them. */
import type { Database } from '../db/database.ts'
import type { Movement } from './read-changes.ts'

export interface RankLine {
  readonly project: string
  readonly store: string
  /** The keyword; of a chart `chart` with its collection and category. */
  readonly keyword: string
  /** Country code, or the name of a smaller location. */
  readonly location: string
  readonly app: string
  readonly role: string
  readonly rank: number | null
  /** Ranks climbed since the day before; at least so many, where one of the two did not find the app. */
  readonly change: number | null
  readonly movement: Movement | null
  readonly depth: number | null
  readonly results: number | null
  readonly outcome: string
}

/**
 * Latest rank of each watched app on each keyword and chart of its project, at most `limit` lines: own apps
 * first, what is ranked before what is not, app by app.
 */
export async function readLatestRanks(db: Database, limit: number) {
  const lines = await db.sql<(RankLine & { total: number })[]>`
    select r.project, r.store, n.keyword,
      case when l.type = 'Country' then l.country_iso_code else r.location end as location,
      n.app, r.role, r.rank, r.change_1d as change,
      rank_movement(r.change_1d, r.outcome_1d, r.outcome) as movement, r.depth, r.results_count as results,
      r.outcome, count(*) over () as total
    from rank_change r
    cross join lateral (
      select coalesce(r.label, r.title, r.app_id) as app,
        case r.list when 'chart' then concat_ws(' ', 'chart', r.collection, r.category)
          else r.keyword end as keyword
    ) n
    left join location l on l.store = r.store and l.code = r.location_code
    order by r.role = 'own' desc, r.rank is null, r.project, n.app, r.store, r.rank, n.keyword, location
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
