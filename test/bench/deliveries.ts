/**
 * Results delivered as fast as they are taken: receivers as processes of their own, a service in another, and
 * what the books say after it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { handOutOverdue } from '../../src/collect/enqueue-results.ts'
import { fetchResults } from '../../src/collect/fetch.ts'
import type { Database } from '../../src/db/database.ts'
import { createDictionary } from '../../src/history/dictionary.ts'
import { storeFetched } from '../../src/history/store.ts'
import type { FetchItem } from '../../src/ledger/hand-out.ts'
import { settlePost } from '../../src/post/settle.ts'
import { AppDataClient } from '../../src/service/client.ts'
import { type Delivery, listKeywords } from './bodies.ts'
import type { SendOrder, SendReport } from './sender.ts'
import { readProcessCpuMs, readRssBytes, readServerLoad } from './server-load.ts'
import { type Partner, startPartner } from './talk.ts'

export interface DeliveryReport extends SendReport {
  /** Requests: every result, and those that come again. */
  readonly deliveries: number
  /** CPU of the receivers, of PostgreSQL and of the service, and statements, for each delivery. */
  readonly nodeUs: number
  readonly serverUs: number
  readonly serviceUs: number
  readonly statements: number
}

export interface MixedReport extends DeliveryReport {
  readonly fetched: number
  /** Of the receiver, in bytes, one a tenth of a second, from the first result on. */
  readonly rss: readonly number[]
  /** Sentences on what does not hold of the books; none when each result is stored once. */
  readonly problems: readonly string[]
}

const PROJECT = 'bench'
/** A twentieth each. */
const ONE_IN = 20
const OVERDUE_AFTER_MS = 3_600_000
const SAMPLE_EVERY_MS = 100

/** The service, with a body for each task. */
export interface Service extends Partner {
  readonly url: string
  /** Of all bodies, compressed. */
  readonly bytes: number
}

export async function startDelivering(tasks: readonly Delivery[]): Promise<Service> {
  const sender = startPartner('sender.ts')
  return { ...sender, ...(await sender.ask<{ url: string; bytes: number }>(tasks)) }
}

/**
 * Delivers the tasks of these indices to so many receivers, once each and in turn, and says what that cost.
 */
export async function deliverTo(
  db: Database,
  service: Service,
  receivers: readonly Receiver[],
  order: readonly number[],
): Promise<DeliveryReport> {
  const postbackUrls = receivers.map(({ postbackUrl }) => postbackUrl)
  const read = async () => ({
    node: await readProcessCpuMs(receivers.map(({ pid }) => pid)),
    service: await readProcessCpuMs([service.pid]),
    server: await readServerLoad(db),
  })
  const before = await read()
  const report = await service.ask<SendReport>({ postbackUrls, order } satisfies SendOrder)
  const after = await read()
  const each = (ms: number) => (ms * 1000) / order.length
  return {
    ...report,
    deliveries: order.length,
    nodeUs: each(after.node - before.node),
    serviceUs: each(after.service - before.service),
    serverUs: each(after.server.cpuMs - before.server.cpuMs),
    statements: ((after.server.statements ?? Number.NaN) - (before.server.statements ?? 0)) / order.length,
  }
}

export interface Receiver extends Partner {
  readonly postbackUrl: string
}

/** @param db null for the floor: it stores nothing */
export async function startReceiver(db: Database | null): Promise<Receiver> {
  const receiver = startPartner('receiver.ts', db === null ? [] : [db.url])
  return { ...receiver, ...(await receiver.listen<{ postbackUrl: string }>()) }
}

/**
 * Delivers all results, some of them three times, while some are fetched by the collector at the same moment
 * and some come before their post is settled. Then it compares the books.
 */
export async function deliverMixed(db: Database, results: number): Promise<MixedReport> {
  const tasks = await prepareTasks(db, results)
  const service = await startDelivering(tasks)
  const receiver = await startReceiver(db)
  const stopping = new AbortController()
  try {
    const [report, { stored: storedHere, fetched }, rss] = await Promise.all([
      deliverTo(db, service, [receiver], orderOf(results)).finally(() => stopping.abort()),
      collectOverdue(db, service.url),
      sampleRss(receiver.pid, stopping.signal),
    ])
    await settlePosts(db, tasks)
    const { stored } = await receiver.ask<{ stored: number }>('count')
    const problems = await compareBooks(db, results, stored + storedHere)
    return { ...report, fetched, rss, problems }
  } finally {
    receiver.end()
    service.end()
  }
}

