/**
 * What more runners on one database gain, with the limits of the service out of the way: results a second of
 * one, two and four processes in stages (stages.ts), and posts that four of them claim. A stage ends when its
 * work is done or its time is over: the whole takes three minutes, and ten at most.
 */
import { parseArgs } from 'node:util'
import { handOutRows } from '../../src/collect/enqueue-results.ts'
import type { Database } from '../../src/db/database.ts'
import type { Queue } from '../../src/queue/queue.ts'
import { rememberPrices } from '../support/ledger.ts'
import { type Bar, printBars } from './bars.ts'
import type { Delivery } from './bodies.ts'
import { prepareTasks, startService } from './canned-service.ts'
import { withDatabase } from './database.ts'
import {
  drain,
  measureClaims,
  measureWork,
  openQuietQueue,
  startRunners,
  stopRunners,
  type Taking,
} from './runners.ts'
import { SETTINGS } from './settings.ts'
import { type Gain, inStage, listGains, measureRounds, medianOf, planStages, type Stage } from './stages.ts'

const { values } = parseArgs({
  options: {
    results: { type: 'string', default: '12000' },
    rounds: { type: 'string', default: '3' },
    posts: { type: 'string', default: '400' },
  },
})
const RESULTS = Number(values.results)
const ROUNDS = Number(values.rounds)
const POSTS = Number(values.posts)
const MOST = 4
/**
 * Of a core, for each process where they are held: four leave service and database more than a core of two.
 */
const STAGES = planStages(MOST, 0.15, RESULTS)
/**
 * Before anything is measured, each process has compiled its code and knows the apps: after 6,000 results it
 * still compiles.
 */
const WARM_UP = 20_000 * MOST
const WARM_UP_LIMIT_MS = 180_000
const TASKS_PER_POST = 100
/** Of 200,000 tasks a minute, which the service takes at most. */
const POSTS_A_SECOND = 200_000 / TASKS_PER_POST / 60

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

interface Bench extends Taking {
  readonly queue: Queue
  /** Those that nobody was asked to fetch yet. */
  readonly tasks: Delivery[]
}

interface Fetched extends Gain {
  /** Of permits that were not used, in %. */
  readonly late: number
}

/** Hands so many results out, and returns when the runners have stored them: after how many seconds. */
async function fetchAll({ db, queue, tasks }: Bench, results: number, limitMs?: number): Promise<number> {
  await handOut(db, queue, tasks.splice(0, results))
  return drain(() => queue.countOpen('fetch'), 0, limitMs)
}

/** What the processes of a stage get done. */
async function collectBy(bench: Bench, stage: Stage): Promise<Fetched> {
  const { db, runners, service } = bench
  const countPosted = async () => {
    const [tasks] = await db.sql<{ open: number }[]>`
      select count(*) as open from task where state = 'posted'`
    return tasks?.open ?? 0
  }
  const pids = runners.map(({ pid = 0 }) => pid)
  const [last] = await db.sql<{ id: number }[]>`select coalesce(max(id), 0) as id from api_call`
  const work = await inStage(db, service.pid, pids, stage, (hold) =>
    measureWork(bench, countPosted, () => hold(() => fetchAll(bench, stage.results))),
  )
  const [calls] = await db.sql<{ late: number }[]>`
    select 100 * avg((error is not null and http_status is null)::int)::float8 as late from api_call
    where ended_at is not null and id > ${last?.id ?? 0}`
  return { ...work, late: calls?.late ?? 0 }
}

/** Posts of 100 tasks that wait to be claimed. Returns their ids. */
async function preparePosts(db: Database, posts: number): Promise<string[]> {
  await db.sql`delete from task`
  await db.sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', 'keyword ' || n, 2840, 'en'
      from generate_series(1, ${posts * TASKS_PER_POST}::int) n`
  await db.sql`
    insert into watch_period (kind, watch_id, project, target_id, every, depth, priority, started_at,
      first_slot)
    select 'keyword', id, 'bench', id, '1 day', 100, 1, now(), slot_of('1 day', now()) from target
    where subject like 'keyword %'`
  await db.sql`insert into period_change (period_id, from_slot) select id, first_slot from watch_period`
  const made = await db.sql<{ id: string }[]>`
    insert into post (store, function) select 'ios_store', 'app_searches'
      from generate_series(1, ${posts}::int) returning id`
  const ids = made.map(({ id }) => id)
  await db.sql`
    insert into task (target_id, slot, slot_ends_at, depth, priority, estimate_micros, payers, post_id)
    select t.id, slot_of('1 day', now()), now() + interval '2 days', 100, 1, 1200,
      array(select id from project),
      (${ids}::uuid[])[1 + t.id % ${posts}::int]
    from target t where subject like 'keyword %'`
  await db.sql`select recount_spend()`
  await rememberPrices(db.sql)
  await db.sql`vacuum analyze`
  return ids
}

async function measureResults(db: Database): Promise<Bar[]> {
  const ofRound = STAGES.reduce((sum, { results }) => sum + results, 0)
  const tasks = await prepareTasks(db, WARM_UP + ROUNDS * ofRound)
  const service = await startService(tasks)
  const queue = await openQuietQueue(db)
  const runners = await startRunners(db, service.url, MOST)
  const bench = { db, queue, service, runners, tasks }
  await fetchAll(bench, WARM_UP, WARM_UP_LIMIT_MS)
  const rounds = await measureRounds(ROUNDS, STAGES, (stage) => collectBy(bench, stage))
  await stopRunners(runners)
  await queue.stop(1_000)
  service.end()
  return STAGES.flatMap((stage) => [
    ...listGains(stage, rounds),
    {
      what: `${stage.name}: permits thrown away`,
      value: medianOf(rounds, stage.name, ({ late }) => late),
      unit: '%',
      atMost: 1,
    },
  ])
}

await withDatabase(async (db) => {
  const results = await measureResults(db)
  const claims = await measureClaims(db, await preparePosts(db, POSTS), MOST)
  const what = 'posts of 100 tasks, claimed by 4 processes'
  const coresOf = (us: number) => (us * POSTS_A_SECOND) / 1_000_000
  printBars(`${RESULTS} results of 100 apps, on two cores with service and database`, [
    ...results,
    { what, value: claims.rate, unit: '/s', atLeast: 30 },
    { what: `${what}: CPU of the runners`, value: claims.nodeUs / 1000, unit: 'ms' },
    { what: `${what}: CPU of PostgreSQL`, value: claims.serverUs / 1000, unit: 'ms' },
    { what: '200,000 tasks a minute: runners', value: coresOf(claims.nodeUs), unit: 'cores' },
    { what: '200,000 tasks a minute: PostgreSQL', value: coresOf(claims.serverUs), unit: 'cores' },
  ])
})
process.exit()
