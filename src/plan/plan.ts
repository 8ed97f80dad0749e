/** Planning: due slots become `planned` tasks with their money reserved. What the budget cuts stays due. */
import type { Database, Transaction } from '../db/database.ts'
import { disableNestedLoops, readByIndexes } from '../db/joins.ts'
import { oneRow } from '../db/one-row.ts'
import { sql } from '../db/sql.ts'
import { followTimeZones, withLedgerLock } from '../ledger/lock.ts'
import { packTasks, planTasks } from '../ledger/plan-tasks.ts'
import { TIMINGS } from '../timings.ts'
import { admission, budgetRows, type OverallBudget, readBudgets, type ScopeBudget } from './admission.ts'
import { askedNow, askedPiece, type DuePlace, FIRST_PLACE, openDueSlots, takePiece } from './due.ts'

/** Due slots without task or history, those that are bought, and those that the budget does not reach. */
type PlanTotals = Readonly<Record<'due' | 'planned' | 'plannedMicros' | 'cut' | 'cutMicros', number>>

export interface PlanSummary extends PlanTotals {
  readonly posts: number
}

/** Called with the new posts in the transaction that makes them, so that no post is without a job. */
export type EnqueuePosts = (tx: Transaction, postIds: readonly string[]) => Promise<void>

/**
 * Plans what is due now in pieces, the most urgent first, each in a transaction behind the ledger's lock:
 * what a piece has planned is posted while the next one is planned. The summary leaves out what waits for a
 * budget without room.
 * @param pieceSlots for tests: smaller pieces
 */
export async function planDueTasks(
  db: Database,
  budget: OverallBudget,
  enqueuePosts: EnqueuePosts,
  pieceSlots = TIMINGS.planSlots,
): Promise<PlanSummary> {
  await openDueSlots(db)
  const plan: Plan = { budget, enqueuePosts, queued: new Map(), exhausted: new Set(), plannedMicros: 0 }
  const summary = { due: 0, planned: 0, plannedMicros: 0, cut: 0, cutMicros: 0, posts: 0 }
  let slots = Math.min(TIMINGS.firstPlanSlots, pieceSlots)
  for (let after: DuePlace | null = FIRST_PLACE; after !== null; slots = pieceSlots) {
    const { last, ...piece }: PlannedPiece = await planPiece(db, plan, after, slots)
    for (const key of Object.keys(summary) as (keyof PlanSummary)[]) summary[key] += piece[key]
    plan.plannedMicros = summary.plannedMicros
    after = last
  }
  return summary
}

interface Plan {
  readonly budget: OverallBudget
  readonly enqueuePosts: EnqueuePosts
  /** By scope: full prices of what stood before in its queue, less what it has reserved for them. */
  readonly queued: Map<number, number>
  /** Scopes that can pay for nothing that is less urgent. */
  readonly exhausted: Set<number>
  plannedMicros: number
}

interface PlannedPiece extends PlanSummary {
  /** Where the piece ended; null when it was empty. */
  readonly last: DuePlace | null
}

function planPiece(
  db: Database,
  { budget, enqueuePosts, queued, exhausted, plannedMicros }: Plan,
  after: DuePlace,
  slots: number,
): Promise<PlannedPiece> {
  return withLedgerLock(db, 'Planning', async (tx) => {
    await followTimeZones(tx)
    await readByIndexes(tx)
    const budgets = (await readBudgets(tx, budget, plannedMicros)).map((each) => ({
      ...each,
      leftMicros: each.leftMicros === null ? null : each.leftMicros - (queued.get(each.scope) ?? 0),
    }))
    const least = oneRow(await tx<{ micros: number }[]>`select min(unit_micros) as micros from unit_price`)
    for (const { scope, leftMicros } of budgets)
      if (leftMicros !== null && leftMicros < least.micros) exhausted.add(scope)
    const last = await takePiece(tx, after, slots, exhausted)
    await tx`create temporary table decided on commit drop as ${admission(askedPiece(), budgets)}`
    const postIds = [...(await planTasks(tx)), ...(await packTasks(tx))]
    await noteCuts(tx)
    const { queues, ...totals } = await readDecision(tx, budgets)
    for (const { scope, micros, isExhausted } of queues) {
      queued.set(scope, (queued.get(scope) ?? 0) + micros)
      if (isExhausted) exhausted.add(scope)
    }
    if (postIds.length > 0) await enqueuePosts(tx, postIds)
    return { ...totals, posts: postIds.length, last }
  })
}

