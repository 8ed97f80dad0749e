/**
 * Results delivered as fast as they are taken: a receiver in this process, a service in another, and what the books say after
 * it. Some are delivered three times, some are fetched by the collector at the same moment, some come before their post is
 * settled.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pino } from 'pino'
import { handOutOverdue } from '../../src/collect/enqueue-results.ts'
import { type Fetched, fetchResults } from '../../src/collect/fetch.ts'
import { startReceiver } from '../../src/collect/receiver.ts'
import { Secret } from '../../src/config.ts'
import type { Database } from '../../src/db/database.ts'
import { createDictionary } from '../../src/history/dictionary.ts'
import { storeFetched } from '../../src/history/store.ts'
import type { FetchItem } from '../../src/ledger/hand-out.ts'
import { settlePost } from '../../src/post/settle.ts'
import { createClient } from '../../src/service/client.ts'
import { type Delivery, listKeywords } from './bodies.ts'
import type { SendOrder, SendReport } from './sender.ts'
import { readServerLoad } from './server-load.ts'

export interface DeliveryReport extends SendReport {
  readonly results: number
  /** Requests: every result, and those that come again. */
  readonly deliveries: number
  /** Bytes of all bodies, compressed. */
  readonly bytes: number
  readonly fetched: number
  /** CPU of this process and of PostgreSQL, and statements, for each delivery. */
  readonly nodeUs: number
  readonly serverUs: number
  readonly statements: number
  /** Of this process, in bytes, one a tenth of a second, from the first result on. */
  readonly rss: readonly number[]
  /** Sentences on what does not hold of the books; none when each result is stored once. */
  readonly problems: readonly string[]
}

type StoreBatch = (batch: readonly Fetched[]) => Promise<void>

const PROJECT = 'bench'
/** A twentieth each. */
const ONE_IN = 20
const OVERDUE_AFTER_MS = 3_600_000
const SAMPLE_EVERY_MS = 100

/** Delivers `results` results to an empty database and compares the books. */
export async function deliver(db: Database, results: number): Promise<DeliveryReport> {
  const tasks = await prepareTasks(db, results)
  const sender = startSender()
  const { url, bytes } = await sender.ask<{ url: string; bytes: number }>(tasks)
  const dictionary = createDictionary(db)
  const stores = { db, dictionary, maxAttempts: 3 }
  let stored = 0
  const store: StoreBatch = async (batch) => {
    const added = await storeFetched(stores, batch, async () => {})
    stored += added.stored
  }
  const log = pino({ level: 'warn' }, pino.destination(2))
  const deps = {
    db,
    log,
    overdueAfterMs: OVERDUE_AFTER_MS,
    enqueue: async () => {},
    findKnown: dictionary.findKnown,
    store,
  }
  const secret = randomBytes(24).toString('hex')
  const receiver = await startReceiver(deps, new Secret(`http://127.0.0.1/${secret}`), {
    host: '127.0.0.1',
    port: 0,
  })
  const rss: number[] = []
  const sampling = setInterval(() => rss.push(process.memoryUsage.rss()), SAMPLE_EVERY_MS)
  try {
    const postbackUrl = `http://127.0.0.1:${receiver.address.port}/${secret}?id=$id&tag=$tag`
    const load = await readServerLoad(db)
    const cpu = process.cpuUsage()
    const [report, fetched] = await Promise.all([
      sender.ask<SendReport>({ postbackUrl, order: orderOf(results) } satisfies SendOrder),
      collectOverdue(db, url, store),
    ])
    const { user, system } = process.cpuUsage(cpu)
    const after = await readServerLoad(db)
    clearInterval(sampling)
    await settlePosts(db, tasks)
    const problems = await compareBooks(db, results, stored)
    const deliveries = orderOf(results).length
    const costs = {
      nodeUs: (user + system) / deliveries,
      serverUs: ((after.cpuMs - load.cpuMs) * 1000) / deliveries,
      statements: ((after.statements ?? Number.NaN) - (load.statements ?? 0)) / deliveries,
    }
    return { ...report, ...costs, results, deliveries, bytes, fetched, rss, problems }
  } finally {
    clearInterval(sampling)
    await receiver.close()
    sender.end()
  }
}

/** Every result once, a twentieth of them three times: twice at the same moment, and again in the end. */
function orderOf(results: number): number[] {
  const again = Array.from({ length: results }, (_, index) => index).filter((index) => index % ONE_IN === 1)
  const order = Array.from({ length: results }, (_, index) =>
    index % ONE_IN === 1 ? [index, index] : [index],
  )
  return [...order.flat(), ...again]
}

