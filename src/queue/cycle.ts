/**
 * The whole cycle of `storerank run`: references, account, plan, then posting and collecting until nothing is
 * outstanding. Several cycles at once share the work.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Outage, readPostingOutage } from '../account/service-status.ts'
import type { Database } from '../db/database.ts'
import { endStuckSessions } from '../db/lock-holder.ts'
import { refuseNewerSchema } from '../db/migrate.ts'
import { retryWhileDatabaseIsDown } from '../db/outage.ts'
import { startDeadline } from '../deadline.ts'
import { AccountError, StorerankError } from '../errors.ts'
import { readUnknownPosts, type UnknownPosts } from '../ledger/release.ts'
import { readRestoreHold } from '../ledger/restored.ts'
import { readWaitingAttempts, type WaitingAttempts } from '../ledger/task-failures.ts'
import { refuseRestored } from '../post/restored.ts'
import {
  BUSY,
  type CyclePart,
  executeJob,
  type Job,
  type JobContext,
  type JobSummary,
  type PhaseWords,
} from './job.ts'
import type { Runner } from './runner.ts'

/** What is not done yet. */
export interface Outstanding extends UnknownPosts, WaitingAttempts {
  /** Without those that wait for another attempt. */
  readonly planned: number
  readonly posting: number
  readonly posted: number
  /** Why nothing is posted; null when it may be. */
  readonly outage: Outage | null
  /** Likewise, as a sentence: this database is older than what was bought. */
  readonly restoreHold: string | null
}

export interface CycleResult {
  readonly plan: JobSummary
  readonly outstanding: Outstanding
  readonly refusal: AccountError | null
}

export interface CycleOptions {
  /** How long to wait for what is outstanding after planning. */
  readonly waitMs: number
  readonly onPhase: (words: PhaseWords) => void
  /** What went wrong in a phase, as a sentence; the cycle goes on. */
  readonly onTrouble?: (problem: string) => void
  readonly onProgress: (outstanding: Outstanding) => void
}

const LOOK_EVERY_MS = 200
/** A look at a million open tasks takes a tenth of a second: the pause after it is so many times as long. */
const PAUSES_A_LOOK = 10
/** A receiver has ten seconds for a message. */
const DELIVERY_LIMIT_MS = 30_000
const SCHEMA_EVERY_MS = 10_000
const FIRST_COLLECT_MS = 1_000
const SLOWEST_COLLECT_MS = 20_000
const MINUTE_MS = 60_000
/** Lists that are asked in haste: a small run is over before the permits of a minute are used up. */
const HASTY_LISTS = 8
/** Of the others: twenty a minute may be asked (docs/service.md), which the gate of calls keeps. */
const PAUSE_A_LIST_MS = 4_000
/** After so many refusals of the account in a row the cycle gives up. */
const MAX_REFUSALS = 3

/**
 * Runs the cycle: of each step the jobs that say so, in their order. Where a job may fail, the cycle says so
 * and goes on.
 * @throws what the other jobs throw; ConfigurationError when a newer storerank migrates the database
 *   meanwhile, or when it was restored from an older copy
 */
export async function runCycle(
  context: JobContext,
  runner: Runner,
  jobs: readonly Job[],
  options: CycleOptions,
): Promise<CycleResult> {
  const parts = listParts(jobs)
  const runStep = async (step: CyclePart['step'], over?: AbortSignal) => {
    const bounded = { ...context, ...(over && { over }) }
    for (const part of parts.filter(({ cycle }) => cycle.step === step)) await runPart(bounded, part, options)
  }
  await runStep('begin')
  await refuseRestored(context.db, context.client, context.signal)
  await runStep('tidy')
  const plan = await planOnceFree(context, findPart(parts, 'plan'), options)
  options.onPhase({ doing: 'measuring', done: 'measured' })
  using wait = startDeadline(options.waitMs, 'The wait for what is outstanding is over.')
  const signal = AbortSignal.any([context.signal, wait.signal])
  // From here on something is bought: a database that is away for a while ends no run.
  const outstanding = await retryWhileDatabaseIsDown(
    () => waitUntil((seen) => isDone(seen, runner), context, jobs, wait.signal, options.onProgress),
    signal,
  )
  await retryWhileDatabaseIsDown(() => runStep('end', wait.signal), signal)
  return { plan, outstanding, refusal: runner.refusal }
}

