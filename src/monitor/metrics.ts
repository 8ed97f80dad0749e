/**
 * The figures in the text format of Prometheus. They are read at most once in ten seconds, however many ask
 * how often. Figures of the database are the same in every process; those of the process itself are its own.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Database } from '../db/database.ts'
import { readProblemCounts } from '../report/status.ts'
import { TIMINGS } from '../timings.ts'
import { type Figures, type MonitorSettings, readFigures } from './figures.ts'
import { createStoredResults } from './stored-results.ts'
import { findTroubles } from './troubles.ts'

export interface Metrics {
  /** The figures, not older than they may be. */
  read(): Promise<Figures>
  /**
   * The text; when the database cannot be read it has `storerank_database_up 0` and what the process knows of
   * itself.
   */
  render(): Promise<string>
}

const FRESH_MS = 10_000
/**
 * Problems are read less often than the figures, by so many times: they take more statements, and change
 * slowly.
 */
const PROBLEMS_PAUSE_TIMES = 6
/** Half of what Prometheus waits by itself: a database that does not answer within that time is not up. */
const ANSWER_MS = 5_000
const USD = 1_000_000

/**
 * @param freshMs how old the figures may be
 * @param answerMs how long a text waits for the database
 * @param storingMs how long a transaction that stores results is waited for
 */
export function createMetrics(
  db: Database,
  settings: MonitorSettings,
  freshMs = FRESH_MS,
  answerMs = ANSWER_MS,
  storingMs = TIMINGS.ledgerHoldMs,
): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const gauges = createGauges(registry)
  const stored = createStoredResults(registry, db, storingMs)
  const problems = createProblems(registry, db, freshMs * PROBLEMS_PAUSE_TIMES)
  let latest: { readonly figures: Promise<Figures>; endedMs: number } | null = null

  // A look that hangs is waited for, and no other one begins beside it.
  const read = (): Promise<Figures> => {
    if (latest !== null && performance.now() - latest.endedMs <= freshMs) return latest.figures
    const begun = {
      figures: look(db, settings, gauges, [stored, problems]),
      endedMs: Number.POSITIVE_INFINITY,
    }
    const end = () => {
      begun.endedMs = performance.now()
    }
    begun.figures.then(end, end)
    latest = begun
    return begun.figures
  }
  return {
    read,
    render: async () => {
      const isUp = await Promise.race([
        read().then(
          () => true,
          () => false,
        ),
        sleep(answerMs, false, { ref: false }),
      ])
      if (!isUp) {
        gauges.forget()
        problems.forget()
      }
      gauges.databaseUp.set(isUp ? 1 : 0)
      const { statements, waiting } = db.load()
      gauges.statements.reset()
      gauges.statements.inc(statements)
      gauges.waiting.set(waiting)
      return registry.metrics()
    },
  }
}

/**
 * The text of a process that never had a database to ask: `storerank_database_up 0`, and nothing beside it.
 */
export async function renderNoFigures(): Promise<string> {
  const registry = new Registry()
  createDatabaseUp(registry).set(0)
  return registry.metrics()
}

function createDatabaseUp(registry: Registry): Gauge {
  return new Gauge({
    name: 'storerank_database_up',
    help: 'Whether the database was asked and answered: while it is 0, its figures are missing.',
    registers: [registry],
  })
}

async function look(
  db: Database,
  settings: MonitorSettings,
  gauges: Gauges,
  others: readonly { observe(): Promise<void> }[],
): Promise<Figures> {
  const began = performance.now()
  await db.sql`select`
  gauges.roundTrip.set((performance.now() - began) / 1000)
  const figures = await readFigures(db, settings)
  for (const other of others) await other.observe()
  gauges.set(figures)
  return figures
}

interface Sample {
  readonly value: number
  readonly labels?: Readonly<Record<string, string>>
}

interface Definition {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  read(figures: Figures): readonly Sample[]
}

const one = (value: number | null): Sample[] => (value === null ? [] : [{ value }])

const BUDGET_LABELS = ['set_by', 'project', 'period']

