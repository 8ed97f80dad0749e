/**
 * Planning: due targets become `planned` tasks with their money reserved, all in the database. What the budget cuts is
 * recorded once per slot, waits in a queue of its budget, and is lifted when money comes.
 */
import { readPrices } from '../account/prices.ts'
import type { Database, Transaction } from '../db/database.ts'
import { disableNestedLoops, readByKeptPlans } from '../db/joins.ts'
import { withLedgerLock } from '../ledger/lock.ts'
import { type Planned, type PlanTotals, packTasks, planTasks, totals } from '../ledger/plan-tasks.ts'
import { followTimeZones } from '../ledger/time-zones.ts'
import { TIMINGS } from '../timings.ts'
import {
  type AdmissionInput,
  admission,
  NOTHING_PASSED,
  type OverallBudget,
  type PassedMoney,
} from './admission.ts'
import {
  type DuePiece,
  type DuePlace,
  dueNow,
  duePiece,
  FIRST_PLACE,
  openTwins,
  queueDueSlots,
  queueUnqueued,
  type UnqueuedSlots,
} from './due.ts'
import { barriers, forgetEndedWaits, keepWaiting, wakeWaiting } from './waiting.ts'

export interface PlanSummary extends PlanTotals {
  readonly posts: number
}

/** Called with the new posts in the transaction that makes them, so that no post is without a job. */
export type EnqueuePosts = (tx: Transaction, postIds: readonly string[]) => Promise<void>

/**
 * Plans what is due now in pieces, the most urgent first, each in a transaction behind the ledger's lock: what a piece has
 * planned is posted while the next one is planned. The summary counts what the plan looked at: what waits for a budget that has no room is
 * not among it.
 * @param pieceSlots for tests: smaller pieces
 */
export async function planDueTasks(
  db: Database,
  budget: OverallBudget,
  enqueuePosts: EnqueuePosts,
  pieceSlots = TIMINGS.planSlots,
): Promise<PlanSummary> {
  await openTwins(db)
  const slots = Math.min(TIMINGS.firstPlanSlots, pieceSlots)
  const unqueued = await queueDueSlots(db, { firstSlots: slots, pieceSlots })
  await forgetEndedWaits(db)
  const plan = { budget, enqueuePosts, pieceSlots }
  let state: PlanState = { summary: NOTHING_PLANNED, passed: NOTHING_PASSED, slots, unqueued }
  // Of what wakes, some may not be due any more, so that the money reaches further.
  for (let isFirst = true, woken = 0; isFirst || woken > 0; isFirst = false) {
    woken = await wakeWaiting(db, { ...budget, prices: await readPrices(db.sql), passed: state.passed })
    if (isFirst || woken > 0) state = await planQueue(db, plan, state)
  }
  return state.summary
}

interface Plan {
  readonly budget: OverallBudget
  readonly enqueuePosts: EnqueuePosts
  readonly pieceSlots: number
}

interface PlanState {
  readonly summary: PlanSummary
  readonly passed: PassedMoney
  /** Of the next piece. */
  readonly slots: number
  /** What is not queued yet: the first piece is more urgent, and does not wait for it. */
  readonly unqueued: UnqueuedSlots | null
}

const NOTHING_PLANNED: PlanSummary = { due: 0, planned: 0, plannedMicros: 0, cut: 0, cutMicros: 0, posts: 0 }

async function planQueue(db: Database, plan: Plan, state: PlanState): Promise<PlanState> {
  let { summary, passed, slots, unqueued } = state
  for (let after: DuePlace | null = FIRST_PLACE; after !== null; ) {
    const piece: PlannedPiece = await planPiece(db, plan, { after, slots }, passed)
    summary = addUp(summary, piece)
    passed = passOn(passed, piece)
    slots = plan.pieceSlots
    after = piece.last
    if (unqueued === null) continue
    await queueUnqueued(db, unqueued)
    // The piece may have taken what is less urgent than some of what is queued now.
    after = FIRST_PLACE
    unqueued = null
  }
  return { summary, passed, slots, unqueued }
}

