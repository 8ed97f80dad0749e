/**
 * The whole cycle of `storerank run`: references, account, plan, then posting and collecting until nothing is outstanding. Several
 * cycles at once share the work: a task that one has planned may be posted and collected by another.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Outage, readPostingOutage } from '../account/service-status.ts'
import type { Database } from '../db/database.ts'
import { endHalfSentSessions } from '../db/half-sent.ts'
import { refuseNewerSchema } from '../db/migrate.ts'
import { isOutage } from '../db/outage.ts'
import { AccountError, StorerankError, UnavailableError } from '../errors.ts'
import { readUnknownPosts, type UnknownPosts } from '../ledger/posts.ts'
import { readRestoreHold } from '../ledger/restored.ts'
import { readWaitingAttempts, type WaitingAttempts } from '../ledger/task-failures.ts'
import { refuseRestored } from '../post/restored.ts'
import type { AppDataClient } from '../service/client.ts'
import { MAX_READY_ROWS } from '../service/ready-list.ts'
import { areReferencesFresh } from '../watch/references.ts'
import { BUSY, executeJob, type Job, type JobContext, type JobSummary } from './job.ts'
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
  readonly onPhase: (name: string) => void
  /** What went wrong in a phase, as a sentence; the cycle goes on. */
  readonly onTrouble?: (problem: string) => void
  readonly onProgress: (outstanding: Outstanding) => void
}

const REFERENCES_FRESH_DAYS = 7
const LOOK_EVERY_MS = 200
/** A look at a million open tasks takes a tenth of a second: the pause after it is so many times as long. */
const PAUSES_A_LOOK = 10
/** A receiver has ten seconds for a message. */
const DELIVERY_LIMIT_MS = 30_000
const SWEEP_EVERY_MS = 10_000
const STATUS_EVERY_MS = 60_000
const FIRST_COLLECT_MS = 1_000
const SLOWEST_COLLECT_MS = 20_000
/** docs/service.md: tasks_ready limits; the window with its half second, as the gate keeps it. */
const LISTS_A_MINUTE = 20
const MINUTE_MS = 60_500
/** Lists that may be asked in haste, as long as they are enough for all that is awaited. */
const HASTY_LISTS = 12
/** After so many refusals of the account in a row the cycle gives up. */
const MAX_REFUSALS = 3

/**
 * Runs the cycle. When a reference list or the account cannot be had, the cycle says so and goes on.
 * @throws what the first phases throw, when the service cannot be reached or refuses the account; ConfigurationError when a
 *   newer storerank migrates the database meanwhile, or when the database was restored from an older copy
 */
export async function runCycle(
  context: JobContext,
  runner: Runner,
  jobs: readonly Job[],
  options: CycleOptions,
): Promise<CycleResult> {
  const { onPhase } = options
  const run = (name: string) => runNamed(context, jobs, name)
  if (!(await areReferencesFresh(context.db, REFERENCES_FRESH_DAYS))) {
    onPhase('references')
    const loaded = await run('references')
    const missing = loaded === BUSY ? [] : (loaded.missing as readonly string[])
    if (missing.length > 0) options.onTrouble?.(`${missing.length} reference lists could not be had.`)
  }
  onPhase('account')
  await lookAtAccount(context, jobs, options)
  await refuseRestored(context.db, context.client, context.signal)
  onPhase('plan')
  await keepHouse(context, jobs, options)
  const plan = await planOnceFree(context, jobs)
  onPhase('measure')
  const outstanding = await waitUntilDone(context, runner, jobs, options)
  await writeReports(context, jobs, options)
  await tellAlerts(context, jobs, options)
  await sumUpDay(context, jobs, options)
  return { plan, outstanding, refusal: runner.refusal }
}

/**
 * Before the plan, which then waits for nothing that was given up. What it leaves undone, such as a month that a reader
 * holds, the next run does: no failure of it but a lost database keeps the cycle from measuring.
 */
async function keepHouse(
  context: JobContext,
  jobs: readonly Job[],
  { onPhase, onTrouble }: CycleOptions,
): Promise<void> {
  try {
    await runNamed(context, jobs, 'housekeeping')
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string }
    if (context.signal.aborted || (typeof code === 'string' && isOutage(code))) throw error
    onTrouble?.(`Housekeeping did not end well, and the next run tries again: ${message}`)
    onPhase('plan')
  }
}

