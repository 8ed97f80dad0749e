/** A receiver in front of the world's database, and a service that delivers to it by hand. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import type { EnqueueFetch } from '../../src/collect/enqueue-results.ts'
import type { Fetched } from '../../src/collect/fetch.ts'
import { type Receiver, startReceiver } from '../../src/collect/receiver.ts'
import type { Database } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { createDictionary } from '../../src/history/dictionary.ts'
import { storeFetched } from '../../src/history/store.ts'
import type { FetchItem } from '../../src/ledger/hand-out.ts'
import { Secret } from '../../src/secret.ts'
import { buy, watchKeywords } from '../support/stages.ts'
import type { World } from '../support/world.ts'

export interface Receiving {
  /** Without a secret. */
  readonly origin: string
  readonly secret: string
  readonly receiver: Receiver
  /** What pingbacks handed out. */
  readonly handedOut: FetchItem[]
  readonly logLines: string[]
  /** The ids of each batch that was stored. */
  readonly batches: string[][]
  /** How many captures were new, over all batches. */
  stored(): number
  /** Sends one postback or, without a body, one pingback; resolves with the HTTP status. */
  deliver(task: Pick<BoughtTask, 'id' | 'tag'>, body?: string | Buffer): Promise<number>
}

export interface BoughtTask {
  /** The service's own. */
  readonly id: string
  readonly tag: string
  readonly keyword: string
  /** What task_get answers, and a postback brings. */
  readonly answer: string
}

/** Stopped with the test. */
export async function openReceiver(
  t: TestContext,
  world: World,
  { db = world.db, enqueue }: { readonly db?: Database; readonly enqueue?: EnqueueFetch } = {},
): Promise<Receiving> {
  const secret = randomBytes(24).toString('hex')
  const handedOut: FetchItem[] = []
  const logLines: string[] = []
  const batches: string[][] = []
  const stores = { db, dictionary: createDictionary(db), maxAttempts: world.settings.maxAttempts }
  let stored = 0
  const deps = {
    db,
    log: pino({ level: 'trace' }, { write: (line) => logLines.push(line) }),
    enqueue:
      enqueue ??
      (async (_tx: unknown, items: readonly FetchItem[]) => {
        handedOut.push(...items)
      }),
    store: async (batch: readonly Fetched[]) => {
      batches.push(batch.map((one) => one.item.serviceId))
      const added = await storeFetched(stores, batch, async () => {})
      stored += added.stored
    },
  }
  const url = new Secret(`https://ranks.example.com/hooks/${secret}`)
  const receiver = await startReceiver(deps, url, { host: '127.0.0.1', port: 0 })
  t.after(() => receiver.close())
  const origin = `http://127.0.0.1:${receiver.address.port}`
  return {
    origin,
    secret,
    receiver,
    handedOut,
    logLines,
    batches,
    stored: () => stored,
    deliver: async ({ id, tag }, body) => {
      const query = new URLSearchParams({ id, tag })
      const response = await fetch(`${origin}/${secret}?${query}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? gzipSync(body) : body }),
      })
      await response.body?.cancel()
      return response.status
    },
  }
}

/** Watches and buys; the results are still in the ready list. */
export async function buyUnread(
  world: World,
  keywords: readonly string[],
  fields: { readonly depth?: number } = {},
): Promise<Omit<BoughtTask, 'answer'>[]> {
  await watchKeywords(world, keywords, fields)
  await buy(world)
  return world.db.sql`
    select k.service_id as id, t.subject as keyword,
      concat_ws('.', k.id, k.attempt, l.installation, extract(epoch from k.slot)::bigint,
        extract(epoch from k.slot_ends_at - k.slot)::bigint) as tag
    from task k join target t on t.id = k.target_id cross join ledger l order by t.id`
}

/**
 * Watches and buys, and asks the service past all of our code what it has found, which takes it off the ready
 * list.
 */
export async function buyTasks(...bought: Parameters<typeof buyUnread>): Promise<BoughtTask[]> {
  const tasks = await buyUnread(...bought)
  return Promise.all(tasks.map(async (task) => ({ ...task, answer: await readAnswer(bought[0], task.id) })))
}

/** As `buyTasks`, one. */
export async function buyOne(world: World, keyword = 'yoga', depth = 10): Promise<BoughtTask> {
  const [task] = await buyTasks(world, [keyword], { depth })
  assert.ok(task !== undefined)
  return task
}

export const keywordsOf = (count: number) => Array.from({ length: count }, (_, n) => `yoga ${n}`)

/** What the service answers when it is asked for the result of an ios search. */
export async function readAnswer(world: World, id: string): Promise<string> {
  const response = await fetch(
    `${world.sandboxUrl}/v3/app_data/ios_store/app_searches/task_get/advanced/${id}`,
    { headers: { authorization: `Basic ${btoa('sandbox:sandbox')}` } },
  )
  return response.text()
}

export async function countCaptures(world: World): Promise<number> {
  const [row] = await world.db.sql<{ captures: number }[]>`
    select count(*) as captures from ranking where gap is null`
  return row?.captures ?? 0
}

// biome-ignore lint/suspicious/noExplicitAny: a test bends an answer into any shape.
export function bend(answer: string, change: (task: any) => void): string {
  const body = JSON.parse(answer)
  change(body.tasks[0])
  return JSON.stringify(body)
}

/** Keeps everybody from writing to the table until it is let go. */
export async function holdTable(
  world: World,
  table: string,
): Promise<{ release(): Promise<void>; waiters(): Promise<number> }> {
  const session = world.db.openSession(60_000)
  await session`begin`
  await session`lock table ${sql.identifier(table)} in exclusive mode`
  return {
    release: async () => {
      await session`commit`
      await session.end()
    },
    waiters: async () => {
      const [row] = await world.db.sql<{ waiters: number }[]>`
        select count(*) as waiters from pg_stat_activity where datname = current_database()
          and wait_event_type = 'Lock'`
      return row?.waiters ?? 0
    },
  }
}
