/**
 * Planning: due targets become `planned` tasks with their money reserved, all in the database. What the budget cuts is
 * recorded once per slot, and lifted when money comes.
 */
import { readPrices } from '../account/prices.ts'
import type { Database, Transaction } from '../db/database.ts'
import { withLedgerLock } from '../ledger/lock.ts'
import { type Planned, type PlanTotals, packTasks, planTasks, totals } from '../ledger/plan-tasks.ts'
import { TIMINGS } from '../timings.ts'
import {
  type AdmissionInput,
  admission,
  NOTHING_PASSED,
  type OverallBudget,
  type PassedMoney,
} from './admission.ts'
import {
  type DuePlace,
  dueNow,
  duePiece,
  FIRST_PLACE,
  forgetDecided,
  openTwins,
  queueDueSlots,
  readPieceEnd,
} from './due.ts'
import { disableNestedLoops } from './joins.ts'

export interface PlanSummary extends PlanTotals {
  readonly posts: number
}

/** Called with the new posts in the transaction that makes them, so that no post is without a job. */
export type EnqueuePosts = (tx: Transaction, postIds: readonly string[]) => Promise<void>

/**
 * Plans what is due now in pieces, the most urgent first, each in a transaction behind the ledger's lock: what a piece has
 * planned is posted while the next one is planned.
 * @param pieceSlots for tests: smaller pieces
 */
export async function planDueTasks(
  db: Database,
  budget: OverallBudget,
  enqueuePosts: EnqueuePosts,
  pieceSlots = TIMINGS.planSlots,
): Promise<PlanSummary> {
  await openTwins(db)
  await queueDueSlots(db)
  let summary: PlanSummary = { due: 0, planned: 0, plannedMicros: 0, cut: 0, cutMicros: 0, posts: 0 }
  let passed = NOTHING_PASSED
  let after = FIRST_PLACE
  for (;;) {
    const piece: PlannedPiece = await planPiece(
      db,
      { after, pieceSlots },
      { ...budget, passed },
      enqueuePosts,
    )
    summary = addUp(summary, piece)
    passed = passOn(passed, piece)
    if (piece.last === null) return summary
    after = piece.last
  }
}

/** The due slots that one transaction plans. */
interface Piece {
  readonly after: DuePlace
  readonly pieceSlots: number
}

type PlannedPiece = Omit<Planned, 'postIds'> & {
  readonly posts: number
  /** Where the piece ended; null when it was the last one. */
  readonly last: DuePlace | null
}

async function planPiece(
  db: Database,
  { after, pieceSlots }: Piece,
  budget: OverallBudget & { readonly passed: PassedMoney },
  enqueuePosts: EnqueuePosts,
): Promise<PlannedPiece> {
  return withLedgerLock(db, 'Planning', async (tx) => {
    const last = await readPieceEnd(tx, after, pieceSlots)
    const prices = await readPrices(tx)
    await disableNestedLoops(tx)
    const decision = admission(tx, duePiece(tx, { after, to: last, slots: pieceSlots }), {
      ...budget,
      prices,
    })
    const { postIds, ...planned } = await planTasks(tx, tx`${decision}, ${forgetDecided(tx)}`)
    const allPostIds = [...postIds, ...(await packTasks(tx))]
    await enqueuePosts(tx, allPostIds)
    return { ...planned, posts: allPostIds.length, last }
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
  const lines = await tx<PlanLine[]>`
    with ${admission(tx, dueNow(tx), input)}
    select p.name as project, d.store, d.function, null as cut, count(*) as tasks,
      sum(share_of(d.price_micros, cardinality(d.payers), s.place))::bigint as "costMicros"
    from decided d
    cross join lateral unnest(d.payers) with ordinality as s (project_id, place) join project p on p.id = s.project_id
    where d.cut is null
    group by 1, 2, 3
    union all
    select y.project, d.store, d.function, d.cut, count(*), sum(d.price_micros)::bigint
    from payer y join decided d using (place) where d.cut is not null group by 1, 2, 3, 4
    order by 1, 2, 3, 4 nulls first`
  const [sum] = await tx<PlanTotals[]>`with ${admission(tx, dueNow(tx), input)} ${totals(tx)}`
  if (sum === undefined) throw new Error('An aggregate returned no row.')
  return { ...sum, lines }
}
