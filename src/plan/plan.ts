/**
 * Planning: due targets become `planned` tasks with their money reserved, all in the database. What the budget cuts is
 * recorded once per slot, and lifted when money comes.
 */
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import { type AdmissionInput, admission, type OverallBudget } from './admission.ts'
import { lockBudget } from './budget.ts'
import { joinInBulk } from './joins.ts'
import { packPosts } from './pack.ts'
import { readPrices } from './price.ts'

/** What is due, and how far the budget reaches. */
export interface PlanTotals {
  /** Due (target, slot) without task or history, before the budget. */
  readonly due: number
  readonly planned: number
  readonly plannedMicros: number
  /** Due, but not bought: the budget does not reach them. */
  readonly cut: number
  readonly cutMicros: number
}

export interface PlanSummary extends PlanTotals {
  readonly posts: number
}

/** Called in the plan's own transaction with the new posts, so that a post without a job cannot be. */
export type EnqueuePosts = (tx: Transaction, postIds: readonly string[]) => Promise<void>

/** Plans what is due now, packs it into posts and hands them over, in one transaction behind the budget lock. */
export async function planDueTasks(
  db: Database,
  budget: OverallBudget,
  enqueuePosts: EnqueuePosts,
): Promise<PlanSummary> {
  const prices = await readPrices(db)
  return db.begin(async (tx) => {
    await lockBudget(tx)
    await tx`select start_missing_watch_periods()`
    await joinInBulk(tx)
    const planned = await insertDueTasks(tx, { ...budget, prices })
    const postIds = await packPosts(tx)
    await enqueuePosts(tx, postIds)
    return { ...planned, posts: postIds.length }
  })
}

async function insertDueTasks(tx: Transaction, input: AdmissionInput): Promise<PlanTotals> {
  const [row] = await tx<PlanTotals[]>`
    with ${admission(tx, input)},
    bought as materialized (select d.*, uuid_v7() as task_id from decided d where d.cut is null),
    inserted as (
      insert into task (id, target_id, slot, slot_ends_at, depth, priority, html, estimate_micros)
      select task_id, target_id, slot, slot_ends_at, depth, priority, html, price_micros from bought
    ),
    reserved as (
      insert into charge (kind, project, amount_micros, open, task_id, attempt, target_id, slot)
      select 'estimate', s.project, s.share_micros, true, b.task_id, 1, b.target_id, b.slot
      from bought b join share s using (target_id, slot)
    ),
    recorded as (
      insert into budget_cut (target_id, slot, slot_ends_at, reason, price_micros)
      select target_id, slot, slot_ends_at, cut, price_micros from decided where cut is not null
      on conflict (target_id, slot) do update
        set reason = excluded.reason, price_micros = excluded.price_micros, slot_ends_at = excluded.slot_ends_at
      where (budget_cut.reason, budget_cut.price_micros, budget_cut.slot_ends_at)
        <> (excluded.reason, excluded.price_micros, excluded.slot_ends_at)
    ),
    lifted as (
      delete from budget_cut c using bought b where c.target_id = b.target_id and c.slot = b.slot
    )
    ${totals(tx)}`
  if (row === undefined) throw new Error('An aggregate returned no row.')
  return row
}

function totals(tx: SqlRunner) {
  return tx`
    select count(*) as due,
      count(*) filter (where cut is null) as planned,
      coalesce(sum(price_micros) filter (where cut is null), 0)::bigint as "plannedMicros",
      count(*) filter (where cut is not null) as cut,
      coalesce(sum(price_micros) filter (where cut is not null), 0)::bigint as "cutMicros"
    from decided`
}

/** One line of the dry run: what one project would buy, or not, in one store. */
export interface PlanLine {
  readonly project: string
  readonly store: string
  readonly function: string
  /** Why it is not bought; null where it is. */
  readonly cut: string | null
  readonly tasks: number
  /** Bought: the project's share. Cut: the full price, as nobody pays it. */
  readonly costMicros: number
}

export interface PlanPreview extends PlanTotals {
  readonly lines: readonly PlanLine[]
}

/** The dry run: what `planDueTasks` would do now. Posts nothing, and leaves nothing behind. */
export async function previewPlan(db: Database, budget: OverallBudget): Promise<PlanPreview> {
  const prices = await readPrices(db)
  return db.begin((tx) => readPreview(tx, { ...budget, prices }), { isReadOnlySnapshot: true })
}

async function readPreview(tx: Transaction, input: AdmissionInput): Promise<PlanPreview> {
  await joinInBulk(tx)
  const lines = await tx<PlanLine[]>`
    with ${admission(tx, input)}
    select s.project, d.store, d.function, null as cut, count(*) as tasks, sum(s.share_micros)::bigint as "costMicros"
    from share s join decided d using (target_id, slot) group by 1, 2, 3
    union all
    select y.project, d.store, d.function, d.cut, count(*), sum(d.price_micros)::bigint
    from payer y join decided d using (target_id, slot) where d.cut is not null group by 1, 2, 3, 4
    order by 1, 2, 3, 4 nulls first`
  const [sum] = await tx<PlanTotals[]>`with ${admission(tx, input)} ${totals(tx)}`
  if (sum === undefined) throw new Error('An aggregate returned no row.')
  return { ...sum, lines }
}