/** What cannot be written takes nothing away from what was measured. */
async function writeReports(
  context: JobContext,
  jobs: readonly Job[],
  { onPhase, onTrouble }: CycleOptions,
): Promise<void> {
  if (context.settings.reports === null) return
  onPhase('report')
  try {
    await runNamed(context, jobs, 'report')
  } catch (error) {
    if (!(error instanceof StorerankError)) throw error
    onTrouble?.(`The reports were not written: ${error.message}`)
  }
}

/** At the end, when the slots of the day before are closed and their results are in. */
async function sumUpDay(
  context: JobContext,
  jobs: readonly Job[],
  { onTrouble }: CycleOptions,
): Promise<void> {
  try {
    await runNamed(context, jobs, 'summary')
  } catch (error) {
    if (!(error instanceof StorerankError)) throw error
    onTrouble?.(`The day before was not summed up: ${error.message}`)
  }
}

/** What is due for the rules stays due, and what was found is kept, so that another run looks and tells where this one cannot. */
async function tellAlerts(
  context: JobContext,
  jobs: readonly Job[],
  { onPhase, onTrouble }: CycleOptions,
): Promise<void> {
  const [row] = await context.db.sql<{ some: boolean }[]>`select exists (select from alert_rule) as some`
  if (!row?.some) return
  onPhase('alerts')
  const found = await runNamed(context, jobs, 'alerts').catch((error) => {
    if (!(error instanceof StorerankError)) throw error
    onTrouble?.(`The rules of alerts were not looked at: ${error.message}`)
    return null
  })
  if (found !== null && found !== BUSY && found.channels !== 0) await waitForDeliveries(context)
}

/** Waits until the messages that are enqueued were tried, at most half a minute. */
export async function waitForDeliveries({ queue, signal }: JobContext): Promise<void> {
  const startedMs = performance.now()
  while (performance.now() - startedMs < DELIVERY_LIMIT_MS && (await queue.countOpen('deliver')) > 0) {
    await sleep(LOOK_EVERY_MS, undefined, { signal })
  }
}

/** When the account cannot be read the plan goes by what is recorded. When the service cannot be reached at all, it throws. */
async function lookAtAccount(
  context: JobContext,
  jobs: readonly Job[],
  { onTrouble }: CycleOptions,
): Promise<void> {
  const job = 'account'
  let slot: Date | null = null
  try {
    await runNamed(context, jobs, job, (begun) => {
      slot = begun
    })
  } catch (error) {
    if (!(error instanceof StorerankError) || error instanceof AccountError) throw error
    if (error instanceof UnavailableError && !(await isReachable(context.client))) throw error
    context.log.warn(
      { job, slot, problem: error.message },
      'the account could not be asked; the plan goes by what is known',
    )
    onTrouble?.('The account could not be asked; the plan goes by what is known.')
  }
}

async function isReachable(client: AppDataClient): Promise<boolean> {
  return client.getStatus().then(
    () => true,
    (error: unknown) => !(error instanceof UnavailableError),
  )
}

async function waitUntilDone(
  context: JobContext,
  runner: Runner,
  jobs: readonly Job[],
  options: CycleOptions,
): Promise<Outstanding> {
  const { db, signal } = context
  const tryNamed = createTrier(context, jobs)
  const startedMs = performance.now()
  let sweepAtMs = startedMs
  let statusAtMs = startedMs + STATUS_EVERY_MS
  const collector = createCollector(() => tryNamed('collect'), startedMs)
  try {
    for (;;) {
      const lookedMs = performance.now()
      const outstanding = await readOutstanding(db, context.settings.reconcileQuietMs)
      options.onProgress(outstanding)
      const nowMs = performance.now()
      const tookMs = nowMs - lookedMs
      if (isDone(outstanding, runner) || nowMs - startedMs > options.waitMs) return outstanding
      if (nowMs >= sweepAtMs) {
        await refuseNewerSchema(db)
        await endHalfSentSessions(db.sql)
        await tryNamed('reconcile')
        sweepAtMs = nowMs + SWEEP_EVERY_MS
      }
      if (nowMs >= statusAtMs) {
        await tryNamed('status')
        statusAtMs = nowMs + STATUS_EVERY_MS
      }
      collector.look(outstanding.posted + outstanding.unknownPosts, nowMs)
      await sleep(Math.max(LOOK_EVERY_MS, tookMs * PAUSES_A_LOOK), undefined, { signal })
    }
  } finally {
    await collector.end()
  }
}