/** Notes in the due slots why they were not bought, and which are over, because no watch asks for them. */
async function noteCuts(tx: Transaction): Promise<void> {
  await tx`
    update due_slot d set cut = c.cut, price_micros = c.price_micros, short_of = c.short_of,
      priority = c.priority
    from decided c
    where c.cut is not null and d.ctid = c.row_id
      and d.ctid = any(array(select row_id from decided where cut is not null))
      and (d.cut, d.price_micros, d.short_of, d.priority) is distinct
        from (c.cut, c.price_micros, c.short_of, c.priority)`
  await tx`
    update due_slot set ends_at = storerank_now()
    where ctid = any(array(select row_id from piece except select row_id from decided))
      and ends_at > storerank_now()`
}

interface Decision extends PlanTotals {
  /** Of each scope: what its queue took beyond what it reserved, and whether its money ended in it. */
  readonly queues: readonly {
    readonly scope: number
    readonly micros: number
    readonly isExhausted: boolean
  }[]
}

async function readDecision(tx: Transaction, budgets: readonly ScopeBudget[]): Promise<Decision> {
  const rows = await tx<Decision[]>`
    with ${budgetRows(budgets)},
    asking as (
      select y.scope, d.price_micros, d.payers, d.cut, y.scope = any(d.refused) as is_refused
      from decided d cross join lateral unnest(d.askers) y (scope)
        where exists (select from budget where scope > 0)
    ),
    queues as (
      select a.scope, bool_or(a.is_refused) as "isExhausted", sum(a.price_micros - case when a.cut is null
        then coalesce(share_of(a.price_micros, cardinality(a.payers), array_position(a.payers, a.scope)), 0)
          else 0 end)::bigint as micros
      from asking a join budget b using (scope) where a.price_micros <= b.whole_micros
      group by 1
      union all
      select 0, count(*) > 0, coalesce(sum(price_micros), 0)::bigint from decided where cut = 'overall_budget'
    )
    select t.*, (select jsonb_agg(q) from queues q) as queues from (${TOTALS}) t`
  return oneRow(rows)
}

/** A select over `decided`: what is bought and what is cut. */
const TOTALS = sql`
  select count(*) as due, count(*) filter (where cut is null) as planned,
    coalesce(sum(price_micros) filter (where cut is null), 0)::bigint as "plannedMicros",
    count(cut) as cut, coalesce(sum(price_micros) filter (where cut is not null), 0)::bigint as "cutMicros"
  from decided`

export interface PlanPreview extends PlanTotals {
  /** What each project would buy, or not, in each store. */
  readonly lines: readonly {
    readonly project: string
    readonly store: string
    readonly function: string
    /** Why it is not bought; null where it is. */
    readonly cut: string | null
    readonly tasks: number
    /** Of what is bought, the project's share; of what is cut, the full price. */
    readonly costMicros: number
  }[]
}

/** The dry run: what `planDueTasks` would do now. It writes nothing. */
export function previewPlan(db: Database, budget: OverallBudget): Promise<PlanPreview> {
  return db.begin(
    async (tx) => {
      const budgets = await readBudgets(tx, budget, 0)
      await disableNestedLoops(tx)
      // It decides at once what a plan decides in pieces: with less, a million watches took 421 MiB of
      // temporary files.
      await tx`select set_config('work_mem', '96MB', true)`
      const rows = await tx<PlanPreview[]>`
        with decided as (${admission(askedNow(), budgets)}),
        line as (
          select p.name as project, d.store, d.function, null as cut, count(*) as tasks,
            sum(share_of(d.price_micros, cardinality(d.payers), s.place))::bigint as "costMicros"
          from decided d cross join lateral unnest(d.payers) with ordinality as s (project_id, place)
            join project p on p.id = s.project_id
          where d.cut is null
          group by 1, 2, 3
          union all
          select p.name, d.store, d.function, d.cut, count(*), sum(d.price_micros)::bigint
          from decided d cross join lateral unnest(d.askers) a (project_id)
            join project p on p.id = a.project_id
          where d.cut is not null
          group by 1, 2, 3, 4
        )
        select t.*, (
          select coalesce(json_agg(l order by l.project, l.store, l.function, l.cut nulls first), '[]')
            from line l
        ) as lines
        from (${TOTALS}) t`
      return oneRow(rows)
    },
    { isReadOnlySnapshot: true },
  )
}
