/** One keyword of each store, bought once as an ordinary measurement, for `storerank check --buy`. */
import type { Database } from '../db/database.ts'
import type { Store } from '../service/functions.ts'
import { addKeywords } from '../watch/add.ts'

export const PROJECT = 'first-contact'
const KEYWORD = 'weather'
/** Within one billing unit of either store. */
const DEPTH = 10

export interface Trial {
  readonly store: Store
  readonly isMeasured: boolean
  /** Why it was not; null while it is outstanding. */
  readonly problem: string | null
  /** From the posting to the stored result. */
  readonly seconds: number | null
  readonly chargedMicros: number
  /** Not above 0. */
  readonly refundedMicros: number
  readonly results: number | null
}

/** Whether the database watches something else, which a run would buy too. */
export async function watchesMore(db: Database): Promise<boolean> {
  const [row] = await db.sql<{ more: boolean }[]>`
    select exists (select from watch_period where ended_at is null and project <> ${PROJECT})
      or exists (select from watch_problem where project <> ${PROJECT}) as more`
  return row?.more ?? false
}

/** What it costs at most, in micro-dollars: one billing unit in each store. */
export async function priceTrial(db: Database): Promise<number> {
  const [row] = await db.sql<{ micros: number }[]>`
    select sum(unit_micros)::int as micros from unit_price where function = 'app_searches' and priority = 1`
  return row?.micros ?? 0
}

/** Watches the keyword in both stores; where it is watched already, it is watched on. */
export async function addTrialWatches(db: Database): Promise<void> {
  for (const store of ['ios_store', 'android_store'] as const) {
    await addKeywords(db, { project: PROJECT, keywords: [KEYWORD], store, depth: DEPTH, apps: [], tags: [] })
  }
  await db.sql`update keyword_watch set enabled = true where project = ${PROJECT}`
}

/** Nothing more of it is bought; what was measured stays. */
export async function endTrial(db: Database): Promise<void> {
  await db.sql`update keyword_watch set enabled = false where project = ${PROJECT}`
}

/** What became of the newest measurement of each store. */
export async function readTrial(db: Database): Promise<Trial[]> {
  return db.sql<Trial[]>`
    select distinct on (t.store) t.store, k.state = 'collected' as "isMeasured",
      case when k.state <> 'posted' then k.problem end as problem,
      round(extract(epoch from k.ended_at - k.posted_at))::int as seconds,
      coalesce(c.charged, 0)::int as "chargedMicros", coalesce(c.refunded, 0)::int as "refundedMicros",
      cardinality(r.app_ids) as results
    from watch_period p
    join target t on t.id = p.target_id
    join task k on k.target_id = t.id
    left join ranking r on r.target_id = k.target_id and r.slot = k.slot
    cross join lateral (
      select sum(c.amount_micros) filter (where c.kind = 'charge') as charged,
        sum(c.amount_micros) filter (where c.kind = 'refund') as refunded
      from charge c where c.target_id = k.target_id and c.slot = k.slot
    ) c
    where p.project = ${PROJECT} order by t.store, k.slot desc`
}
