/**
 * The stages of a cycle one by one, without a queue: what a test plans, posts, hands out, fetches and stores
 * it can look at and bend in between. A tampered service is the sandbox behind a proxy that changes its
 * answers.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { handOutOverdue, handOutReady } from '../../src/collect/enqueue-results.ts'
import { type Fetched, fetchResults } from '../../src/collect/fetch.ts'
import type { Database } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { UnavailableError } from '../../src/errors.ts'
import { createDictionary } from '../../src/history/dictionary.ts'
import { type StoredBatch, storeFetched } from '../../src/history/store.ts'
import type { FetchItem } from '../../src/ledger/hand-out.ts'
import { planDueTasks } from '../../src/plan/plan.ts'
import { workPost } from '../../src/post/work-post.ts'
import { AppDataClient } from '../../src/service/client.ts'
import { emptyTables } from './database.ts'
import { LOGIN, type World } from './world.ts'

/** What a stage works with, where it is not the world's own. */
export interface Instead {
  readonly db?: Database
  readonly client?: AppDataClient
}

/**
 * Empties the database: the next test may have the same world, and the sandbox keeps what nobody asks for any
 * more.
 */
export async function clear(world: World): Promise<void> {
  await emptyTables(world.db.sql)
}

/** Plans what is due and posts it. */
export async function buy(
  world: World,
  { db = world.db, client = world.client }: Instead = {},
): Promise<void> {
  const postIds: string[] = []
  await planDueTasks(db, world.settings.budget, async (_tx, ids) => {
    postIds.push(...ids)
  })
  const window = { ...world.settings, runner: 'test' }
  const deps = { db, client, window, log: pino({ level: 'silent' }), ...world.settings }
  for (const postId of postIds) await workUntilSent(deps, postId, AbortSignal.timeout(60_000))
}

const SENT_WITHIN = 10

/** Tries again as the queue does: on a busy machine the half second in which a post may be sent can pass. */
export async function workUntilSent(...[deps, postId, signal]: Parameters<typeof workPost>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await workPost(deps, postId, signal)
      return
    } catch (error) {
      const wasLate =
        error instanceof UnavailableError && error.message.includes('its time to be sent had passed')
      if (!wasLate || attempt === SENT_WITHIN) throw error
    }
  }
}

/** What the ready lists name and nobody else has. */
export async function handOut(
  world: World,
  { db = world.db, client = world.client }: Instead = {},
): Promise<FetchItem[]> {
  const items: FetchItem[] = []
  await handOutReady(db, client, world.settings, async (_tx, found) => {
    items.push(...found)
  })
  return items
}

export function fetchItems(
  world: World,
  items: readonly FetchItem[],
  { client = world.client }: Instead = {},
): Promise<Fetched[]> {
  return fetchResults(client, items, 8, AbortSignal.timeout(60_000))
}

/** Stores a batch as a runner that has just started. */
export function store(
  world: World,
  fetched: readonly Fetched[],
  { db = world.db }: Instead = {},
): Promise<StoredBatch> {
  const deps = { db, dictionary: createDictionary(db), maxAttempts: world.settings.maxAttempts }
  return storeFetched(deps, fetched, async () => {})
}

/** As if the service had been asked for every paid result as often as it is: the next answer decides. */
export async function askedEnough(world: World): Promise<void> {
  await world.db.sql`update task set unusable_answers = 5 where state = 'posted'`
}

/** Everything that is ready: handed out, fetched and stored. */
export async function collect(world: World, instead: Instead = {}): Promise<StoredBatch> {
  return store(world, await fetchItems(world, await handOut(world, instead), instead), instead)
}

/** What waits for a pause to end does so no longer: it is asked for by its id, fetched and stored. */
export async function collectPaused(world: World, instead: Instead = {}): Promise<StoredBatch> {
  const { db = world.db } = instead
  await db.sql`
    update task set fetching_until = clock_timestamp(), ask_at = posted_at where state = 'posted'
      and problem is not null`
  const items: FetchItem[] = []
  await handOutOverdue(db, async (_tx, found) => {
    items.push(...found)
  })
  return store(world, await fetchItems(world, items, instead), instead)
}

/** Watches keywords in the United States, in English. */
export async function watchKeywords(
  world: World,
  keywords: readonly string[],
  fields: { readonly project?: string; readonly store?: string; readonly depth?: number } = {},
): Promise<void> {
  const { project = 'fitness', store = 'ios_store', depth = 10 } = fields
  await world.db.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code, depth)
    select ${project}, ${store}, keyword, 2840, 'en', ${depth} from unnest(${[...keywords]}::text[]) keyword`
}

/** Watches anything in the United States, in English. */
export async function watch(
  world: World,
  table: 'keyword_watch' | 'chart_watch' | 'app_watch',
  fields: Readonly<Record<string, string | number | boolean>>,
): Promise<void> {
  const row = { project: 'fitness', location_code: 2840, language_code: 'en', ...fields }
  await world.db.sql`insert into ${sql.identifier(table)} ${sql.row(row)}`
}

// biome-ignore lint/suspicious/noExplicitAny: a test bends an answer into any shape.
type Answer = any

/** Changes the body that the path was answered with, in place; what it returns is sent in its stead. */
export type Rewrite = (path: string, body: Answer) => unknown

export interface Tampered {
  readonly client: AppDataClient
  /** Where it is, for a runner. */
  readonly url: string
  /** Paths in the order of the requests. */
  readonly paths: string[]
}

/**
 * The world's sandbox, with its answers changed until the test ends. `redirect` changes the path that is
 * asked for.
 */
export async function tamper(
  t: TestContext,
  world: World,
  rewrite: Rewrite,
  redirect: (path: string) => string = (path) => path,
): Promise<Tampered> {
  const paths: string[] = []
  const server = createServer(async (request, response) => {
    const path = request.url ?? '/'
    paths.push(path)
    const body = await text(request)
    const answer = await fetch(world.sandboxUrl + redirect(path), {
      method: request.method ?? 'GET',
      headers: { authorization: request.headers.authorization ?? '', 'content-type': 'application/json' },
      ...(body === '' ? {} : { body }),
    })
    const sent = await answer.json()
    const changed = rewrite(path, sent) ?? sent
    // The date is the service's own: its clock is asked for by it.
    const date = answer.headers.get('date') ?? ''
    response.writeHead(answer.status, { 'content-type': 'application/json', date })
    response.end(typeof changed === 'string' ? changed : JSON.stringify(changed))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = new AppDataClient({ ...LOGIN, baseUrl })
  t.after(async () => {
    await client.close()
    server.closeAllConnections()
    server.close()
  })
  return { client, url: baseUrl, paths }
}