async function sampleRss(pid: number, signal: AbortSignal): Promise<number[]> {
  const rss: number[] = []
  while (!signal.aborted) {
    rss.push(await readRssBytes(pid))
    await sleep(SAMPLE_EVERY_MS)
  }
  return rss
}

/** Every result once, a twentieth of them three times: twice at the same moment, and again in the end. */
function orderOf(results: number): number[] {
  const again = Array.from({ length: results }, (_, index) => index).filter((index) => index % ONE_IN === 1)
  const order = Array.from({ length: results }, (_, index) =>
    index % ONE_IN === 1 ? [index, index] : [index],
  )
  return [...order.flat(), ...again]
}

/**
 * One slot of every target a day. A twentieth is overdue, another still being posted: its postback says that
 * it exists.
 */
async function prepareTasks(db: Database, results: number): Promise<Delivery[]> {
  const keywords = listKeywords()
  await db.sql`insert into project (name) values (${PROJECT})`
  await db.sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', keyword, 2840, 'en' from unnest(${keywords}::text[]) keyword`
  await db.sql`select ensure_history_partitions(timestamptz '2026-01-01 00:00+00',
    timestamptz '2026-12-31 00:00+00')`
  await db.sql`
    insert into post (store, function, state, token)
    select 'ios_store', 'app_searches', 'sending', gen_random_uuid()
      from generate_series(1, ${Math.ceil(results / ONE_IN / 100)})`
  const tasks = await db.sql<Delivery[]>`
    with open_post as (
      select id, row_number() over (order by id) - 1 as place from post
    ),
    numbered as (
      select n, n % ${ONE_IN} as kind, (n / ${keywords.length})::int as day, t.id as target_id, t.subject
      from generate_series(0, ${results - 1}) n join (
        select id, subject, row_number() over (order by id) - 1 as place from target) t
          on t.place = n % ${keywords.length}
    ),
    made as (
      insert into task (target_id, slot, slot_ends_at, state, depth, priority, estimate_micros, payers,
        post_id, service_id,
        posted_at, overdue_at, ask_at, endpoint)
      select target_id, timestamptz '2026-01-01 00:00+00' + make_interval(days => day),
        timestamptz '2027-01-01 00:00+00',
        case kind when 2 then 'posting' else 'posted' end, 100, 1, 1200,
        array(select id from project where name = ${PROJECT}),
        case kind when 2 then (select id from open_post where place = n / ${ONE_IN * 100}) end,
        case when kind <> 2 then gen_random_uuid()::text end, case when kind <> 2
          then clock_timestamp() - interval '1 hour' end,
        case kind when 0 then clock_timestamp() end, case kind when 0 then clock_timestamp() end, case
          when kind <> 2 then endpoint_of('ios_store', 'app_searches') end
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
async function collectOverdue(db: Database, baseUrl: string): Promise<{ fetched: number; stored: number }> {
  const client = new AppDataClient({ baseUrl, login: 'bench', password: 'bench' })
  const stores = { db, dictionary: createDictionary(db), maxAttempts: 3 }
  let [fetched, stored] = [0, 0]
  for (;;) {
    const jobs: (readonly FetchItem[])[] = []
    const handedOut = await handOutOverdue(db, async (_tx, items) => {
      for (let from = 0; from < items.length; from += 100) jobs.push(items.slice(from, from + 100))
    })
    if (handedOut === 0) break
    for (const items of jobs) {
      const results = await fetchResults(client, items, 8, AbortSignal.timeout(60_000))
      stored += (await storeFetched(stores, results, async () => {})).stored
    }
    fetched += handedOut
  }
  await client.close()
  return { fetched, stored }
}

/** The answers to the posts come after the results that they announce. */
async function settlePosts(db: Database, tasks: readonly Delivery[]): Promise<void> {
  const idOf = new Map(tasks.map(({ id, tag }) => [tag, id]))
  const posts = await db.sql<{ id: string; token: string; tags: string[] }[]>`
    select p.id, p.token, array_agg(k.id || '.1') as tags from post p join task k on k.post_id = p.id
      group by p.id`
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
