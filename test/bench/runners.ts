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

const LOOK_EVERY_MS = 20

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

/**
 * Posts a second that so many processes claim, send to a service that creates all their tasks, and settle. The last twentieth is not
 * measured: a post that is tried again waits for seconds.
 */
export async function measureClaims(
  db: Database,
  postIds: readonly string[],
  processes: number,
): Promise<number> {
  await recordCheck(db.sql)
  const service = await startService([])
  const queue = await openQuietQueue(db)
  const runners = await startRunners(db, service.url, processes)
  const last = Math.floor(postIds.length / 20)
  const startedMs = performance.now()
  await db.begin((tx) => queue.enqueuePosts(tx, postIds))
  await untilNone(
    () => db.sql`select count(*) as open from post where id = any(${postIds}::uuid[]) and state <> 'settled'`,
    last,
  )
  const seconds = (performance.now() - startedMs) / 1000
  await stopRunners(runners)
  await queue.stop(1_000)
  service.end()
  return (postIds.length - last) / seconds
}

/** Returns when no more are open than may be left. */
export async function untilNone(
  count: () => PromiseLike<readonly Record<string, number>[]>,
  left = 0,
): Promise<void> {
  for (;;) {
    const [row] = await count()
    if ((row?.open ?? 0) <= left) return
    await sleep(LOOK_EVERY_MS)
  }
}
