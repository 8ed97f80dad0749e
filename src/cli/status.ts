/** `storerank status`: last runs, backlog, budgets, problems, next ticks; or with `--check` whether a person should see to something. */
import { JOBS } from '../../jobs/index.ts'
import { describeOutage } from '../account/service-status.ts'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { readUnknownPosts } from '../ledger/posts.ts'
import { readWaitingAttempts } from '../ledger/task-failures.ts'
import { redactSecrets, toPrintable } from '../log.ts'
import { type Figures, type MonitorSettings, readFigures } from '../monitor/figures.ts'
import { findTroubles, type Trouble } from '../monitor/troubles.ts'
import type { Outstanding } from '../queue/cycle.ts'
import { listNextTicks } from '../queue/scheduler.ts'
import { type BacklogState, listBacklog, readLastRuns, readProblems } from '../report/status.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'
import { describeDatabaseTrouble } from './database-trouble.ts'
import { describeFailure } from './failure.ts'
import { describeAttempts, formatInstant, formatMicros, printJson, printTable, type Row } from './print.ts'

const PROBLEMS_SHOWN = 20

/** What monitoring systems take for "unknown". */
const CANNOT_TELL = 2

export async function run(
  { json, check }: CommandOptions['status'],
  context: CommandContext,
): Promise<number> {
  if (check) return checkStatus(json, context)
  const session = await openDatabaseSession(context, { migrates: false })
  try {
    await requireCurrentSchema(session.db)
    const figures = await readFigures(session.db, monitorSettings(context))
    const status = {
      troubles: findTroubles(figures),
      runs: await readLastRuns(session.db),
      backlog: listBacklog(figures.open),
      service: figures.service,
      outstanding: await readOutstandingOf(session.db, figures, context.config.reconcileQuietMs),
      budgets: figures.budgets,
      problems: await readProblems(session.db, PROBLEMS_SHOWN),
      nextTicks: listNextTicks(JOBS),
    }
    if (json) printJson(describeForPrograms(status), context)
    else printStatus(status, context)
    return 0
  } finally {
    await session.close()
  }
}

/** One line for each thing that is wrong. */
async function checkStatus(json: boolean, context: CommandContext): Promise<number> {
  const { stdout, stderr } = context
  try {
    const session = await openDatabaseSession(context, { migrates: false })
    try {
      await requireCurrentSchema(session.db)
      const troubles = findTroubles(await readFigures(session.db, monitorSettings(context)))
      if (json) printJson({ troubles }, context)
      else for (const { kind, message } of troubles) stdout.write(`${kind}: ${message}\n`)
      return troubles.length > 0 ? 1 : 0
    } finally {
      await session.close()
    }
  } catch (error) {
    if (context.signal.aborted) throw error
    const isDebug = context.log.isLevelEnabled('debug')
    const message = describeFailure(describeDatabaseTrouble(error) ?? error, isDebug)
    stderr.write(`unknown: ${toPrintable(redactSecrets(message))}\n`)
    return CANNOT_TELL
  }
}

/** What the figures have counted is not counted again: of a million tasks that takes a tenth of a second. */
async function readOutstandingOf(
  db: Database,
  { work: { planned, posting, posted }, outage, restoreHold }: Figures,
  quietMs: number,
): Promise<Outstanding> {
  const waits = await readWaitingAttempts(db.sql)
  const unknown = await readUnknownPosts(db.sql, quietMs)
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

function monitorSettings({ config: { budget, callsPerMinute } }: CommandContext): MonitorSettings {
  return { budget, callsPerMinute, jobs: JOBS.map((job) => job.name) }
}

type Status = {
  readonly troubles: readonly Trouble[]
  readonly runs: Awaited<ReturnType<typeof readLastRuns>>
  readonly backlog: ReturnType<typeof listBacklog>
  readonly service: Figures['service']
  readonly outstanding: Outstanding
  readonly budgets: Figures['budgets']
  readonly problems: Awaited<ReturnType<typeof readProblems>>
  readonly nextTicks: ReturnType<typeof listNextTicks>
}

/** What people call a budget may be worded otherwise one day; a program goes by `setBy`, `project` and `period`. docs/operations.md: Status as JSON. */
function describeForPrograms(status: Status) {
  return { ...status, budgets: status.budgets.map(({ budget: _, ...line }) => line) }
}

const BACKLOG_WORDS: Readonly<Record<BacklogState, string>> = {
  planned: 'planned',
  posting: 'posting',
  posted: 'posted',
  budget_cut: 'cut by the budget',
}

function printStatus(status: Status, context: CommandContext): void {
  const { stdout } = context
  const section = (title: string, rows: readonly object[], empty: string) => {
    stdout.write(`\n${title}\n`)
    if (rows.length === 0) stdout.write(`${empty}\n`)
    else
      printTable(
        rows as readonly Row[],
        Object.keys(rows[0] ?? {}).map((key) => ({ key })),
        context,
      )
  }
  section('Wrong', status.troubles, 'Nothing that was looked at.')
  const ticks = new Map(status.nextTicks.map((tick) => [tick.job, tick.at]))
  const runs = JOBS.map((job) => {
    const last = status.runs.find((run) => run.job === job.name)
    return {
      job: job.name,
      'last run': last?.state ?? 'never',
      at: last?.endedAt ?? last?.slot ?? null,
      seconds: last?.seconds ?? null,
      'next tick of start': ticks.get(job.name) ?? null,
      error: last?.error ?? '',
    }
  })
  section('Jobs', runs, '')
  const backlog = status.backlog.map((line) => ({ ...line, state: BACKLOG_WORDS[line.state] }))
  section('Backlog', backlog, 'Nothing is outstanding.')
  const { waiting, nextAttemptAt, unknownPosts, waitsUntil, outage } = status.outstanding
  if (waiting > 0) stdout.write(`${describeAttempts(waiting, nextAttemptAt)}.\n`)
  if (unknownPosts > 0) {
    stdout.write(
      `${unknownPosts} posts are unknown: their answer was lost. They are looked for at the service, and released at ${waitsUntil === null ? 'the next scan' : formatInstant(waitsUntil)} at the earliest.\n`,
    )
  }
  section('Service (what it says is not well)', status.service, 'All is well, as far as it was asked.')
  if (outage !== null) {
    stdout.write(
      `${describeOutage(outage)} Nothing is posted until it is over; what is planned stays planned.\n`,
    )
  }
  const budgets = status.budgets.map((line) => ({
    budget: line.budget,
    limit: formatMicros(line.limitMicros),
    used: formatMicros(line.usedMicros),
    left: formatMicros(line.limitMicros - line.usedMicros),
  }))
  section('Budgets (used includes what is reserved)', budgets, 'None is set.')
  for (const { warning } of status.budgets) if (warning !== null) stdout.write(`${warning}\n`)
  section('Problems', status.problems.lines, 'None.')
  const hidden = status.problems.total - status.problems.lines.length
  if (hidden > 0)
    stdout.write(
      `… and ${status.problems.isMore ? 'at least ' : ''}${hidden} more: select * from watch_problem; select * from task_problem;\n`,
    )
}
