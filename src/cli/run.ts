/** What `storerank run` does: the whole cycle until nothing is outstanding, or the named jobs once. */
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findJob, JOBS } from '../../jobs/index.ts'
import { readWrongClock } from '../ledger/clock.ts'
import { countSendingPosts } from '../ledger/posts.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../monitor/metrics.ts'
import { type CycleResult, readOutstanding, runCycle, waitForDeliveries } from '../queue/cycle.ts'
import { BUSY, executeJob, type PhaseWords } from '../queue/job.ts'
import { startRunner } from '../queue/runner.ts'
import { describeSpentAccount, readBusinessTime } from '../report/money.ts'
import { writeWholeFile } from '../report/write-file.ts'
import { formatCount } from '../text/words.ts'
import { insertExampleWatchlist } from '../watch/example.ts'
import type { CommandContext } from './command.ts'
import type { Document } from './document.ts'
import { EXIT, exitCodeOf } from './exit-codes.ts'
import { describeHeld, describeWaiting } from './outstanding.ts'
import { createProgress, type Progress } from './progress.ts'
import { describeBriefly, describeRun } from './run-report.ts'
import { openWorkSession, type WorkSession } from './session.ts'

/** Normal priority takes minutes, up to 45 (docs/service.md: pace of completion). */
const DEFAULT_WAIT_MS = 60 * 60_000
const LOOK_EVERY_MS = 100

interface RunOptions {
  /** None: the whole cycle. */
  readonly jobs: readonly string[]
  /** Milliseconds. */
  readonly wait?: number
  /** A file. */
  readonly metrics?: string
  /** Says in a line what was done. */
  readonly brief?: boolean
}

export async function run(options: RunOptions, caller: CommandContext): Promise<Document> {
  const context = { ...caller, log: quietWhereShown(caller, options.brief) }
  const ended = await runOnce(options, context)
  const { heartbeatUrl, proxy } = context.config
  if (!ended.exitCode && heartbeatUrl !== null)
    await (await import('../monitor/heartbeat.ts')).sendHeartbeat(heartbeatUrl, context.log, proxy)
  return ended
}

async function runOnce(
  { jobs, wait, metrics: file, brief }: RunOptions,
  context: CommandContext,
): Promise<Document> {
  const session = await openWorkSession(context).catch(async (error: unknown) => {
    if (file !== undefined) await writeNoFigures(file, context)
    throw error
  })
  const progress = createProgress(context)
  const waitMs = wait ?? DEFAULT_WAIT_MS
  let metrics: Metrics | null = null
  try {
    if (file !== undefined) metrics = (await import('./monitor.ts')).openMetrics(session.job, true)
    // Results are counted from here on.
    await metrics?.read()
    return jobs.length > 0
      ? await runJobs(session, jobs, waitMs, context)
      : await runWholeCycle(session, progress, { waitMs, brief }, context)
  } finally {
    progress.stop()
    try {
      await session.drain()
      if (context.signal.aborted) await explainStop(session, context)
    } finally {
      await endRun(session, metrics, file)
    }
  }
}

/** The figures are written whatever became of the run. */
async function endRun(session: WorkSession, metrics: Metrics | null, file = ''): Promise<void> {
  try {
    if (metrics !== null) await writeWholeFile(resolve(file), await metrics.render(), 'of folder')
  } finally {
    await session.close()
  }
}

/** A run that cannot begin has no figures, and those of an earlier one would look like its own. */
async function writeNoFigures(file: string, { log }: CommandContext): Promise<void> {
  try {
    const { renderNoFigures } = await import('../monitor/metrics.ts')
    await writeWholeFile(resolve(file), await renderNoFigures(), 'of folder')
  } catch (err) {
    log.error({ err }, 'the file of metrics cannot be written')
  }
}

/** On a terminal the progress line says what jobs do, of a brief run its end; log lines are for pipes. */
function quietWhereShown({ log, isTerminal }: CommandContext, isBrief = false): Logger {
  return (isTerminal || isBrief) && log.level === 'info' ? log.child({}, { level: 'warn' }) : log
}

