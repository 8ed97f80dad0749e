/**
 * The figures in the text format of Prometheus. They are read at most once in ten seconds, however many ask
 * how often. Figures of the database are the same in every process; those of the process itself are its own.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Database } from '../db/database.ts'
import { nameSchema } from '../db/migrate.ts'
import { type ProblemCount, readProblemCounts } from '../report/status.ts'
import { TIMINGS } from '../timings.ts'
import type { MonitorSettings, Sample } from './figure.ts'
import { type Figures, listMetrics, readFigures } from './figures.ts'
import { createStoredResults } from './stored-results.ts'

export type Metrics = ReturnType<typeof createMetrics>

/** How old figures may be. */
const FRESH_MS = 10_000
/** Problems are read less often than the figures: they take more time, and change slowly. */
const PROBLEMS_PAUSE_TIMES = 6
/** Half of what Prometheus waits by itself: a database that does not answer within that time is not up. */
const ANSWER_MS = 5_000

/** What was read of the database at once. */
interface Look {
  readonly figures: Figures
  readonly problems: readonly ProblemCount[]
  readonly roundTripMs: number
}

/** @param storingMs how long a transaction that stores results is waited for */
export function createMetrics(
  db: Database,
  settings: MonitorSettings,
  freshMs = FRESH_MS,
  answerMs = ANSWER_MS,
  storingMs = TIMINGS.ledgerHoldMs,
) {
  const ofProcess = showProcess(db, settings)
  const stored = createStoredResults(ofProcess, db, storingMs)
  let latest: { readonly look: Promise<Look>; endedMs: number } | null = null
  let counted: { readonly problems: readonly ProblemCount[]; readonly atMs: number } | null = null

  const countProblems = async () => {
    if (counted === null || performance.now() - counted.atMs >= freshMs * PROBLEMS_PAUSE_TIMES)
      counted = { problems: await readProblemCounts(db), atMs: performance.now() }
    return counted.problems
  }
  const look = async (): Promise<Look> => {
    const beganMs = performance.now()
    await db.sql`select`
    const roundTripMs = performance.now() - beganMs
    const figures = await readFigures(db, settings)
    await stored.observe()
    return { figures, problems: await countProblems(), roundTripMs }
  }
  // A look that hangs is waited for, and no other one begins beside it.
  const lookOnce = (): Promise<Look> => {
    if (latest !== null && performance.now() - latest.endedMs <= freshMs) return latest.look
    const begun = { look: look(), endedMs: Number.POSITIVE_INFINITY }
    const end = () => {
      begun.endedMs = performance.now()
    }
    begun.look.then(end, end)
    latest = begun
    return begun.look
  }
  return {
    read: async () => (await lookOnce()).figures,
    /**
     * The text; when the database cannot be read it has `storerank_database_up 0` and what the process knows
     * of itself. When it takes no changes it has the figures, and 0 as well.
     */
    render: async () => {
      const answered = lookOnce().catch(() => null)
      const seen = await Promise.race([answered, sleep(answerMs, null, { ref: false })])
      const up = showUp(seen?.figures.readOnly === null)
      const registries = seen === null ? [up, ofProcess] : [up, ofProcess, showLook(seen)]
      return Registry.merge(registries).metrics()
    },
  }
}

/** Of a process that never had a database to ask: `storerank_database_up 0`, and nothing beside it. */
export function renderNoFigures(): Promise<string> {
  return showUp(false).metrics()
}

interface Shown {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  readonly value: number | null | readonly Sample[]
}

function show(registry: Registry, { name, help, labels = [], value }: Shown): void {
  const gauge = new Gauge({ name: `storerank_${name}`, help, labelNames: labels, registers: [registry] })
  // One without labels is 0 by itself, which would say that all is well.
  if (value === null && labels.length === 0) gauge.remove()
  const samples = typeof value === 'number' ? [{ value }] : (value ?? [])
  for (const sample of samples) gauge.set(sample.labels ?? {}, sample.value)
}

function showUp(isUp: boolean): Registry {
  const registry = new Registry()
  const help =
    'Whether the database was asked, answered, and takes changes; without an answer its figures are missing.'
  show(registry, { name: 'database_up', help, value: isUp ? 1 : 0 })
  return registry
}

function showLook({ figures, problems, roundTripMs }: Look): Registry {
  const registry = new Registry()
  for (const metric of listMetrics(figures)) show(registry, metric)
  show(registry, {
    name: 'problems',
    help:
      'Rows of watch_problem, task_problem and audit_problem by kind, up to 1,000 of a kind; kinds without ' +
      'a row have no series.',
    labels: ['view', 'kind'],
    value: problems.map(({ count, ...labels }) => ({ labels, value: count })),
  })
  show(registry, {
    name: 'database_round_trip_seconds',
    help: 'The time of an empty statement, with the wait for a connection.',
    value: roundTripMs / 1000,
  })
  return registry
}

/** Which version it is, and what the process knows of itself and of its database sessions. */
function showProcess(db: Database, { isOneRun }: MonitorSettings): Registry {
  const registry = new Registry()
  const registers = [registry]
  if (!isOneRun) collectDefaultMetrics({ register: registry })
  show(registry, {
    name: 'build_info',
    help: 'The version of storerank, and its schema: how many migrations, and the hash of its objects.',
    labels: ['version', 'schema'],
    value: [{ labels: { ...nameSchema() }, value: 1 }],
  })
  new Counter({
    name: 'storerank_database_statements_total',
    help: 'Statements and transactions of this process since it began.',
    registers,
    collect() {
      this.reset()
      this.inc(db.load().statements)
    },
  })
  new Gauge({
    name: 'storerank_database_pool_waiting',
    help: 'Statements of this process that wait for a connection.',
    registers,
    collect() {
      this.set(db.load().waiting)
    },
  })
  return registry
}