/** As `status --json` has them; project is empty for all together, as in the metrics of money. */
function labelsOfBudget({ setBy, project, period }: Figures['budgets'][number]) {
  return { set_by: setBy, project: project ?? '', period }
}

/**
 * Figures of the database. No label is called `job` or `instance`: Prometheus sets these two by itself, and
 * renames ours to `exported_job`.
 */
const DEFINITIONS: readonly Definition[] = [
  {
    name: 'tasks',
    help: 'Tasks that have not ended, by state.',
    labels: ['state'],
    read: ({ work }) =>
      (['planned', 'posting', 'posted'] as const).map((state) => ({ labels: { state }, value: work[state] })),
  },
  {
    name: 'due_slots',
    help:
      'Slots that are due and not measured: no plan has looked at them yet, their tasks have not ended, ' +
      'or the budget does not reach them.',
    read: ({ work }) => one(work.unplanned + work.planned + work.posting + work.posted + work.cut),
  },
  {
    name: 'unplanned_slots',
    help:
      'Slots that are due and that no plan has looked at yet: one for each watch, also where several ' +
      'share a target.',
    read: ({ work }) => one(work.unplanned),
  },
  {
    name: 'budget_cut_slots',
    help: 'Slots that are due and that the budget does not reach.',
    read: ({ work }) => one(work.cut),
  },
  {
    name: 'overdue_tasks',
    help: 'Posted tasks whose result is later than OVERDUE_AFTER.',
    read: ({ work }) => one(work.overdue),
  },
  {
    name: 'oldest_due_slot_age_seconds',
    help: 'Age of the oldest slot that is due and not measured, planned or not; 0 without one.',
    read: ({ work, at }) => one(ageS(work.oldestSlot, at) ?? 0),
  },
  {
    name: 'unknown_posts',
    help: 'Posts whose answer was lost and that are being looked for.',
    read: ({ work }) => one(work.unknownPosts),
  },
  {
    name: 'held_posts',
    help: 'Posts that are ready and not sent, for a reason that status shows.',
    read: ({ work }) => one(work.heldPosts),
  },
  {
    name: 'refused_tasks',
    help: 'Tasks that the service refused for money or the account, and that are tried again.',
    read: ({ work }) => one(work.refusedTasks),
  },
  {
    name: 'calls_last_minute',
    help: 'Calls of the service within the last minute, over all runners.',
    read: ({ callsUsed }) => one(callsUsed),
  },
  {
    name: 'calls_per_minute_allowed',
    help: 'CALLS_PER_MINUTE.',
    read: ({ callsAllowed }) => one(callsAllowed),
  },
  {
    name: 'spent_today_usd',
    help: 'Money of today, less refunds; project is empty for all together.',
    labels: ['project'],
    read: ({ money }) =>
      money.map(({ project, spentMicros }) => ({ labels: { project }, value: spentMicros / USD })),
  },
  {
    name: 'reserved_today_usd',
    help: 'Money reserved today for tasks that are not charged yet; project is empty for all together.',
    labels: ['project'],
    read: ({ money }) =>
      money.map(({ project, reservedMicros }) => ({ labels: { project }, value: reservedMicros / USD })),
  },
  {
    name: 'budget_used_usd',
    help:
      'What each budget has used, reservations included; set_by is settings, account or project, and ' +
      'project is empty for all together.',
    labels: BUDGET_LABELS,
    read: ({ budgets }) =>
      budgets.map((line) => ({ labels: labelsOfBudget(line), value: line.usedMicros / USD })),
  },
  {
    name: 'budget_allowed_usd',
    help: 'What each budget allows; labels as in budget_used_usd.',
    labels: BUDGET_LABELS,
    read: ({ budgets }) =>
      budgets.map((line) => ({ labels: labelsOfBudget(line), value: line.limitMicros / USD })),
  },
  {
    name: 'account_balance_usd',
    help: "The account's balance, as it was read last.",
    read: ({ balanceMicros }) => one(balanceMicros === null ? null : balanceMicros / USD),
  },
  {
    name: 'job_runs_last_day',
    help: 'Runs of each job within 24 hours, by how they ended.',
    labels: ['job_name', 'state'],
    read: ({ jobs }) =>
      jobs.flatMap(({ job, done, failed, missed }) =>
        Object.entries({ done, failed, missed }).map(([state, value]) => ({
          labels: { job_name: job, state },
          value,
        })),
      ),
  },
  {
    name: 'job_last_success_age_seconds',
    help: 'Since the last successful run of each job.',
    labels: ['job_name'],
    read: ({ jobs, at }) =>
      jobs.flatMap(({ job, lastSuccessAt }) => {
        const value = ageS(lastSuccessAt, at)
        return value === null ? [] : [{ labels: { job_name: job }, value }]
      }),
  },
  {
    name: 'job_last_success_timestamp_seconds',
    help: 'When the last successful run of each job ended.',
    labels: ['job_name'],
    read: ({ jobs }) =>
      jobs.flatMap(({ job, lastSuccessAt }) =>
        lastSuccessAt === null ? [] : [{ labels: { job_name: job }, value: lastSuccessAt.getTime() / 1000 }],
      ),
  },
  {
    name: 'queue_jobs',
    help: 'Jobs of the queue that have not ended.',
    labels: ['queue', 'state'],
    read: ({ queue }) =>
      queue.map(({ queue: name, state, jobs }) => ({ labels: { queue: name, state }, value: jobs })),
  },
  {
    name: 'troubles',
    help: 'What `storerank status --check` finds wrong, by kind.',
    labels: ['kind'],
    read: (figures) =>
      [...Map.groupBy(findTroubles(figures), ({ kind }) => kind)].map(([kind, { length }]) => ({
        labels: { kind },
        value: length,
      })),
  },
]