async function runJobs(
  session: WorkSession,
  names: readonly string[],
  waitMs: number,
  { stdout, signal }: CommandContext,
): Promise<Document> {
  const jobs = names.map(findJob)
  const posts = jobs.some(({ enqueues }) => enqueues === 'posts')
  const messages = jobs.some(({ enqueues }) => enqueues === 'messages')
  const works = posts ? 'posts' : messages ? 'messages' : null
  const runner = works === null ? null : await startRunner(session.job, [], works)
  for (const job of jobs) {
    const summary = await executeJob(session.job, job)
    if (summary === BUSY) {
      const warning = `Another runner has the job ${job.name}; nothing was done here.`
      return { parts: [], warnings: [warning], exitCode: EXIT.busy }
    }
    stdout.write(`${job.name}: ${JSON.stringify(summary)}\n`)
  }
  const deadlineMs = performance.now() + waitMs
  while (posts && (await session.job.queue.countOpen()) > 0 && performance.now() < deadlineMs) {
    await sleep(LOOK_EVERY_MS, undefined, { signal })
  }
  if (messages) await waitForDeliveries(session.job)
  if (!posts) return { parts: [] }
  const outstanding = await readOutstanding(session.db, session.job.settings.reconcileQuietMs)
  return { parts: [], ...(await explainHeld(session, { refusal: runner?.refusal ?? null, outstanding })) }
}

async function runWholeCycle(
  session: WorkSession,
  progress: Progress,
  { waitMs, brief }: { readonly waitMs: number; readonly brief: boolean | undefined },
  context: CommandContext,
): Promise<Document> {
  const began = await readBusinessTime(session.db)
  if (
    session.embedded !== null &&
    session.sandboxUrl !== null &&
    (await insertExampleWatchlist(session.db))
  ) {
    progress.done('an example watchlist was put into the empty watch tables')
  }
  const runner = await startRunner(session.job, [])
  const phases = createPhases(progress)
  const result = await runCycle(session.job, runner, JOBS, {
    waitMs,
    onPhase: phases.begin,
    onTrouble: phases.fail,
    onProgress: (outstanding) => {
      const { posted, stored } = runner.progress
      const { planned, posting, posted: waiting } = outstanding
      const text =
        `${formatCount(posted)} posted · ${formatCount(stored)} stored · ` +
        `${formatCount(planned + posting + waiting)} to go`
      progress.update(text, { posted, stored, planned, posting, waiting })
    },
  })
  phases.end(result)
  const parts = brief
    ? [await describeBriefly(session, runner, began)]
    : await describeRun(session, result, began, context.config)
  return { parts, ...(await explainHeld(session, result)) }
}

/** Why planned tasks are not posted or nothing can be bought, if it is so, with the exit code. */
async function explainHeld(
  { db, job }: WorkSession,
  { refusal, outstanding }: Pick<CycleResult, 'refusal' | 'outstanding'>,
): Promise<Pick<Document, 'warnings' | 'exitCode'>> {
  const held = refusal?.message ?? describeHeld(outstanding) ?? (await readWrongClock(db.sql))
  if (held !== null) return { warnings: [held], exitCode: exitCodeOf(refusal) }
  const spent = await describeSpentAccount(db, job.settings.budget)
  return spent === null ? {} : { warnings: [spent], exitCode: EXIT.outOfMoney }
}

function createPhases(progress: Progress) {
  let current: PhaseWords | null = null
  const finish = () => {
    if (current !== null) progress.done(current.done)
  }
  return {
    begin: (words: PhaseWords) => {
      finish()
      current = words
      progress.phase(words.doing)
    },
    fail: (problem: string) => {
      current = null
      progress.fail(problem)
    },
    end: ({ outstanding }: CycleResult) => {
      const waiting = describeWaiting(outstanding)
      if (waiting === null) finish()
      else progress.fail(waiting)
    },
  }
}

/** After SIGTERM or Ctrl-C: what is settled, and what is not. */
async function explainStop({ db, job }: WorkSession, context: CommandContext): Promise<void> {
  const { unknownPosts } = await readOutstanding(db, job.settings.reconcileQuietMs)
  const unanswered = unknownPosts + (await countSendingPosts(db.sql, job.runner))
  context.stderr.write(
    unanswered === 0
      ? 'Stopped. What was sent is settled; the next run goes on where this one ended.\n'
      : `Stopped. ${unanswered} posts have no answer: they are unknown, and no run posts them again ` +
          'before it has looked for them at the service.\n',
  )
}