type Part = Job & { readonly cycle: CyclePart }

function listParts(jobs: readonly Job[]): Part[] {
  return jobs.flatMap((job) => (job.cycle === undefined ? [] : [{ ...job, cycle: job.cycle }]))
}

/** Of the steps `plan` and `collect` there is one. */
function findPart(parts: readonly Part[], step: CyclePart['step']): Part {
  const part = parts.find(({ cycle }) => cycle.step === step)
  if (part === undefined) throw new Error(`No job has the step ${step} of a cycle.`)
  return part
}

async function runPart(context: JobContext, part: Part, { onPhase, onTrouble }: CycleOptions): Promise<void> {
  const { isNeeded, words, warnOf, forgive } = part.cycle
  if (isNeeded !== undefined && !(await isNeeded(context))) return
  if (words !== undefined) onPhase(words)
  let slot: Date | null = null
  try {
    const summary = await executeJob(context, part, undefined, (begun) => {
      slot = begun
    })
    if (summary === BUSY) return
    const warning = warnOf?.(summary) ?? null
    if (warning !== null) onTrouble?.(warning)
    if (part.enqueues === 'messages' && summary.channels !== 0) await waitForJobs(context, 'deliver')
  } catch (error) {
    if (!(error instanceof Error) || context.signal.aborted) throw error
    const told = (await forgive?.(error, context)) ?? null
    if (told === null) throw error
    context.log.warn({ job: part.name, slot, problem: error.message }, 'the cycle goes on without a job')
    onTrouble?.(told)
  }
}

/** Waits until the jobs of posts and results were tried, or those of messages. */
export async function waitForJobs(
  { queue, signal }: JobContext,
  name?: 'deliver',
  mostMs = DELIVERY_LIMIT_MS,
): Promise<void> {
  const startedMs = performance.now()
  while (performance.now() - startedMs < mostMs && (await queue.countOpen(name)) > 0) {
    await sleep(LOOK_EVERY_MS, undefined, { signal })
  }
}

/** Runs the jobs of the steps `wait` and `collect` again and again, until it is so, or the time is over. */
export async function waitUntil(
  isSo: (outstanding: Outstanding) => boolean,
  context: JobContext,
  jobs: readonly Job[],
  over: AbortSignal,
  onProgress: (outstanding: Outstanding) => void = () => {},
): Promise<Outstanding> {
  const { db, signal } = context
  const parts = listParts(jobs)
  const runOrLog = createTrier(context)
  const startedMs = performance.now()
  const repeated = parts
    .filter(({ cycle }) => cycle.step === 'wait')
    .map((part) => ({ part, atMs: startedMs + (part.cycle.firstAfterMs ?? 0) }))
  const collector = createCollector(() => runOrLog(findPart(parts, 'collect')), startedMs)
  let schemaAtMs = startedMs
  try {
    for (;;) {
      const lookedMs = performance.now()
      const outstanding = await readOutstanding(db, context.settings.reconcileQuietMs)
      onProgress(outstanding)
      const nowMs = performance.now()
      const tookMs = nowMs - lookedMs
      if (isSo(outstanding) || over.aborted) return outstanding
      if (nowMs >= schemaAtMs) {
        await refuseNewerSchema(db)
        await endStuckSessions(db.sql)
        schemaAtMs = nowMs + SCHEMA_EVERY_MS
      }
      for (const each of repeated.filter(({ atMs }) => nowMs >= atMs)) {
        await runOrLog(each.part)
        each.atMs = nowMs + (each.part.cycle.everyMs ?? MINUTE_MS)
      }
      collector.look(outstanding.posted + outstanding.unknownPosts > 0, nowMs)
      await sleep(Math.max(LOOK_EVERY_MS, tookMs * PAUSES_A_LOOK), undefined, { signal })
    }
  } finally {
    await collector.end()
  }
}

