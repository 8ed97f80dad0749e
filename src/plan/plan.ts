/**
 * Planning: due targets become `planned` tasks with their money reserved, all in the database. What the budget cuts is
 * recorded once per slot, and lifted when money comes.
 */
import { readPrices } from '../account/prices.ts'
import type { Database, Transaction } from '../db/database.ts'
import { withLedgerLock } from '../ledger/lock.ts'
import { type PlanTotals, packTasks, planTasks, totals } from '../ledger/plan-tasks.ts'
import { type AdmissionInput, admission, type OverallBudget } from './admission.ts'
import { disableNestedLoops } from './joins.ts'

export interface PlanSummary extends PlanTotals {
  readonly posts: number
}

/** Called in the plan's own transaction with the new posts, so that a post without a job cannot be. */
export type EnqueuePosts = (tx: Transaction, postIds: readonly string[]) => Promise<void>

/** Plans what is due now, packs it into posts and hands them over, in one transaction behind the ledger's lock. */
export async function planDueTasks(
  db: Database,
  budget: OverallBudget,
  enqueuePosts: EnqueuePosts,
): Promise<PlanSummary> {
  const prices = await readPrices(db.sql)
  return withLedgerLock(db, 'Planning', async (tx) => {
    await tx`select start_missing_watch_periods()`
    await disableNestedLoops(tx)
    const { postIds, ...planned } = await planTasks(tx, admission(tx, { ...budget, prices }))
    const allPostIds = [...postIds, ...(await packTasks(tx))]
    await enqueuePosts(tx, allPostIds)
    return { ...planned, posts: allPostIds.length }
  })
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
  const prices = await readPrices(db.sql)
  return db.begin((tx) => readPreview(tx, { ...budget, prices }), { isReadOnlySnapshot: true })
}

async function readPreview(tx: Transaction, input: AdmissionInput): Promise<PlanPreview> {
  await disableNestedLoops(tx)
  const lines = await tx<PlanLine[]>`
    with ${admission(tx, input)}
    select p.name as project, d.store, d.function, null as cut, count(*) as tasks,
      sum(share_of(d.price_micros, cardinality(y.payers), s.place))::bigint as "costMicros"
    from paying y join decided d using (target_id, slot)
    cross join lateral unnest(y.payers) with ordinality as s (project_id, place) join project p on p.id = s.project_id
    group by 1, 2, 3
    union all
    select y.project, d.store, d.function, d.cut, count(*), sum(d.price_micros)::bigint
    from payer y join decided d using (target_id, slot) where d.cut is not null group by 1, 2, 3, 4
    order by 1, 2, 3, 4 nulls first`
  const [sum] = await tx<PlanTotals[]>`with ${admission(tx, input)} ${totals(tx)}`
  if (sum === undefined) throw new Error('An aggregate returned no row.')
  return { ...sum, lines }
}