type PlannedPiece = Omit<Planned, 'postIds'> & {
  readonly posts: number
  /** Where the piece ended; null when it was the last one. */
  readonly last: DuePlace | null
}

function planPiece(
  db: Database,
  { budget, enqueuePosts }: Plan,
  next: DuePiece,
  passed: PassedMoney,
): Promise<PlannedPiece> {
  return withLedgerLock(db, 'Planning', async (tx) => {
    await followTimeZones(tx)
    const prices = await readPrices(tx)
    await readByKeptPlans(tx)
    const piece = tx`${duePiece(tx, next)}, ${barriers(tx)}`
    const decision = admission(tx, piece, { ...budget, prices, passed })
    const { postIds, ...planned } = await planTasks<Pick<PlannedPiece, 'last'>>(
      tx,
      tx`${decision}, ${keepWaiting(tx)}`,
      tx`(select to_jsonb(last) from last) as last`,
    )
    const allPostIds = [...postIds, ...(await packTasks(tx))]
    await enqueuePosts(tx, allPostIds)
    return { ...planned, posts: allPostIds.length }
  })
}

function addUp(sum: PlanSummary, piece: PlannedPiece): PlanSummary {
  return {
    due: sum.due + piece.due,
    planned: sum.planned + piece.planned,
    plannedMicros: sum.plannedMicros + piece.plannedMicros,
    cut: sum.cut + piece.cut,
    cutMicros: sum.cutMicros + piece.cutMicros,
    posts: sum.posts + piece.posts,
  }
}

function passOn(before: PassedMoney, piece: PlannedPiece): PassedMoney {
  const byProject = new Map(before.byProject)
  let { overallMicros } = before
  for (const { projectId, micros } of piece.passed) {
    if (projectId === 0) overallMicros += micros
    else byProject.set(projectId, (byProject.get(projectId) ?? 0) + micros)
  }
  return { byProject, overallMicros, plannedMicros: before.plannedMicros + piece.plannedMicros }
}

/** One line of the dry run: what one project would buy, or not, in one store. */
export interface PlanLine {
  readonly project: string
  readonly store: string
  readonly function: string
  /** Why it is not bought; null where it is. */
  readonly cut: string | null
  readonly tasks: number
  /** Of what is bought, the project's share; of what is cut, the full price. */
  readonly costMicros: number
}

export interface PlanPreview extends PlanTotals {
  readonly lines: readonly PlanLine[]
}

/** The dry run: what `planDueTasks` would do now. It writes nothing. */
export async function previewPlan(db: Database, budget: OverallBudget): Promise<PlanPreview> {
  const prices = await readPrices(db.sql)
  return db.begin((tx) => readPreview(tx, { ...budget, prices, passed: NOTHING_PASSED }), {
    isReadOnlySnapshot: true,
  })
}

async function readPreview(tx: Transaction, input: AdmissionInput): Promise<PlanPreview> {
  await disableNestedLoops(tx)
  // It decides at once what a plan decides in pieces: with less, a million watches took 421 MiB of temporary files.
  await tx`select set_config('work_mem', '96MB', true)`
  const [preview] = await tx<PlanPreview[]>`
    with ${admission(tx, dueNow(tx), input)},
    line as (
      select p.name as project, e.store, e.function, null as cut, count(*) as tasks,
        sum(share_of(d.price_micros, cardinality(d.payers), s.place))::bigint as "costMicros"
      from decided d join price e using (endpoint)
      cross join lateral unnest(d.payers) with ordinality as s (project_id, place) join project p on p.id = s.project_id
      where d.cut is null
      group by 1, 2, 3
      union all
      select p.name, e.store, e.function, d.cut, count(*), sum(d.price_micros)::bigint
      from decided d join priced using (place) cross join lateral unnest(priced.askers) a (project_id)
      join price e on e.endpoint = d.endpoint join project p on p.id = a.project_id
      where d.cut is not null
      group by 1, 2, 3, 4
    )
    select t.*, (
      select coalesce(json_agg(l order by l.project, l.store, l.function, l.cut nulls first), '[]') from line l
    ) as lines
    from (${totals(tx)}) t`
  if (preview === undefined) throw new Error('An aggregate returned no row.')
  return preview
}
