/**
 * What a result costs from the ready list to the history, as a runner does it: call gate and queue as in
 * production, one process. Beside it reading alone, in the same run: the same bodies by the same HTTP client
 * and `JSON.parse`, and nothing else. CPU of this process, CPU and statements of the whole server.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { type Dispatcher, Pool } from 'undici'
import { handOutReady, handOutRows } from '../../src/collect/enqueue-results.ts'
import type { Database } from '../../src/db/database.ts'
import type { JobContext } from '../../src/queue/job.ts'
import { startRunner } from '../../src/queue/runner.ts'
import type { Measured } from './bars.ts'
import type { Delivery } from './bodies.ts'
import { closeContext, openContext } from './context.ts'
import { readServerLoad } from './server-load.ts'
import { SETTINGS } from './settings.ts'
import { prepareTasks, startService } from './tasks.ts'

/** Before anything is measured: code is compiled, the apps are known. */
const WARM_UP = 10_000
const READ_ALONE = 5_000
const REQUESTS_AT_ONCE = SETTINGS.maxConcurrentRequests
const LOOK_EVERY_MS = 10
/** Longer than any pause of the queue or of the pace of ready lists. */
const STALLED_AFTER_MS = 60_000

/** CPU of this process for each of some results, in µs. */
async function measureNode(results: number, work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / results
}

/** Reads the body of an answer, and nothing else of it. */
class BodyReader implements Dispatcher.DispatchHandler {
  readonly #chunks: Buffer[] = []
  readonly #body = Promise.withResolvers<Buffer>()
  readonly body = this.#body.promise

  onRequestStart(): void {}

  onResponseStart(): void {}

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#body.resolve(Buffer.concat(this.#chunks))
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#body.reject(error)
  }
}

async function readAlone(url: string, tasks: readonly Delivery[]): Promise<void> {
  const pool = new Pool(url, { connections: REQUESTS_AT_ONCE, pipelining: 1 })
  await pLimit(REQUESTS_AT_ONCE).map(tasks.slice(0, READ_ALONE), async ({ id }) => {
    const reader = new BodyReader()
    pool.dispatch({ method: 'GET', path: `/floor/${id}` }, reader)
    if (JSON.parse((await reader.body).toString('utf8')).tasks.length !== 1)
      throw new Error('A result has no task.')
  })
  await pool.close()
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

async function warmUp({ db, queue }: JobContext, tasks: readonly Delivery[]): Promise<void> {
  const kind = { path: null, kind: 'advanced', htmlPath: null } as const
  const rows = tasks.map(({ id, tag }) => ({ id, tag, ...kind }))
  await handOutRows(db, rows, SETTINGS, queue.enqueueFetch)
}

/** @param size at most 15,000: the ready list has a thousand, twenty times a minute (spec: Limits) */
export async function measureFetched(db: Database, size: number): Promise<Measured> {
  const tasks = await prepareTasks(db, WARM_UP + size)
  const service = await startService(tasks)
  const settings = { ...SETTINGS, callsPerMinute: 1_000_000 }
  const context = await openContext(db, service.url, { maxConcurrent: REQUESTS_AT_ONCE }, settings)
  try {
    const { progress } = await startRunner(context, [])
    const alone = () => measureNode(READ_ALONE, () => readAlone(service.url, tasks))
    await alone()
    const aloneBefore = await alone()
    await warmUp(context, tasks.slice(0, WARM_UP))
    await untilStored(progress, WARM_UP)
    const before = await readServerLoad(db)
    const results = WARM_UP + size - progress.stored
    const startedMs = performance.now()
    const nodeUs = await measureNode(results, async () => {
      const countFetchJobs = () => context.queue.countOpen('fetch')
      const options = { ...settings, countFetchJobs }
      const collecting = handOutReady(db, context.client, options, context.queue.enqueueFetch)
      await untilStored(progress, WARM_UP + size)
      await collecting
    })
    const seconds = (performance.now() - startedMs) / 1000
    const after = await readServerLoad(db)
    const aloneUs = Math.min(aloneBefore, await alone())
    return {
      'CPU of Node a result': nodeUs,
      'CPU of Node for reading alone': aloneUs,
      'CPU of Node against reading alone': nodeUs / aloneUs,
      'CPU of PostgreSQL a result': ((after.cpuMs - before.cpuMs) * 1000) / results,
      'statements a result': (after.statements - before.statements) / results,
      'results a second': results / seconds,
    }
  } finally {
    await closeContext(context)
    service.end()
  }
}
