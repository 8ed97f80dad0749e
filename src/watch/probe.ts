/**
 * Keywords that are measured once before somebody decides to watch them: ordinary watches of the project,
 * within its budgets, of no weight, so that neither visibility nor share of voice counts them, and disabled
 * when they are measured.
 */
import type { Database } from '../db/database.ts'
import type { Store } from '../service/functions.ts'
import { addKeywords, shortName } from './add.ts'
import type { Candidate } from './discover.ts'

const TAG = 'probe'

export interface Probed {
  readonly keyword: string
  readonly store: Store
  readonly location: string
  readonly isMeasured: boolean
  /** Why it was not; null while it is outstanding. */
  readonly problem: string | null
  /** Of the best own app; null: not among the first `depth`. */
  readonly rank: number | null
  readonly depth: number | null
  readonly competitors: number
  readonly results: number | null
  readonly first: string | null
}

/** What they cost at most, in micro-dollars: one billing unit each. */
export async function priceProbes({ sql }: Database, keywords: readonly Candidate[]): Promise<number> {
  const [row] = await sql<{ micros: number }[]>`
    select coalesce(sum(p.unit_micros), 0)::int as micros
    from unnest(${keywords.map(({ store }) => store)}::text[]) k (store)
    join unit_price p on p.store = k.store and p.function = 'app_searches' and p.priority = 1`
  return row?.micros ?? 0
}

export async function addProbes(
  db: Database,
  project: string,
  keywords: readonly Candidate[],
): Promise<void> {
  const rows = await db.sql<{ store: Store; results: number }[]>`
    select store, unit_results as results from unit_price where function = 'app_searches' and priority = 1`
  const depthOf = new Map(rows.map(({ store, results }) => [store, results]))
  for (const { keyword, store, locationCode, language } of keywords) {
    const depth = depthOf.get(store)
    const place = { location: String(locationCode), language, ...(depth === undefined ? {} : { depth }) }
    const watch = { project, keywords: [keyword], store: shortName(store), ...place }
    await addKeywords(db, { ...watch, every: '1 day', apps: [], tags: [TAG] })
  }
  await db.sql`update keyword_watch set weight = 0, enabled = true
    where project = ${project} and ${TAG} = any(tags)`
}

/** Nothing more of them is bought; what was measured stays. */
export async function endProbes({ sql }: Database, project: string): Promise<void> {
  await sql`update keyword_watch set enabled = false
    where project = ${project} and ${TAG} = any(tags) and enabled`
}

export async function readProbes({ sql }: Database, project: string): Promise<Probed[]> {
  return sql<Probed[]>`
    select t.subject as keyword, t.store, coalesce(l.name, t.location_code::text) as location,
      r.app_ids is not null as "isMeasured", coalesce(r.reason, k.problem) as problem,
      (select min(array_position(r.app_ids, a.app)) from project_apps(${project}) a
        where a.role = 'own') as rank,
      r.depth, (select count(*) from project_apps(${project}) a
        where a.role = 'competitor' and a.app = any(r.app_ids[:10]))::int as competitors,
      r.results_count as results, (select n.title from app_name n where n.app = r.app_ids[1]) as first
    from keyword_watch w
    join watch_period p on p.kind = 'keyword' and p.watch_id = w.id and p.ended_at is null
    join target t on t.id = p.target_id
    left join location l on l.store = t.store and l.code = t.location_code
    left join lateral (
      select * from ranking_row o where o.target_id = t.id and o.slot >= p.first_slot
      order by o.slot desc limit 1
    ) r on true
    left join lateral (
      select o.problem from task o where o.target_id = t.id and o.state <> 'posted'
      order by o.slot desc limit 1
    ) k on true
    where w.project = ${project} and ${TAG} = any(w.tags) and w.enabled
    order by rank nulls last, keyword`
}
