/** What `storerank recover` does: reads back, after a restore, what was bought since the backup. */
import { setTimeout as sleep } from 'node:timers/promises'
import { findJob } from '../../jobs/index.ts'
import type { Database } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import { formatInstant } from '../instant.ts'
import { adoptInstallationId, readBrokenRecovery, readRestoreState, standApart } from '../ledger/restored.ts'
import {
  type RecoveredTasks,
  recoverForgottenTasks,
  type RecoverOptions as TasksOptions,
} from '../post/recover.ts'
import { describeInstallation, rangeSinceLastCharge, readInstallations } from '../post/restored.ts'
import { readOutstanding } from '../queue/cycle.ts'
import { BUSY, executeJob, type Job, type JobContext } from '../queue/job.ts'
import { startRunner } from '../queue/runner.ts'
import { readFailedSince } from '../report/status.ts'
import { formatUsd } from '../text/money.ts'
import { formatCount } from '../text/words.ts'
import type { CommandContext } from './command.ts'
import { confirm } from './confirm.ts'
import type { Document, Part } from './document.ts'
import { EXIT } from './exit-codes.ts'
import { createProgress } from './progress.ts'
import type { WorkSession } from './session.ts'
import { tell } from './tell.ts'

const DEFAULT_WAIT_MS = 60 * 60_000
const LOOK_EVERY_MS = 200
const COLLECT_EVERY_MS = 5_000
const DAY_MS = 86_400_000

interface RecoverOptions {
  /** Other storeranks go on on the account. */
  readonly apart: boolean
  /** Without asking. */
  readonly yes: boolean
  /** The one that an empty database stands in for. */
  readonly installation?: string
  /** Milliseconds. */
  readonly wait?: number
}

export async function recover(
  { db, job }: WorkSession,
  options: RecoverOptions,
  context: CommandContext,
): Promise<Document> {
  const progress = createProgress(context)
  try {
    if (options.apart) return await leaveOthers(db, options, context)
    const other = await chooseInstallation(job, options.installation)
    if (other !== undefined) tell(context, `This database takes the place of ${other}.`)
    const [clock] = await db.sql<{ now: Date }[]>`select clock_timestamp() as now`
    const began = clock?.now ?? new Date()
    tell(
      context,
      'Nothing is posted from this database until all is read; runners of `start` wait, and go on by ' +
        'themselves.',
    )
    progress.phase('reading what was bought')
    const found = await runLocked(job, {
      onProgress: (readTo, recovered) =>
        progress.update(`read to ${formatInstant(readTo)} · ${formatCount(recovered)} recovered`, {
          recovered,
        }),
      onWait: (until, why) => {
        const waits = `waits until ${formatInstant(until)}: ${why}`
        progress.update(waits, { waitsUntil: until.toISOString() })
        tell(context, `This ${waits}. It may be broken off, and run again.`)
      },
    })
    if (found === BUSY) {
      const warning = 'Another process is recovering this database; nothing was done here.'
      return { parts: [], warnings: [warning], exitCode: EXIT.busy }
    }
    progress.done('what was bought is known')
    progress.phase('fetching results')
    const left = await fetchResults(job, options.wait ?? DEFAULT_WAIT_MS)
    progress.done('results fetched')
    return { parts: await describeRecovered(job, found, left, began) }
  } finally {
    progress.stop()
  }
}

/** What a recovery has read back already belongs to the database that goes on elsewhere. */
async function leaveOthers(
  db: Database,
  { yes }: RecoverOptions,
  context: CommandContext,
): Promise<Document> {
  const began = await readBrokenRecovery(db.sql)
  if (began !== null && !yes) {
    const what =
      `A recovery that began at ${formatInstant(began)} has not ended: what it has read back stays here as ` +
      'bought, and what it has not is bought again when this database stands apart'
    const unasked = `${what}. Nothing was changed: run \`storerank recover\` to its end, or say --yes.`
    if (!(await confirm(`${what}. Go on?`, unasked, context))) return { parts: ['Nothing was changed.'] }
  }
  await standApart(db)
  return {
    parts: ['This database stands apart: tasks of other storeranks on the account are left to them.'],
  }
}

/**
 * A database that never bought anything takes the place of the one that posted the account's tasks.
 * @returns of which, for people; undefined where it is itself
 */
async function chooseInstallation({ db, client, signal }: JobContext, wanted?: string) {
  const state = await readRestoreState(db.sql)
  if (state.lastChargeAt !== null) {
    if (wanted === undefined || wanted === state.installation) return
    throw new ConfigurationError(
      `This database has bought by itself as ${state.installation}, so it cannot take the place of ` +
        `${wanted}. Use an empty database.`,
    )
  }
  const found = await readInstallations(client, await rangeSinceLastCharge(client, state), signal)
  const chosen = wanted ?? (found.length === 1 ? found[0]?.installation : undefined)
  if (chosen !== undefined) {
    await db.begin((tx) => adoptInstallationId(tx, chosen))
    const known = found.find(({ installation }) => installation === chosen)
    return known === undefined ? chosen : describeInstallation(known)
  }
  if (found.length === 0) return
  throw new ConfigurationError(
    'Several databases of storerank have posted tasks on this account. Name the one that this database ' +
      `stands in for with --installation:\n  ${found.map(describeInstallation).join('\n  ')}`,
  )
}

/** One recovery at a time, recorded in `job_run`. */
async function runLocked(
  context: JobContext,
  told: Pick<TasksOptions, 'onProgress' | 'onWait'>,
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
      found = await recoverForgottenTasks(db, client, { ...quiet, ...told, log, signal })
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

async function describeRecovered(
  { db }: JobContext,
  { from, to, recovered, netMicros, duplicates, unreadable }: RecoveredTasks,
  left: number,
  began: Date,
): Promise<Part[]> {
  const failed = await readFailedSince(db, began)
  const cost = `they cost ${formatUsd(netMicros)}, and are charged now`
  return [
    `The service's list was read from ${formatInstant(from)} to ${formatInstant(to)}. ` +
      (recovered === 0
        ? 'Nothing in it was missing here.'
        : `${formatCount(recovered)} tasks were not known here: ${cost}.`),
    duplicates > 0 &&
      `${formatCount(duplicates)} of them were paid for beside another task; ` +
        '`storerank status` lists them.',
    unreadable > 0 &&
      `Of ${formatCount(unreadable)} more the list does not say what they measured: they are charged ` +
        'nowhere, and the audit lists them.',
    failed.map(({ problem, tasks }) => `${formatCount(tasks)} results cannot be had any more: ${problem}`),
    left > 0 && `${formatCount(left)} results are not there yet; the next run collects them.`,
    left === 0 && recovered > 0 && 'All other results are in the history.',
    'Posting goes on with the next run.',
  ]
}
