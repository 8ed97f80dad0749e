/** `storerank recover`: after a restore, reads back what was bought since the backup, and fetches its results. Posts nothing. */
import { setTimeout as sleep } from 'node:timers/promises'
import { findJob } from '../../jobs/index.ts'
import { ConfigurationError } from '../errors.ts'
import { readRestoreState, standApart, takeOver } from '../ledger/restored.ts'
import { type RecoveredTasks, recoverForgottenTasks } from '../post/recover.ts'
import { type Installation, rangeSinceLastCharge, readInstallations } from '../post/restored.ts'
import { readOutstanding } from '../queue/cycle.ts'
import { BUSY, executeJob, type Job, type JobContext } from '../queue/job.ts'
import { startRunner } from '../queue/runner.ts'
import { readFailedSince } from '../report/status.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { EXIT } from './exit-codes.ts'
import { formatCount, formatInstant, formatMicros } from './print.ts'
import { createProgress } from './progress.ts'
import { openWorkSession } from './session.ts'
import { tell } from './tell.ts'

const DEFAULT_WAIT_MS = 60 * 60_000
const LOOK_EVERY_MS = 200
const COLLECT_EVERY_MS = 5_000
const DAY_MS = 86_400_000

export async function run(options: CommandOptions['recover'], context: CommandContext): Promise<number> {
  const session = await openWorkSession(context)
  const progress = createProgress(context)
  try {
    if (options.apart) {
      await standApart(session.db.sql)
      context.stdout.write(
        'This database stands apart: tasks of other storeranks on the account are left to them.\n',
      )
      return 0
    }
    await chooseInstallation(session.job, options.installation)
    const [clock] = await session.db.sql<{ now: Date }[]>`select clock_timestamp() as now`
    const began = clock?.now ?? new Date()
    tell(
      context,
      'Nothing is posted from this database until all is read; runners of `start` wait, and go on by themselves.',
    )
    progress.phase('reading what was bought')
    const found = await runLocked(session.job, (readTo, recovered) =>
      progress.update(`read to ${formatInstant(readTo)} · ${formatCount(recovered)} recovered`, {
        recovered,
      }),
    )
    if (found === BUSY) {
      context.stderr.write('Another process is recovering this database; nothing was done here.\n')
      return EXIT.busy
    }
    progress.done('what was bought is known')
    progress.phase('fetching results')
    const left = await fetchResults(session.job, options.waitMs ?? DEFAULT_WAIT_MS)
    progress.done('results fetched')
    await printRecovered(session.job, found, left, began, context)
    return 0
  } finally {
    progress.stop()
    await session.drain()
    await session.close()
  }
}

/** A database that never bought anything takes the place of the one that posted the account's tasks. */
async function chooseInstallation({ db, client, signal }: JobContext, wanted?: string): Promise<void> {
  const state = await readRestoreState(db.sql)
  if (state.lastChargeAt !== null) {
    if (wanted === undefined || wanted === state.installation) return
    throw new ConfigurationError(
      `This database has bought by itself as ${state.installation}, so it cannot take the place of ${wanted}. Use an empty database.`,
    )
  }
  const found = await readInstallations(client, await rangeSinceLastCharge(client, state), signal)
  const chosen = wanted ?? (found.length === 1 ? found[0]?.installation : undefined)
  if (chosen !== undefined) return db.begin((tx) => takeOver(tx, chosen))
  if (found.length > 0) throw new ConfigurationError(describeChoice(found))
}

function describeChoice(found: readonly Installation[]): string {
  const lines = found.map(
    ({ installation, tasks, lastPostedAt }) =>
      `  ${installation}: ${formatCount(tasks)} tasks seen, the last posted at ${formatInstant(lastPostedAt)}`,
  )
  return `Several databases of storerank have posted tasks on this account. Name the one that this database stands in for with --installation:\n${lines.join('\n')}`
}

/** One recovery at a time, recorded in `job_run`. */
async function runLocked(
  context: JobContext,
  onProgress: (readTo: Date, recovered: number) => void,
): Promise<RecoveredTasks | typeof BUSY> {
  let found: RecoveredTasks | undefined
  const job: Job = {
    name: 'recover',
    description: 'Reads back what was bought after the backup.',
    cron: '0 0 31 2 *',
    catchUp: 'none',
    timeoutMs: DAY_MS,
    run: async ({ db, client, settings, log, signal }) => {
      const quiet = { quietMs: settings.reconcileQuietMs, overdueAfterMs: settings.overdueAfterMs }
      found = await recoverForgottenTasks(db, client, { ...quiet, log, signal, onProgress })
      const { from, to, ...counts } = found
      return { ...counts, from: from.toISOString(), to: to.toISOString() }
    },
  }
  const summary = await executeJob(context, job)
  if (summary === BUSY || found === undefined) return BUSY
  return found
}

/** Fetches until nothing is awaited, or the time is over. Returns how many results are not there yet. */
async function fetchResults(context: JobContext, waitMs: number): Promise<number> {
  await startRunner(context, [], 'results')
  const startedMs = performance.now()
  let collectAtMs = startedMs
  for (;;) {
    const { posted } = await readOutstanding(context.db, context.settings.reconcileQuietMs)
    const nowMs = performance.now()
    if (posted === 0 || nowMs - startedMs > waitMs) return posted
    if (nowMs >= collectAtMs) {
      const summary = await executeJob(context, findJob('collect'))
      const isMoving = summary !== BUSY && Number(summary.handedOut) + Number(summary.overdue) > 0
      collectAtMs = performance.now() + (isMoving ? LOOK_EVERY_MS : COLLECT_EVERY_MS)
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal: context.signal })
  }
}

async function printRecovered(
  { db }: JobContext,
  found: RecoveredTasks,
  left: number,
  began: Date,
  { stdout }: CommandContext,
): Promise<void> {
  const say = (sentence: string) => stdout.write(`${sentence}\n`)
  say(
    `The service's list was read from ${formatInstant(found.from)} to ${formatInstant(found.to)}. ${
      found.recovered === 0
        ? 'Nothing in it was missing here.'
        : `${formatCount(found.recovered)} tasks were not known here: they cost ${formatMicros(found.netMicros)}, and are charged now.`
    }`,
  )
  if (found.duplicates > 0) {
    say(
      `${formatCount(found.duplicates)} of them were paid for beside another task; \`storerank status\` lists them.`,
    )
  }
  if (found.unreadable > 0) {
    say(
      `Of ${formatCount(found.unreadable)} more the list does not say what they measured: they are charged nowhere, and the audit lists them.`,
    )
  }
  for (const { problem, tasks } of await readFailedSince(db, began)) {
    say(`${formatCount(tasks)} results cannot be had any more: ${problem}`)
  }
  if (left > 0) say(`${formatCount(left)} results are not there yet; the next run collects them.`)
  else if (found.recovered > 0) say('All other results are in the history.')
  say('Posting goes on with the next run.')
}
