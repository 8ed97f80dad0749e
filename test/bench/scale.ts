/**
 * What more runners on one database gain: results a second of one, two and four processes, with the service and its limits out of
 * the way, and posts that four of them claim. Each stage begins when its runners are ready. It ends by itself.
 */
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { handOutRows } from '../../src/collect/enqueue-results.ts'
import type { Database } from '../../src/db/database.ts'
import type { Queue } from '../../src/queue/queue.ts'
import { rememberPrices } from '../support/ledger.ts'
import { type Bar, printBars } from './bars.ts'
import type { Delivery } from './bodies.ts'
import { prepareTasks, startService } from './canned-service.ts'
import { withDatabase } from './database.ts'
import { measureClaims, openQuietQueue, startRunners, stopRunners, untilNone } from './runners.ts'
import { SETTINGS } from './settings.ts'

const { values } = parseArgs({
  options: { results: { type: 'string', default: '4000' }, posts: { type: 'string', default: '400' } },
})
const RESULTS = Number(values.results)
const POSTS = Number(values.posts)
const PROCESSES = [1, 2, 4]
/** Before anything is measured, each process has compiled its code and knows the apps. */
const WARM_UP = 600
const TASKS_PER_POST = 100

/** Seconds until so many posted tasks are left. */
async function untilCollected(db: Database, left: number): Promise<number> {
  const startedMs = performance.now()
  await untilNone(() => db.sql`select count(*) as open from task where state = 'posted'`, left)
  return (performance.now() - startedMs) / 1000
}

async function handOut(db: Database, queue: Queue, tasks: readonly Delivery[]): Promise<void> {
  const rows = tasks.map(({ id, tag }) => ({
    id,
    tag,
    path: null,
    kind: 'advanced' as const,
    htmlPath: null,
  }))
  await handOutRows(db, rows, SETTINGS, queue.enqueueFetch)
}

/** Results a second of so many processes. */
async function collectBy(processes: number): Promise<{ rate: number; lateShare: number }> {
  let measured = { rate: Number.NaN, lateShare: Number.NaN }
  await withDatabase(async (db) => {
    const warm = WARM_UP * processes
    const tasks = await prepareTasks(db, warm + RESULTS)
    const service = await startService(tasks)
    const queue = await openQuietQueue(db)
    const runners = await startRunners(db, service.url, processes)
    await handOut(db, queue, tasks.slice(0, warm))
    await untilCollected(db, RESULTS)
    await handOut(db, queue, tasks.slice(warm))
    const seconds = await untilCollected(db, 0)
    const [calls] = await db.sql<{ late: number }[]>`
      select avg((error is not null and http_status is null)::int)::float8 as late from api_call where ended_at is not null`
    measured = { rate: RESULTS / seconds, lateShare: calls?.late ?? 0 }
    await stopRunners(runners)
    await queue.stop(1_000)
    service.end()
  })
  return measured
}

/** Posts of 100 tasks that wait to be claimed. Returns their ids. */
async function preparePosts(db: Database, posts: number): Promise<string[]> {
  await db.sql`insert into project (name) values ('bench')`
  await db.sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', 'keyword ' || n, 2840, 'en' from generate_series(1, ${posts * TASKS_PER_POST}::int) n`
  await db.sql`
    insert into watch_period (kind, watch_id, project, target_id, every, depth, priority, started_at, first_slot, closed_to)
    select 'keyword', id, 'bench', id, '1 day', 100, 1, now(), slot_of('1 day', now()), now() from target`
  const made = await db.sql<{ id: string }[]>`
    insert into post (store, function) select 'ios_store', 'app_searches' from generate_series(1, ${posts}::int) returning id`
  const ids = made.map(({ id }) => id)
  await db.sql`
    insert into task (target_id, slot, slot_ends_at, depth, priority, estimate_micros, payers, post_id)
    select t.id, slot_of('1 day', now()), now() + interval '2 days', 100, 1, 1200, array(select id from project),
      (${ids}::uuid[])[1 + (t.id - 1) % ${posts}::int] from target t`
  await db.sql`select recount_spend()`
  await rememberPrices(db.sql)
  await db.sql`vacuum analyze`
  return ids
}

/** Posts that so many processes claim, send and settle a second. */
async function claimBy(processes: number): Promise<number> {
  let rate = Number.NaN
  await withDatabase(async (db) => {
    const ids = await preparePosts(db, POSTS)
    rate = await measureClaims(db, ids, processes)
  })
  return rate
}

const bars: Bar[] = []
const rates: number[] = []
for (const processes of PROCESSES) {
  const { rate, lateShare } = await collectBy(processes)
  rates.push(rate)
  const [one = rate, two = rate] = rates
  const what = `${processes} ${processes === 1 ? 'process' : 'processes'}`
  bars.push({ what: `${what}: results a second`, value: rate, unit: '/s' })
  if (processes === 2) bars.push({ what: `${what}, against one`, value: rate / one, unit: '×', atLeast: 1.5 })
  if (processes === 4) bars.push({ what: `${what}, against two`, value: rate / two, unit: '×', atLeast: 1 })
  bars.push({ what: `${what}: permits thrown away`, value: lateShare * 100, unit: '%', atMost: 1 })
}
bars.push({
  what: 'posts of 100 tasks, claimed by 4 processes',
  value: await claimBy(4),
  unit: '/s',
  atLeast: 30,
})
printBars(`${RESULTS} results of 100 apps, on ${cpus().length} cores with service and database`, bars)
process.exit()