interface Gauges {
  readonly databaseUp: Gauge
  readonly roundTrip: Gauge
  readonly statements: Counter
  readonly waiting: Gauge
  set(figures: Figures): void
  /** What the database said is not known any more. */
  forget(): void
}

function createGauges(registry: Registry): Gauges {
  const gauge = (name: string, help: string, labels: readonly string[] = []) =>
    new Gauge({ name: `storerank_${name}`, help, labelNames: [...labels], registers: [registry] })
  const ofDatabase = DEFINITIONS.map(({ name, help, labels, read }) => ({
    read,
    isLabelled: labels !== undefined,
    gauge: gauge(name, help, labels),
  }))
  const roundTrip = gauge(
    'database_round_trip_seconds',
    'The time of an empty statement, with the wait for a connection.',
  )
  return {
    roundTrip,
    databaseUp: createDatabaseUp(registry),
    statements: new Counter({
      name: 'storerank_database_statements_total',
      help: 'Statements and transactions of this process since it began.',
      registers: [registry],
    }),
    waiting: gauge('database_pool_waiting', 'Statements of this process that wait for a connection.'),
    set: (figures) => {
      for (const each of ofDatabase) {
        each.gauge.reset()
        for (const { labels = {}, value } of each.read(figures)) each.gauge.set(labels, value)
      }
    },
    // A gauge without labels is 0 after a reset, which would say that all is well.
    forget: () => {
      for (const each of ofDatabase) {
        if (each.isLabelled) each.gauge.reset()
        else each.gauge.remove()
      }
      roundTrip.remove()
    },
  }
}

/** The problems that `status` shows, and those of audits. */
function createProblems(registry: Registry, db: Database, freshMs: number) {
  const gauge = new Gauge({
    name: 'storerank_problems',
    help:
      'Rows of watch_problem, task_problem and audit_problem by kind, up to 1,000 of a kind; kinds ' +
      'without a row have no series.',
    labelNames: ['view', 'kind'],
    registers: [registry],
  })
  let readMs = Number.NEGATIVE_INFINITY
  return {
    observe: async () => {
      if (performance.now() - readMs < freshMs) return
      const counts = await readProblemCounts(db)
      gauge.reset()
      for (const { view, kind, count } of counts) gauge.set({ view, kind }, count)
      readMs = performance.now()
    },
    forget: () => {
      gauge.reset()
      readMs = Number.NEGATIVE_INFINITY
    },
  }
}

function ageS(instant: Date | null, now: Date): number | null {
  return instant === null ? null : Math.max(0, (now.getTime() - instant.getTime()) / 1000)
}