/** One slot of every target a day. A twentieth is overdue, another still being posted: its postback says that it exists. */
async function prepareTasks(db: Database, results: number): Promise<Delivery[]> {
  const keywords = listKeywords()
  await db.sql`insert into project (name) values (${PROJECT})`
  await db.sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', keyword, 2840, 'en' from unnest(${keywords}::text[]) keyword`
  await db.sql`select ensure_history_partitions(timestamptz '2026-01-01 00:00+00', timestamptz '2026-12-31 00:00+00')`
  await db.sql`
    insert into post (store, function, state, token)
    select 'ios_store', 'app_searches', 'sending', gen_random_uuid() from generate_series(1, ${Math.ceil(results / ONE_IN / 100)})`
  const tasks = await db.sql<Delivery[]>`
    with open_post as (
      select id, row_number() over (order by id) - 1 as place from post
    ),
    numbered as (
      select n, n % ${ONE_IN} as kind, (n / ${keywords.length})::int as day, t.id as target_id, t.subject
      from generate_series(0, ${results - 1}) n join (
        select id, subject, row_number() over (order by id) - 1 as place from target) t on t.place = n % ${keywords.length}
    ),
    made as (
      insert into task (target_id, slot, slot_ends_at, state, depth, priority, estimate_micros, payers, post_id, service_id,
        posted_at, ask_at)
      select target_id, timestamptz '2026-01-01 00:00+00' + make_interval(days => day), timestamptz '2027-01-01 00:00+00',
        case kind when 2 then 'posting' else 'posted' end, 100, 1, 1200,
        array(select id from project where name = ${PROJECT}),
        case kind when 2 then (select id from open_post where place = n / ${ONE_IN * 100}) end,
        case when kind <> 2 then gen_random_uuid()::text end, case when kind <> 2 then clock_timestamp() - interval '1 hour' end,
        case kind when 0 then clock_timestamp() end
      from numbered order by n
      returning *
    ),
    charged as (
      insert into charge (kind, project_id, amount_micros, target_id, slot, service_id)
      select 'charge', payers[1], 1200, target_id, slot, service_id from made where service_id is not null
    )
    select coalesce(m.service_id, gen_random_uuid()::text) as id, m.id || '.1' as tag, n.subject as keyword
    from made m join numbered n on n.target_id = m.target_id
      and m.slot = timestamptz '2026-01-01 00:00+00' + make_interval(days => n.day)
    order by n.n`
  await db.sql`select recount_spend()`
  // What autovacuum does in time; these tables are a second old.
  await db.sql`analyze`
  return [...tasks]
}

/** As the collector does it beside the receiver; what was delivered meanwhile is fetched in vain. */
async function collectOverdue(db: Database, baseUrl: string, store: StoreBatch): Promise<number> {
  const client = createClient({ baseUrl, login: 'bench', password: 'bench' })
  let fetched = 0
  for (;;) {
    const jobs: (readonly FetchItem[])[] = []
    const handedOut = await handOutOverdue(db, async (_tx, items) => {
      for (let from = 0; from < items.length; from += 100) jobs.push(items.slice(from, from + 100))
    })
    if (handedOut === 0) break
    for (const items of jobs) await store(await fetchResults(client, items, 8, AbortSignal.timeout(60_000)))
    fetched += handedOut
  }
  await client.close()
  return fetched
}

/** The answers to the posts come after the results that they announce. */
async function settlePosts(db: Database, tasks: readonly Delivery[]): Promise<void> {
  const idOf = new Map(tasks.map(({ id, tag }) => [tag, id]))
  const posts = await db.sql<{ id: string; token: string; tags: string[] }[]>`
    select p.id, p.token, array_agg(k.id || '.1') as tags from post p join task k on k.post_id = p.id group by p.id`
  for (const { id: postId, token, tags } of posts) {
    const answers = tags.map((tag) => {
      const serviceId = idOf.get(tag) ?? null
      return { tag, serviceId, statusCode: 20100, message: 'Task Created.', costMicros: 1200 }
    })
    await settlePost(db, { postId, token }, answers, OVERDUE_AFTER_MS, null)
  }
}

async function compareBooks(db: Database, results: number, stored: number): Promise<string[]> {
  const [books] = await db.sql<Record<string, number>[]>`
    select (select count(*) from ranking where gap is null and cardinality(app_ids) = 100) as captures,
      (select count(*) from ranking) as rows,
      (select count(*) from task where state = 'collected') as collected,
      (select count(*) from charge where kind = 'charge') as charges,
      (select count(distinct (target_id, slot)) from charge where kind = 'charge') as paid,
      (select count(*) from charge where kind <> 'charge') as others,
      (select count(*) from task where state in ('planned', 'posting')) as reserved,
      (select count(*) from spend_difference) as miscounted,
      (select count(*) from post where state <> 'settled') as unsettled`
  const expected = { captures: results, rows: results, collected: results, charges: results, paid: results }
  const none = { others: 0, reserved: 0, miscounted: 0, unsettled: 0 }
  const wanted: Record<string, number> = { ...expected, ...none, stored: results }
  return Object.entries({ ...books, stored }).flatMap(([what, count]) =>
    count === wanted[what] ? [] : [`${what}: ${count} instead of ${wanted[what]}`],
  )
}

/** The other process. It ends with this one, which holds its standard input. */
function startSender() {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'sender.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    ask: async <Answer>(question: unknown): Promise<Answer> => {
      child.stdin.write(`${JSON.stringify(question)}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error('The sender has ended.')
      return JSON.parse(value)
    },
    end: () => child.kill(),
  }
}
