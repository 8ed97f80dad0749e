/** The whole cycle until nothing is outstanding, or the named jobs once. */
import { resolve } from 'node:path'
import { findJob, JOBS } from '../../../jobs/index.ts'
import { readWrongClock } from '../../ledger/lock.ts'
import { countSendingPosts } from '../../ledger/release.ts'
import { sendHeartbeat } from '../../monitor/heartbeat.ts'
import { createMetrics, renderNoFigures } from '../../monitor/metrics.ts'
import { type CycleResult, readOutstanding, runCycle, waitForJobs } from '../../queue/cycle.ts'
import { BUSY, executeJob } from '../../queue/job.ts'
import { startRunner } from '../../queue/runner.ts'
import { describeSpentAccount, readBusinessTime } from '../../report/money.ts'
import { writeWholeFile } from '../../report/write-file.ts'
import { formatCount } from '../../text/words.ts'
import { insertExampleWatchlist } from '../../watch/example.ts'
import { argument, type CommandContext, command, flag, type Given, option } from '../command.ts'
import type { Document } from '../document.ts'
import { EXIT, exitCodeOf } from '../failure.ts'
import { duration, oneOf } from '../option-values.ts'
import { createProgress, type Progress } from '../progress.ts'
import { describeBriefly, describeHeld, describeRun, describeWaiting } from '../run-report.ts'
import { warn } from '../tell.ts'
import { openWorkSession, type WorkSession } from '../work-session.ts'

/** Normal priority takes minutes, up to 45 (docs/service.md: pace of completion). */
const DEFAULT_WAIT_MS = 60 * 60_000
const NAMES = JOBS.map(({ name }) => name).sort()

const options = {
  wait: option('<duration>', 'longest wait for what is outstanding, such as 90s or 45m', duration),
  metrics: option('<file>', 'write the metrics there at the end, in the text format of Prometheus'),
  brief: flag('say in one line what was done: for cron and the journal'),
}
type Options = Partial<Given<typeof options>>

export const run = command({
  group: 'Measure',
  summary: 'run the named jobs once, or the whole cycle until nothing is outstanding',
  arguments: { jobs: argument('[job...]', `any of ${NAMES.join(', ')}`, oneOf('job', NAMES)) },
  options,
  examples: ['storerank run track collect --wait 45m'],
  run: ({ jobs, ...given }, context) => runAndTell(jobs, given, context),
})

/** The part of another command: buys whatever is due now. */
export async function buyDue(given: Options, context: CommandContext): Promise<void> {
  const { warnings = [] } = await runAndTell([], given, context)
  for (const warning of warnings) warn(context, warning)
}

/** @param jobs none: the whole cycle */
async function runAndTell(
  jobs: readonly string[],
  given: Options,
  caller: CommandContext,
): Promise<Document> {
  // On a terminal the progress line says what jobs do, of a brief run its end; log lines are for pipes.
  const isQuiet = (caller.isTerminal || given.brief) && caller.log.level === 'info'
  const context = isQuiet ? { ...caller, log: caller.log.child({}, { level: 'warn' }) } : caller
  const ended = await runOnce(jobs, given, context)
  const { heartbeatUrl, proxy } = context.config
  if (!ended.exitCode && heartbeatUrl !== null) await sendHeartbeat(heartbeatUrl, context.log, proxy)
  return ended
}

async function runOnce(
  jobs: readonly string[],
  { wait: waitMs = DEFAULT_WAIT_MS, metrics: file, brief = false }: Options,
  context: CommandContext,
): Promise<Document> {
  const session = await openWorkSession(context).catch(async (error: unknown) => {
    if (file !== undefined) await writeNoFigures(file, context)
    throw error
  })
  const progress = createProgress(context)
  const metrics =
    file === undefined ? null : createMetrics(session.db, { ...context.config, isOneRun: true }, 0)
  try {
    // Results are counted from here on.
    await metrics?.read()
    return jobs.length > 0
      ? await runJobs(session, jobs, waitMs, context)
      : await runWholeCycle(session, progress, waitMs, brief, context)
  } finally {
    progress.stop()
    try {
      await session.drain()
      if (context.signal.aborted) await explainStop(session, context)
    } finally {
      // The figures are written whatever became of the run.
      try {
        if (metrics !== null && file !== undefined) await writeFigures(file, await metrics.render())
      } finally {
        await session.close()
      }
    }
  }
}

/** A run that cannot begin has no figures, and those of an earlier one would look like its own. */
async function writeNoFigures(file: string, { log }: CommandContext): Promise<void> {
  try {
    await writeFigures(file, await renderNoFigures())
  } catch (err) {
    log.error({ err }, 'the file of metrics cannot be written')
  }
}

function writeFigures(file: string, text: string): Promise<void> {
  return writeWholeFile(resolve(file), text, 'of folder')
}

async function runJobs(
  session: WorkSession,
  names: readonly string[],
  waitMs: number,
  { stdout }: CommandContext,
): Promise<Document> {
  const jobs = names.map(findJob)
  const enqueued = new Set(jobs.map(({ enqueues }) => enqueues))
  const [posts, messages] = [enqueued.has('posts'), enqueued.has('messages')]
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
  if (posts) await waitForJobs(session.job, undefined, waitMs)
  if (messages) await waitForJobs(session.job, 'deliver')
  if (!posts) return { parts: [] }
  const outstanding = await readOutstanding(session.db, session.job.settings.reconcileQuietMs)
  return { parts: [], ...(await explainHeld(session, { refusal: runner?.refusal ?? null, outstanding })) }
}

async function runWholeCycle(
  session: WorkSession,
  progress: Progress,
  waitMs: number,
  isBrief: boolean,
  context: CommandContext,
): Promise<Document> {
  const began = await readBusinessTime(session.db)
  const isTrial = session.embedded !== null && session.sandboxUrl !== null
  if (isTrial && (await insertExampleWatchlist(session.db)))
    progress.done('an example watchlist was put into the empty watch tables')
  const runner = await startRunner(session.job, [])
  const result = await runCycle(session.job, runner, JOBS, {
    waitMs,
    onPhase: ({ doing, done }) => progress.phase(doing, done),
    onTrouble: progress.fail,
    onProgress: (outstanding) => {
      const { posted, stored } = runner.progress
      const { planned, posting, posted: waiting } = outstanding
      const text =
        `${formatCount(posted)} posted · ${formatCount(stored)} stored · ` +
        `${formatCount(planned + posting + waiting)} to go`
      progress.update(text, { posted, stored, planned, posting, waiting })
    },
  })
  const waiting = describeWaiting(result.outstanding)
  if (waiting === null) progress.finish()
  else progress.fail(waiting)
  const parts = isBrief
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
