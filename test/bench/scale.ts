/**
 * What more runners on one database gain: results a second of one, two and four processes, with the service and its limits out of
 * the way, and posts that four of them claim. The results are measured once more with a share of a core for each process, because two of
 * them leave service and database no core. Each stage begins when its runners are ready, and ends when its work is done or its time is
 * over: the whole takes six minutes at most.
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
import { whileHeld } from './held.ts'
import {
  drain,
  measureClaims,
  measureWork,
  openQuietQueue,
  startRunners,
  stopRunners,
  type Work,
} from './runners.ts'
import { SETTINGS } from './settings.ts'

const { values } = parseArgs({
  options: { results: { type: 'string', default: '8000' }, posts: { type: 'string', default: '400' } },
})
const RESULTS = Number(values.results)
const POSTS = Number(values.posts)
const CORES = cpus().length
const PROCESSES = [1, 2, 4]
/** Of a core, for each process: four leave service and database more than a core of two. */
const SHARE = 0.15
const STAGES = [1, SHARE].flatMap((share) =>
  PROCESSES.map((processes) => ({ processes, share, results: share === 1 ? RESULTS : RESULTS / 2 })),
)
type Stage = (typeof STAGES)[number]
/** Before anything is measured, each process has compiled its code and knows the apps. */
const WARM_UP = 1_500
const WARM_UP_LIMIT_MS = 20_000
const TASKS_PER_POST = 100
/** Of 200,000 tasks a minute, which the service takes at most. */
const POSTS_A_SECOND = 200_000 / TASKS_PER_POST / 60

const countPosted = (db: Database) => db.sql<{ open: number }[]>`
  select count(*) as open from task where state = 'posted'`

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

interface Bench {
  readonly db: Database
  readonly queue: Queue
  readonly service: { readonly url: string; readonly pid: number }
}

interface Gain extends Work {
  /** Of permits that were not used. */
  readonly lateShare: number
}

/** What so many processes gain, each with a share of a core. */
async function collectBy(
  { db, queue, service }: Bench,
  { processes, share }: Stage,
  tasks: readonly Delivery[],
): Promise<Gain> {
  const warm = WARM_UP * processes
  const before = (await countPosted(db))[0]?.open ?? 0
  const runners = await startRunners(db, service.url, processes)
  await handOut(db, queue, tasks.slice(0, warm))
  await drain(() => countPosted(db), before - warm, WARM_UP_LIMIT_MS)
  const [last] = await db.sql<{ id: number }[]>`select coalesce(max(id), 0) as id from api_call`
  const pids = runners.map(({ pid = 0 }) => pid)
  const work = await measureWork(
    { db, runners, service },
    () => countPosted(db),
    () =>
      whileHeld(pids, share, async () => {
        await handOut(db, queue, tasks.slice(warm))
        return drain(() => countPosted(db), before - tasks.length)
      }),
  )
  const [calls] = await db.sql<{ late: number }[]>`
    select avg((error is not null and http_status is null)::int)::float8 as late from api_call
    where ended_at is not null and id > ${last?.id ?? 0}`
  await stopRunners(runners)
  return { ...work, lateShare: calls?.late ?? 0 }
}

/** Posts of 100 tasks that wait to be claimed. Returns their ids. */
async function preparePosts(db: Database, posts: number): Promise<string[]> {
  await db.sql`delete from task`
  await db.sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', 'keyword ' || n, 2840, 'en' from generate_series(1, ${posts * TASKS_PER_POST}::int) n`
  await db.sql`
    insert into watch_period (kind, watch_id, project, target_id, every, depth, priority, started_at, first_slot, closed_to)
    select 'keyword', id, 'bench', id, '1 day', 100, 1, now(), slot_of('1 day', now()), now() from target
    where subject like 'keyword %'`
  const made = await db.sql<{ id: string }[]>`
    insert into post (store, function) select 'ios_store', 'app_searches' from generate_series(1, ${posts}::int) returning id`
  const ids = made.map(({ id }) => id)
  await db.sql`
    insert into task (target_id, slot, slot_ends_at, depth, priority, estimate_micros, payers, post_id)
    select t.id, slot_of('1 day', now()), now() + interval '2 days', 100, 1, 1200, array(select id from project),
      (${ids}::uuid[])[1 + t.id % ${posts}::int]
    from target t where subject like 'keyword %'`
  await db.sql`select recount_spend()`
  await rememberPrices(db.sql)
  await db.sql`vacuum analyze`
  return ids
}

async function measureResults(db: Database): Promise<Bar[]> {
  const tasksOf = ({ processes, results }: Stage) => WARM_UP * processes + results
  const tasks = await prepareTasks(
    db,
    STAGES.reduce((sum, stage) => sum + tasksOf(stage), 0),
  )
  const service = await startService(tasks)
  const queue = await openQuietQueue(db)
  const bench = { db, queue, service }
  const bars: Bar[] = []
  /** The rate of the stage before, of half as many processes. */
  let before = Number.NaN
  for (const stage of STAGES) {
    const gain = await collectBy(bench, stage, tasks.splice(0, tasksOf(stage)))
    bars.push(...listBars(stage, gain, before))
    before = gain.rate
  }
  await queue.stop(1_000)
  service.end()
  return bars
}

function listBars({ processes, share }: Stage, gain: Gain, before: number): Bar[] {
  const { rate, nodeUs, serverUs, serviceUs, lateShare } = gain
  const held = share < 1 ? `, ${share} of a core each` : ''
  const what = `${processes} ${processes === 1 ? 'process' : 'processes'}${held}`
  const bars: Bar[] = [{ what: `${what}: results a second`, value: rate, unit: '/s' }]
  if (processes === 2)
    bars.push({ what: `${what}, against one`, value: rate / before, unit: '×', atLeast: 1.5 })
  if (processes === 4)
    bars.push({ what: `${what}, against two`, value: rate / before, unit: '×', atLeast: 1 })
  const most = (CORES * 1_000_000) / (nodeUs + serverUs + serviceUs)
  return [
    ...bars,
    { what: `${what}: CPU of the runners a result`, value: nodeUs, unit: 'µs' },
    { what: `${what}: CPU of PostgreSQL a result`, value: serverUs, unit: 'µs' },
    { what: `${what}: CPU of the service a result`, value: serviceUs, unit: 'µs' },
    { what: `${what}: the most that ${CORES} cores allow`, value: most, unit: '/s' },
    { what: `${what}: permits thrown away`, value: lateShare * 100, unit: '%', atMost: 1 },
  ]
}

await withDatabase(async (db) => {
  const results = await measureResults(db)
  const claims = await measureClaims(db, await preparePosts(db, POSTS), Math.max(...PROCESSES))
  const what = 'posts of 100 tasks, claimed by 4 processes'
  const coresOf = (us: number) => (us * POSTS_A_SECOND) / 1_000_000
  printBars(`${RESULTS} results of 100 apps, on ${CORES} cores with service and database`, [
    ...results,
    { what, value: claims.rate, unit: '/s', atLeast: 30 },
    { what: `${what}: CPU of the runners`, value: claims.nodeUs / 1000, unit: 'ms' },
    { what: `${what}: CPU of PostgreSQL`, value: claims.serverUs / 1000, unit: 'ms' },
    { what: '200,000 tasks a minute: runners', value: coresOf(claims.nodeUs), unit: 'cores' },
    { what: '200,000 tasks a minute: PostgreSQL', value: coresOf(claims.serverUs), unit: 'cores' },
  ])
})
process.exit()