/** At the pace of the ready lists, and slower while nothing comes. A failure is thrown by the next look. */
function createCollector(collect: () => Promise<JobSummary | null>, startedMs: number) {
  let going: Promise<void> | null = null
  let failure: { readonly error: unknown } | null = null
  let atMs = startedMs + FIRST_COLLECT_MS
  let idleMs = FIRST_COLLECT_MS
  let listed = 0
  const collectOnce = async () => {
    try {
      const found = await collect()
      const lists = Number(found?.lists ?? 0)
      listed += lists
      idleMs = Number(found?.handedOut ?? 0) > 0 ? FIRST_COLLECT_MS : Math.min(idleMs * 2, SLOWEST_COLLECT_MS)
      atMs = performance.now() + Math.max(idleMs, listed <= HASTY_LISTS ? 0 : lists * PAUSE_A_LIST_MS)
    } catch (error) {
      failure = { error }
    }
    going = null
  }
  return {
    look: (isAwaited: boolean, nowMs: number) => {
      if (failure !== null) throw failure.error
      if (isAwaited && going === null && nowMs >= atMs) going = collectOnce()
    },
    end: async () => {
      await going
    },
  }
}

/** When nothing can be posted, what is planned waits for another run; what is paid for is still collected. */
function isDone({ planned, posting, posted, outage, restoreHold }: Outstanding, runner: Runner): boolean {
  const isHeld = runner.refusal !== null || outage !== null || restoreHold !== null
  return posting + posted + (isHeld ? 0 : planned) === 0
}

/** Tasks by state, what unknown posts wait for, and what holds up the planned ones. */
export async function readOutstanding(db: Database, quietMs: number): Promise<Outstanding> {
  const [row] = await db.sql<Pick<Outstanding, 'planned' | 'posting' | 'posted'>[]>`
    select sum(count) filter (where kind = 'planned')::bigint
      as planned, sum(count) filter (where kind = 'posting')::bigint as posting,
      sum(count) filter (where kind = 'posted')::bigint as posted
    from open_work where kind in ('planned', 'posting', 'posted')`
  const { planned, posting, posted } = { planned: 0, posting: 0, posted: 0, ...row }
  const waits = await readWaitingAttempts(db.sql)
  const unknown = await readUnknownPosts(db.sql, quietMs)
  const outage = await readPostingOutage(db.sql)
  const restoreHold = await readRestoreHold(db.sql)
  return {
    planned: Math.max(0, planned - waits.waiting),
    posting,
    posted,
    ...waits,
    ...unknown,
    outage,
    restoreHold,
  }
}

/** Two cycles at once: the second waits for the first one's plan, and then shares its work. */
async function planOnceFree(context: JobContext, part: Part, { onPhase }: CycleOptions): Promise<JobSummary> {
  if (part.cycle.words !== undefined) onPhase(part.cycle.words)
  for (;;) {
    const plan = await executeJob(context, part)
    if (plan !== BUSY) return plan
    await sleep(LOOK_EVERY_MS, undefined, { signal: context.signal })
  }
}

/** While results are awaited, trouble of the service is no reason to give up: it may pass. */
function createTrier(context: JobContext) {
  let refusals = 0
  return async (part: Part): Promise<JobSummary | null> => {
    let slot: Date | null = null
    try {
      const summary = await executeJob(context, part, undefined, (begun) => {
        slot = begun
      })
      refusals = 0
      return summary === BUSY ? null : summary
    } catch (error) {
      if (error instanceof AccountError) refusals += 1
      if (!(error instanceof StorerankError) || refusals >= MAX_REFUSALS) throw error
      context.log.warn({ job: part.name, slot, err: error }, 'job will be tried again')
      return null
    }
  }
}
