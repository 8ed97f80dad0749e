/** What was bought since a backup, read back after a restore. */
import { findJob } from '../../../jobs/index.ts'
import type { Database } from '../../db/database.ts'
import { startDeadline } from '../../deadline.ts'
import { ConfigurationError } from '../../errors.ts'
import { formatInstant } from '../../instant.ts'
import {
  adoptInstallationId,
  readBrokenRecovery,
  readRestoreState,
  standApart,
} from '../../ledger/restored.ts'
import { type RecoveredTasks, type RecoverOptions, recoverForgottenTasks } from '../../post/recover.ts'
import { describeInstallation, rangeSinceLastCharge, readInstallations } from '../../post/restored.ts'
import { type Outstanding, waitUntil } from '../../queue/cycle.ts'
import { executeJob, type JobContext } from '../../queue/job.ts'
import { startRunner } from '../../queue/runner.ts'
import { readClock } from '../../queue/scheduler.ts'
import { readFailedSince } from '../../report/status.ts'
import { formatUsd } from '../../text/money.ts'
import { formatCount } from '../../text/words.ts'
import { type CommandContext, command, flag, option } from '../command.ts'
import type { Part } from '../document.ts'
import { EXIT } from '../failure.ts'
import { duration } from '../option-values.ts'
import { createProgress } from '../progress.ts'
import { confirm, tell } from '../tell.ts'
import { service } from '../work-session.ts'

const DEFAULT_WAIT_MS = 60 * 60_000
const DAY_MS = 86_400_000

export const recover = command({
  group: 'Keep',
  summary:
    'after a restore: read back what was bought since the backup, and fetch its results; posts nothing',
  options: {
    apart: flag('this database is a new one beside others on the account; reads nothing', {
      conflicts: ['installation'],
    }),
    yes: flag('with --apart: do not ask where a recovery was broken off'),
    installation: option('<id>', 'the database that this empty one stands in for, where there are several'),
    wait: option('<duration>', 'longest wait for results, such as 90s or 45m', duration),
  },
  examples: ['storerank recover'],
  needs: service,
  run: async ({ apart, yes, installation, wait = DEFAULT_WAIT_MS }, context, { db, job }) => {
    if (apart) return { parts: [await leaveOthers(db, yes, context)] }
    const other = await chooseInstallation(job, installation)
    if (other !== undefined) tell(context, `This database takes the place of ${other}.`)
    const began = await readClock(db)
    tell(
      context,
      'Nothing is posted from this database until all is read; runners of `start` wait, and go on by ' +
        'themselves.',
    )
    const progress = createProgress(context)
    try {
      progress.phase('reading what was bought', 'what was bought is known')
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
      if (found === undefined) {
        const warning = 'Another process is recovering this database; nothing was done here.'
        return { parts: [], warnings: [warning], exitCode: EXIT.busy }
      }
      progress.phase('fetching results')
      const left = await fetchResults(job, wait)
      progress.done('results fetched')
      return { parts: await describeRecovered(db, found, left, began) }
    } finally {
      progress.stop()
    }
  },
})

/** What a recovery has read back already belongs to the database that goes on elsewhere. */
async function leaveOthers(db: Database, isWanted: boolean, context: CommandContext): Promise<string> {
  const began = await readBrokenRecovery(db.sql)
  if (began !== null && !isWanted) {
    const what =
      `A recovery that began at ${formatInstant(began)} has not ended: what it has read back stays here as ` +
      'bought, and what it has not is bought again when this database stands apart'
    const unasked = `${what}. Nothing was changed: run \`storerank recover\` to its end, or say --yes.`
    if (!(await confirm(`${what}. Go on?`, unasked, context))) return 'Nothing was changed.'
  }
  await standApart(db)
  return 'This database stands apart: tasks of other storeranks on the account are left to them.'
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

/** One recovery at a time, recorded in `job_run`. Undefined where another process has it. */
async function runLocked(
  context: JobContext,
  told: Pick<RecoverOptions, 'onProgress' | 'onWait'>,
): Promise<RecoveredTasks | undefined> {
  let found: RecoveredTasks | undefined
  await executeJob(context, {
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
  })
  return found
}

/** Fetches until nothing is awaited, or the time is over. Returns how many results are not there yet. */
async function fetchResults(context: JobContext, waitMs: number): Promise<number> {
  await startRunner(context, [], 'results')
  using wait = startDeadline(waitMs, 'The wait for results is over.')
  const isFetched = ({ posted }: Outstanding) => posted === 0
  const { posted } = await waitUntil(isFetched, context, [findJob('collect')], wait.signal)
  return posted
}

async function describeRecovered(
  db: Database,
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