/**
 * Collects beside the cycle, at the pace that the service allows its ready lists, and slower while nothing comes. A failure of it is
 * thrown by the next look.
 */
function createCollector(collect: () => Promise<JobSummary | null>, startedMs: number) {
  let going: Promise<void> | null = null
  let failure: { readonly error: unknown } | null = null
  let atMs = startedMs + FIRST_COLLECT_MS
  let idleMs = FIRST_COLLECT_MS
  let listedMs: number[] = []
  const collectOnce = async (awaited: number) => {
    try {
      const found = await collect()
      const nowMs = performance.now()
      listedMs.push(...new Array<number>(Number(found?.lists ?? 0)).fill(nowMs))
      listedMs = listedMs.filter((ms) => ms > nowMs - MINUTE_MS)
      idleMs = Number(found?.handedOut ?? 0) > 0 ? FIRST_COLLECT_MS : Math.min(idleMs * 2, SLOWEST_COLLECT_MS)
      atMs = nowMs + Math.max(idleMs, pauseBetweenLists(listedMs, awaited, nowMs))
    } catch (error) {
      failure = { error }
    }
    going = null
  }
  return {
    look: (awaited: number, nowMs: number) => {
      if (failure !== null) throw failure.error
      if (awaited > 0 && going === null && nowMs >= atMs) going = collectOnce(awaited)
    },
    end: async () => {
      await going
    },
  }
}

/**
 * Pure: how long to wait before the next ready list, so that the lists of a minute last for the minute.
 * @param listedMs when lists were asked in the past minute, the earliest first
 * @param awaited results that are still to be fetched
 */
export function pauseBetweenLists(listedMs: readonly number[], awaited: number, nowMs: number): number {
  const [earliest = nowMs] = listedMs
  const left = LISTS_A_MINUTE - listedMs.length
  const renewsMs = Math.max(0, earliest + MINUTE_MS - nowMs)
  if (left <= 0) return Math.ceil(renewsMs)
  const needed = Math.ceil(awaited / MAX_READY_ROWS)
  if (listedMs.length + needed <= HASTY_LISTS) return FIRST_COLLECT_MS
  return Math.max(FIRST_COLLECT_MS, Math.ceil(renewsMs / left))
}

/**
 * When the service refuses the account, or is in outage, what is planned waits for another run; what is paid for is still
 * collected. What waits for another attempt, for hours perhaps, is posted by the next run.
 */
function isDone({ planned, posting, posted, outage, restoreHold }: Outstanding, runner: Runner): boolean {
  const isHeld = runner.refusal !== null || outage !== null || restoreHold !== null
  return posting + posted + (isHeld ? 0 : planned) === 0
}

/** Tasks by state, what unknown posts wait for, and what holds up the planned ones. */
export async function readOutstanding(db: Database, quietMs: number): Promise<Outstanding> {
  const [row] = await db.sql<Pick<Outstanding, 'planned' | 'posting' | 'posted'>[]>`
    select sum(count) filter (where kind = 'planned')::bigint as planned, sum(count) filter (where kind = 'posting')::bigint as posting,
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
async function planOnceFree(context: JobContext, jobs: readonly Job[]): Promise<JobSummary> {
  for (;;) {
    const plan = await runNamed(context, jobs, 'track')
    if (plan !== BUSY) return plan
    await sleep(LOOK_EVERY_MS, undefined, { signal: context.signal })
  }
}

function runNamed(
  context: JobContext,
  jobs: readonly Job[],
  name: string,
  onBegun?: (slot: Date) => void,
): Promise<JobSummary | typeof BUSY> {
  const job = jobs.find((job) => job.name === name)
  if (job === undefined) throw new Error(`There is no job ${name}.`)
  return executeJob(context, job, undefined, onBegun)
}

/** While results are awaited, trouble of the service is no reason to give up: the next look may find it well. */
function createTrier(context: JobContext, jobs: readonly Job[]) {
  let refusals = 0
  return async (name: string): Promise<JobSummary | null> => {
    let slot: Date | null = null
    try {
      const summary = await runNamed(context, jobs, name, (begun) => {
        slot = begun
      })
      refusals = 0
      return summary === BUSY ? null : summary
    } catch (error) {
      if (error instanceof AccountError) refusals += 1
      if (!(error instanceof StorerankError) || refusals >= MAX_REFUSALS) throw error
      context.log.warn({ job: name, slot, err: error }, 'job will be tried again')
      return null
    }
  }
}
