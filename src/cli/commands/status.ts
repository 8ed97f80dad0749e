/** Runs, backlog, budgets and problems; or only what is wrong. */
import { setTimeout as sleep } from 'node:timers/promises'
import { JOBS } from '../../../jobs/index.ts'
import { describeOutage } from '../../account/service-status.ts'
import type { Database } from '../../db/database.ts'
import { describeHolder, readLockHolders } from '../../db/lock-holder.ts'
import { UnavailableError } from '../../errors.ts'
import { redactSecrets } from '../../log.ts'
import { findTroubles, readFigures } from '../../monitor/figures.ts'
import { readOutstanding } from '../../queue/cycle.ts'
import { listNextTicks } from '../../queue/scheduler.ts'
import { listBacklog, readLastRuns, readProblems } from '../../report/status.ts'
import { formatUsd } from '../../text/money.ts'
import { describeTrouble } from '../../trouble.ts'
import { type CommandContext, command, flag } from '../command.ts'
import { withDatabase } from '../database-session.ts'
import { type Document, heading, more, type Part, table } from '../document.ts'
import { describeFailure } from '../failure.ts'
import { describeAttempts, describeUnknown } from '../run-report.ts'
import { warn } from '../tell.ts'

const PROBLEMS_SHOWN = 20
/** What monitoring systems take for "unknown". */
const CANNOT_TELL = 2
/** Those of Nagios wait ten seconds, the start of the process among them. */
const CHECK_WITHIN_MS = 9_000
const MOST_START_MS = 3_000
const ASK_MS = 1_500

export const status = command({
  group: 'Look',
  summary: 'show the last runs, the backlog, the budgets, the problems and the next ticks',
  options: {
    json: flag('print JSON instead of tables'),
    check: flag('print only what is wrong; exit with 0 (nothing), 1 (something) or 2 (it cannot be told)'),
  },
  examples: ['storerank status --check'],
  run: async ({ check }, context) => (check ? checkStatus(context) : showStatus(context)),
})

function showStatus(context: CommandContext): Promise<Document> {
  return withDatabase(context, async ({ db }) => {
    const status = await readStatus(db, context)
    return { data: describeForPrograms(status), parts: describeStatus(status) }
  })
}

/**
 * One line for each thing that is wrong. It answers within its time, whatever the database does.
 * @param withinMs for tests
 */
export async function checkStatus(
  context: CommandContext,
  withinMs = CHECK_WITHIN_MS - Math.min(performance.now(), MOST_START_MS),
): Promise<Document | number> {
  const looked: { db?: Database } = {}
  const over = new AbortController()
  const look = withDatabase(context, async ({ db }) => {
    looked.db = db
    const troubles = findTroubles(await readFigures(db, context.config))
    return {
      data: { troubles },
      parts: troubles.map(({ kind, message }) => `${kind}: ${message}`),
      exitCode: troubles.length > 0 ? 1 : 0,
    }
  })
  try {
    return await Promise.race([look, failWhenLate(looked, withinMs, over.signal)])
  } catch (error) {
    if (context.signal.aborted) throw error
    const isDebug = context.log.isLevelEnabled('debug')
    const message = describeFailure(describeTrouble(error) ?? error, isDebug)
    warn(context, `unknown: ${redactSecrets(message)}`)
    return CANNOT_TELL
  } finally {
    over.abort()
  }
}

/** Never resolves. What keeps our statements waiting is asked on a connection of its own. */
async function failWhenLate(
  looked: { db?: Database },
  withinMs: number,
  signal: AbortSignal,
): Promise<never> {
  await sleep(withinMs - ASK_MS, undefined, { signal })
  const holders = looked.db === undefined ? [] : readLockHolders(looked.db.permits, null)
  const [holder] = await Promise.race([holders, sleep(ASK_MS, [], { signal })]).catch(() => [])
  const why =
    holder === undefined
      ? ''
      : ` ${describeHolder(holder)} holds a lock for which it waits: ` +
        `select pg_terminate_backend(${holder.pid}) ends that session.`
  throw new UnavailableError(`The database did not answer within ${Math.round(withinMs / 1000)} s.${why}`)
}

type Status = Awaited<ReturnType<typeof readStatus>>

async function readStatus(db: Database, context: CommandContext) {
  const figures = await readFigures(db, context.config)
  return {
    troubles: findTroubles(figures),
    runs: await readLastRuns(db),
    backlog: listBacklog(Object.values(figures.work)),
    service: figures.service,
    outstanding: await readOutstanding(db, context.config.reconcileQuietMs),
    budgets: figures.budgets,
    problems: await readProblems(db, PROBLEMS_SHOWN),
    nextTicks: listNextTicks(JOBS),
  }
}

/** The words for a budget may change; a program goes by `setBy`, `project` and `period`. */
function describeForPrograms(status: Status) {
  return { ...status, budgets: status.budgets.map(({ budget: _, scope: _scope, ...line }) => line) }
}

function describeStatus(status: Status): Part[] {
  const { troubles, service, problems, outstanding } = status
  const backlog = status.backlog.map((each) => ({
    ...each,
    state: each.state === 'budget_cut' ? 'cut by the budget' : each.state,
  }))
  const { waiting, nextAttemptAt, outage } = outstanding
  const where = ': select * from watch_problem; select * from task_problem;'
  return [
    chapter('Problems', troubles, 'None was found.'),
    chapter('Jobs', listJobs(status), ''),
    chapter('Backlog', backlog, 'Nothing is outstanding.'),
    waiting > 0 && `${describeAttempts(waiting, nextAttemptAt)}.`,
    describeUnknown(outstanding),
    chapter('Service (what it says is not well)', service, 'No outage is known.'),
    outage !== null &&
      `${describeOutage(outage)} Nothing is posted until it is over; what is planned stays planned.`,
    describeBudgets(status),
    chapter('Watches and tasks', problems.lines, 'Nothing is wrong with them.'),
    more(problems.total - problems.lines.length, `${problems.isMore ? ' at least' : ''}${where}`),
  ]
}

function chapter(title: string, rows: readonly object[], empty: string): Part {
  return [heading(title), rows.length === 0 ? empty : table(rows)]
}

function listJobs({ runs, nextTicks }: Status): object[] {
  return JOBS.map(({ name }) => {
    const last = runs.find((run) => run.job === name)
    return {
      job: name,
      'last run': last?.state ?? 'never',
      at: last?.endedAt ?? last?.slot ?? null,
      seconds: last?.seconds ?? null,
      'next tick of start': nextTicks.find(({ job }) => job === name)?.at ?? null,
      error: last?.error ?? '',
    }
  })
}

function describeBudgets({ budgets }: Status): Part {
  const rows = budgets.map(({ budget, limitMicros, usedMicros }) => ({
    budget,
    limit: formatUsd(limitMicros),
    used: formatUsd(usedMicros),
    left: formatUsd(limitMicros - usedMicros),
  }))
  return [
    chapter('Budgets (used includes what is reserved)', rows, 'None is set.'),
    budgets.map(({ warning }) => warning),
  ]
}
