/** Runners as processes of their own (runner.ts), and how fast they work off what is there. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import type { Database } from '../../src/db/database.ts'
import { recordCheck } from '../../src/ledger/restored.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { startService } from './canned-service.ts'
import { readProcessCpuMs, readServerLoad } from './server-load.ts'

const LOOK_EVERY_MS = 20
/**
 * To count what is open takes milliseconds of a core: it is looked at again when half of it is likely to be
 * done, or after so long.
 */
const LOOK_AT_LEAST_EVERY_MS = 1_000
/**
 * The longest that is waited for the work of a stage: on a machine that is too busy, a result or a post whose
 * permits ran out is deferred for longer than a bench lasts.
 */
const STAGE_LIMIT_MS = 25_000

export const openQuietQueue = (db: Database) =>
  openQueue(db.url, pino({ level: 'warn' }, pino.destination(2)))

/** Returns when all of them work. */
export async function startRunners(
  db: Database,
  serviceUrl: string,
  processes: number,
): Promise<ChildProcess[]> {
  const children = Array.from({ length: processes }, () =>
    spawn(process.execPath, [join(import.meta.dirname, 'runner.ts'), db.url, serviceUrl], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  )
  await Promise.all(children.map((child) => once(child.stdout as NodeJS.ReadableStream, 'data')))
  return children
}

export async function stopRunners(children: readonly ChildProcess[]): Promise<void> {
  const ended = children.map((child) => once(child, 'exit'))
  for (const child of children) child.stdin?.end()
  await Promise.all(ended)
}

export interface Work {
  /** How many a second. */
  readonly rate: number
  /** CPU of all runners, of PostgreSQL and of the service, for each. */
  readonly nodeUs: number
  readonly serverUs: number
  readonly serviceUs: number
}

/** How many pieces of work are open. */
export type Count = () => Promise<number>

/** The processes that take part in some work. */
export interface Taking {
  readonly db: Database
  readonly runners: readonly ChildProcess[]
  readonly service: { readonly pid: number }
}

/**
 * CPU of runners, server and service while some work is done, for each piece of it.
 * @param count how many pieces are open
 * @param work returns how long it took, in seconds
 */
export async function measureWork(
  { db, runners, service }: Taking,
  count: Count,
  work: () => Promise<number>,
): Promise<Work> {
  const pids = runners.map(({ pid = 0 }) => pid)
  const read = async () => ({
    nodeMs: await readProcessCpuMs(pids),
    serverMs: (await readServerLoad(db)).cpuMs,
    serviceMs: await readProcessCpuMs([service.pid]),
  })
  const open = await count()
  const before = await read()
  const seconds = await work()
  const after = await read()
  const done = open - (await count())
  const each = (ms: number) => (ms * 1000) / done
  return {
    rate: done / seconds,
    nodeUs: each(after.nodeMs - before.nodeMs),
    serverUs: each(after.serverMs - before.serverMs),
    serviceUs: each(after.serviceMs - before.serviceMs),
  }
}

/**
 * What it costs so many processes to claim posts, to send them to a service that creates all their tasks, and
 * to settle them. The last twentieth is not measured: a post that is tried again waits for seconds.
 */
export async function measureClaims(
  db: Database,
  postIds: readonly string[],
  processes: number,
): Promise<Work> {
  await recordCheck(db.sql)
  const service = await startService([])
  const queue = await openQuietQueue(db)
  const runners = await startRunners(db, service.url, processes)
  const last = Math.floor(postIds.length / 20)
  const countOpen = async () => {
    const [posts] = await db.sql<{ open: number }[]>`
      select count(*) as open from post where id = any(${postIds}::uuid[]) and state <> 'settled'`
    return posts?.open ?? 0
  }
  const work = await measureWork({ db, runners, service }, countOpen, async () => {
    await db.begin((tx) => queue.enqueuePosts(tx, postIds))
    return drain(countOpen, last)
  })
  await stopRunners(runners)
  await queue.stop(1_000)
  service.end()
  return work
}

/**
 * Waits until no more are open than may be left, or the time is over. Returns how long that took, in seconds.
 */
export async function drain(count: Count, left = 0, limitMs = STAGE_LIMIT_MS): Promise<number> {
  const startedMs = performance.now()
  const first = await count()
  for (;;) {
    const open = await count()
    const elapsedMs = performance.now() - startedMs
    if (open <= left || elapsedMs > limitMs) return elapsedMs / 1000
    const leftMs = ((open - left) * elapsedMs) / Math.max(first - open, 1)
    await sleep(Math.max(LOOK_EVERY_MS, Math.min(leftMs / 2, LOOK_AT_LEAST_EVERY_MS)))
  }
}
