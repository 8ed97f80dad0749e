/**
 * The figures in the text format of Prometheus. They are read at most once in ten seconds, however many ask
 * how often. Figures of the database are the same in every process; those of the process itself are its own.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Database } from '../db/database.ts'
import { nameSchema } from '../db/migrate.ts'
import { readProblemCounts } from '../report/status.ts'
import { TIMINGS } from '../timings.ts'
import type { MonitorSettings, Sample } from './figure.ts'
import { type Figures, findTroubles, METRICS, readFigures } from './figures.ts'
import { createStoredResults } from './stored-results.ts'

export interface Metrics {
  /** The figures, not older than they may be. */
  read(): Promise<Figures>
  /**
   * The text; when the database cannot be read it has `storerank_database_up 0` and what the process knows of
   * itself. When it takes no changes it has the figures, and 0 as well.
   */
  render(): Promise<string>
}

const FRESH_MS = 10_000
/** Problems are read less often than the figures: they take more statements, and change slowly. */
const PROBLEMS_PAUSE_TIMES = 6
/** Half of what Prometheus waits by itself: a database that does not answer within that time is not up. */
const ANSWER_MS = 5_000

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
  if (!settings.isOneRun) collectDefaultMetrics({ register: registry })
  showBuild(registry)
  const shown = showFigures(registry)
  const ofProcess = showProcess(registry, db)
  const stored = createStoredResults(registry, db, storingMs)
  const problems = showProblems(registry, db, freshMs * PROBLEMS_PAUSE_TIMES)
  let latest: { readonly figures: Promise<Figures>; endedMs: number } | null = null

  const look = async () => {
    await ofProcess.measureRoundTrip()
    const figures = await readFigures(db, settings)
    await stored.observe()
    await problems.observe()
    shown.set(figures)
    return figures
  }
  // A look that hangs is waited for, and no other one begins beside it.
  const read = (): Promise<Figures> => {
    if (latest !== null && performance.now() - latest.endedMs <= freshMs) return latest.figures
    const begun = { figures: look(), endedMs: Number.POSITIVE_INFINITY }
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
      const answered = read().catch(() => null)
      const figures = await Promise.race([answered, sleep(answerMs, null, { ref: false })])
      if (figures === null) for (const each of [shown, problems, ofProcess]) each.forget()
      ofProcess.set(figures?.readOnly === null)
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

function createGauge(registry: Registry, name: string, help: string, labels: readonly string[] = []) {
  return new Gauge({ name: `storerank_${name}`, help, labelNames: [...labels], registers: [registry] })
}

function createDatabaseUp(registry: Registry): Gauge {
  const help =
    'Whether the database was asked, answered, and takes changes; without an answer its figures are missing.'
  return createGauge(registry, 'database_up', help)
}

function showBuild(registry: Registry): void {
  const help = 'The version of storerank, and its schema: how many migrations, and the hash of its objects.'
  createGauge(registry, 'build_info', help, ['version', 'schema']).set(nameSchema(), 1)
}

const TROUBLES: (typeof METRICS)[number] = {
  name: 'troubles',
  help: 'What `storerank status --check` finds wrong, by kind.',
  labels: ['kind'],
  value: (figures) =>
    [...Map.groupBy(findTroubles(figures), ({ kind }) => kind)].map(([kind, { length }]) => ({
      labels: { kind },
      value: length,
    })),
}

function showFigures(registry: Registry) {
  const gauges = [...METRICS, TROUBLES].map(({ name, help, labels, value }) => ({
    value,
    isLabelled: labels !== undefined,
    gauge: createGauge(registry, name, help, labels),
  }))
  return {
    set: (figures: Figures) => {
      for (const { gauge, value } of gauges) {
        gauge.reset()
        const known = value(figures) ?? []
        const samples: readonly Sample[] = typeof known === 'number' ? [{ value: known }] : known
        for (const sample of samples) gauge.set(sample.labels ?? {}, sample.value)
      }
    },
    /** A gauge without labels is 0 after a reset, which would say that all is well. */
    forget: () => {
      for (const { gauge, isLabelled } of gauges) isLabelled ? gauge.reset() : gauge.remove()
    },
  }
}

/** What the process knows of its own database sessions. */
function showProcess(registry: Registry, db: Database) {
  const statements = new Counter({
    name: 'storerank_database_statements_total',
    help: 'Statements and transactions of this process since it began.',
    registers: [registry],
  })
  const waiting = createGauge(
    registry,
    'database_pool_waiting',
    'Statements of this process that wait for a connection.',
  )
  const roundTrip = createGauge(
    registry,
    'database_round_trip_seconds',
    'The time of an empty statement, with the wait for a connection.',
  )
  const databaseUp = createDatabaseUp(registry)
  return {
    measureRoundTrip: async () => {
      const began = performance.now()
      await db.sql`select`
      roundTrip.set((performance.now() - began) / 1000)
    },
    set: (isUp: boolean) => {
      databaseUp.set(isUp ? 1 : 0)
      const load = db.load()
      statements.reset()
      statements.inc(load.statements)
      waiting.set(load.waiting)
    },
    forget: () => roundTrip.remove(),
  }
}

/** The problems that `status` shows, and those of audits. */
function showProblems(registry: Registry, db: Database, freshMs: number) {
  const help =
    'Rows of watch_problem, task_problem and audit_problem by kind, up to 1,000 of a kind; kinds without a ' +
    'row have no series.'
  const gauge = createGauge(registry, 'problems', help, ['view', 'kind'])
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
