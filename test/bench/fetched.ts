/**
 * What a result costs from the ready list to the history, as a runner does it: call gate and queue as in
 * production, one process. Beside it reading alone, in the same run: the same bodies by the same HTTP client
 * and `JSON.parse`, and nothing else. CPU of this process, CPU and statements of the whole server.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { Pool } from 'undici'
import { handOutReady, handOutRows } from '../../src/collect/enqueue-results.ts'
import type { Database } from '../../src/db/database.ts'
import type { JobContext } from '../../src/queue/job.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { describeResult, type Measured } from './bars.ts'
import type { Delivery } from './bodies.ts'
import { closeContext, openContext } from './context.ts'
import { measureCost } from './server-load.ts'
import { SETTINGS } from './settings.ts'
import { prepareTasks, startService } from './tasks.ts'

/** Before anything is measured: code is compiled, the apps are known. */
const WARM_UP = 10_000
const READ_ALONE = 5_000
const REQUESTS_AT_ONCE = SETTINGS.maxConcurrentRequests
const LOOK_EVERY_MS = 10
/** Longer than any pause of the queue or of the pace of ready lists. */
const STALLED_AFTER_MS = 60_000

/** Reads the body of an answer, and nothing else of it. */
function readBody(pool: Pool, path: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  return new Promise((resolve, reject) => {
    pool.dispatch(
      { method: 'GET', path },
      {
        onRequestStart: () => {},
        onResponseStart: () => {},
        onResponseData: (_, chunk) => void chunks.push(chunk),
        onResponseEnd: () => resolve(Buffer.concat(chunks)),
        onResponseError: (_, error) => reject(error),
      },
    )
  })
}

async function readAlone(url: string, tasks: readonly Delivery[]): Promise<void> {
  const pool = new Pool(url, { connections: REQUESTS_AT_ONCE, pipelining: 1 })
  await pLimit(REQUESTS_AT_ONCE).map(tasks.slice(0, READ_ALONE), async ({ id }) => {
    const body = await readBody(pool, `/floor/${id}`)
    if (JSON.parse(body.toString('utf8')).tasks.length !== 1) throw new Error('A result has no task.')
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
    const alone = async () => {
      const { nodeMs } = await measureCost(db, () => readAlone(service.url, tasks))
      return (nodeMs * 1000) / READ_ALONE
    }
    await alone()
    const aloneBefore = await alone()
    await warmUp(context, tasks.slice(0, WARM_UP))
    await untilStored(progress, WARM_UP)
    const results = WARM_UP + size - progress.stored
    const cost = await measureCost(db, async () => {
      const countFetchJobs = () => context.queue.countOpen('fetch')
      const options = { ...settings, countFetchJobs }
      const collecting = handOutReady(db, context.client, options, context.queue.enqueueFetch)
      await untilStored(progress, WARM_UP + size)
      await collecting
    })
    return describeResult({
      nodeUs: (cost.nodeMs * 1000) / results,
      aloneUs: Math.min(aloneBefore, await alone()),
      serverUs: (cost.cpuMs * 1000) / results,
      statements: cost.statements / results,
      perSecond: results / cost.seconds,
    })
  } finally {
    await closeContext(context)
    service.end()
  }
}
