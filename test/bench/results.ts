/**
 * What a result costs from the ready list to the history, as a runner does it: call gate and queue as in
 * production, one process, searches of 100 apps. Beside it the floor of the same run: the same bodies by the
 * same HTTP client and `JSON.parse`, and nothing else. CPU of this process, CPU and statements of the whole
 * server of the database. It ends by itself, with 1 when a bar is missed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pLimit from 'p-limit'
import { pino } from 'pino'
import { type Dispatcher, Pool } from 'undici'
import { handOutReady, handOutRows } from '../../src/collect/enqueue-results.ts'
import { createCallGate } from '../../src/db/call-gate.ts'
import type { Database } from '../../src/db/database.ts'
import type { JobContext } from '../../src/queue/job.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { AppDataClient } from '../../src/service/client.ts'
import { type Bar, printBars } from './bars.ts'
import type { Delivery } from './bodies.ts'
import { prepareTasks, startService } from './canned-service.ts'
import { withDatabase } from './database.ts'
import { readServerLoad } from './server-load.ts'
import { SETTINGS } from './settings.ts'

const { values } = parseArgs({
  options: { results: { type: 'string', default: '12000' } },
})
/**
 * At most 15,000: the ready list has a thousand, and may be asked for twenty times a minute (spec: Limits).
 */
const RESULTS = Number(values.results)
/** Before anything is measured: code is compiled, the apps are known. */
const WARM_UP = 10_000
const FLOOR_RESULTS = 5_000
const REQUESTS_AT_ONCE = SETTINGS.maxConcurrentRequests
const LOOK_EVERY_MS = 10
/** Longer than any pause of the queue or of the pace of ready lists. */
const STALLED_AFTER_MS = 60_000

interface Cost {
  readonly results: number
  readonly seconds: number
  readonly nodeUs: number
}

/** CPU of this process and time of some work, for each of its results. */
async function measure(results: number, work: () => Promise<void>): Promise<Cost> {
  const startedMs = performance.now()
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return { results, seconds: (performance.now() - startedMs) / 1000, nodeUs: (user + system) / results }
}

/** Reads the body of an answer, and nothing else of it. */
class BodyReader implements Dispatcher.DispatchHandler {
  readonly #chunks: Buffer[] = []
  readonly #resolve: (body: Buffer) => void
  readonly #reject: (error: Error) => void

  constructor(resolve: (body: Buffer) => void, reject: (error: Error) => void) {
    this.#resolve = resolve
    this.#reject = reject
  }

  onRequestStart(): void {}

  onResponseStart(): void {}

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#resolve(Buffer.concat(this.#chunks))
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#reject(error)
  }
}

async function readFloor(url: string, tasks: readonly Delivery[], results: number): Promise<void> {
  const pool = new Pool(url, { connections: REQUESTS_AT_ONCE, pipelining: 1 })
  await pLimit(REQUESTS_AT_ONCE).map(tasks.slice(0, results), async ({ id }) => {
    const body = await new Promise<Buffer>((resolve, reject) => {
      pool.dispatch({ method: 'GET', path: `/floor/${id}` }, new BodyReader(resolve, reject))
    })
    if (JSON.parse(body.toString('utf8')).tasks.length !== 1) throw new Error('The floor read no task.')
  })
  await pool.close()
}

async function openRunner(db: Database, url: string, signal: AbortSignal): Promise<JobContext> {
  const settings = { ...SETTINGS, callsPerMinute: 1_000_000 }
  const gate = createCallGate(db, { ...settings, runner: 'bench' }, signal)
  const client = new AppDataClient({
    baseUrl: url,
    login: 'bench',
    password: 'bench',
    maxConcurrent: REQUESTS_AT_ONCE,
    gate,
  })
  const log = pino({ level: 'warn' }, pino.destination(2))
  const queue = await openQueue(db.url, log)
  return { db, client, queue, settings, runner: 'bench', log, signal }
}

/** @throws Error when nothing more comes */
async function untilStored(progress: { readonly stored: number }, results: number): Promise<void> {
  for (let stored = -1, sinceMs = 0; progress.stored < results; await sleep(LOOK_EVERY_MS)) {
    if (progress.stored > stored) {
      stored = progress.stored
      sinceMs = performance.now()
    } else if (performance.now() - sinceMs > STALLED_AFTER_MS)
      throw new Error(`Only ${stored} of ${results} results were stored, and no more in a minute.`)
  }
}

/** Collects until so many results are stored in all. */
async function collect(
  context: JobContext,
  progress: { readonly stored: number },
  until: number,
): Promise<void> {
  const { db, client, settings, queue } = context
  const countFetchJobs = () => queue.countOpen('fetch')
  const collecting = handOutReady(db, client, { ...settings, countFetchJobs }, queue.enqueueFetch)
  await untilStored(progress, until)
  await collecting
}

async function warmUp(
  { db, settings, queue }: JobContext,
  progress: { readonly stored: number },
  tasks: readonly Delivery[],
): Promise<void> {
  const rows = tasks.map(({ id, tag }) => ({
    id,
    tag,
    path: null,
    kind: 'advanced' as const,
    htmlPath: null,
  }))
  await handOutRows(db, rows, settings, queue.enqueueFetch)
  await untilStored(progress, tasks.length)
}

await withDatabase(async (db) => {
  const stopping = new AbortController()
  const tasks = await prepareTasks(db, WARM_UP + RESULTS)
  const service = await startService(tasks)
  const context = await openRunner(db, service.url, stopping.signal)
  const { progress } = await startRunner(context, [])
  await readFloor(service.url, tasks, FLOOR_RESULTS)
  const floorBefore = await measure(FLOOR_RESULTS, () => readFloor(service.url, tasks, FLOOR_RESULTS))
  await warmUp(context, progress, tasks.slice(0, WARM_UP))
  const load = await readServerLoad(db)
  const results = WARM_UP + RESULTS - progress.stored
  const whole = await measure(results, () => collect(context, progress, WARM_UP + RESULTS))
  const after = await readServerLoad(db)
  const floorAfter = await measure(FLOOR_RESULTS, () => readFloor(service.url, tasks, FLOOR_RESULTS))
  const floorUs = Math.min(floorBefore.nodeUs, floorAfter.nodeUs)
  const floorRate = FLOOR_RESULTS / Math.min(floorBefore.seconds, floorAfter.seconds)
  const statements =
    load.statements === null || after.statements === null
      ? Number.NaN
      : (after.statements - load.statements) / results
  const bars: Bar[] = [
    { what: 'floor: CPU of Node a result', value: floorUs, unit: 'µs' },
    { what: 'CPU of Node a result', value: whole.nodeUs, unit: 'µs' },
    { what: 'CPU of Node against the floor', value: whole.nodeUs / floorUs, unit: '×', atMost: 2 },
    {
      what: 'CPU of PostgreSQL a result',
      value: ((after.cpuMs - load.cpuMs) * 1000) / results,
      unit: 'µs',
      atMost: 300,
    },
    { what: 'statements a result', value: statements, unit: '', atMost: 0.1 },
    { what: 'floor: results a second', value: floorRate, unit: '/s' },
    { what: 'results a second', value: results / whole.seconds, unit: '/s', atLeast: 1_700 },
  ]
  printBars(`${results} results of 100 apps, one process`, bars)
  await context.queue.stop(1_000)
  stopping.abort()
  await context.client.close()
  service.end()
})
process.exit()
