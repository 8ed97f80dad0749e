/**
 * What a claim and a settlement cost on the thirtieth day of a month: CPU of the database, on books of so
 * many charges, beside the same on empty books, in one run on one PostgreSQL; and how many posts four runners
 * claim, send and settle.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { endCall } from '../../src/db/call-window.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { recordCheck } from '../../src/ledger/restored.ts'
import { claimPost } from '../../src/post/claim.ts'
import { settlePost } from '../../src/post/settle.ts'
import { openQueue } from '../../src/queue/queue.ts'
import type { TaskAnswer } from '../../src/service/post-tasks.ts'
import { rememberPrices } from '../support/ledger.ts'
import { atLeast, atMost, type Measured } from './bars.ts'
import { LOG } from './context.ts'
import { readSessionCpuMs } from './server-load.ts'
import { startPartner } from './talk.ts'
import { startService } from './tasks.ts'

const PROJECTS = 50
const TASKS = 60_000
const TASKS_PER_POST = 100
/** Measured one by one, and then claimed by runners. */
const POSTS = 200
const CLAIMS = 300
const RUNNERS = 4
const LOOK_EVERY_MS = 50
const LIMIT_MS = 60_000
const CLAIM_OPTIONS = {
  budget: { maxDayMicros: 1_000_000_000_000, maxMonthMicros: 1_000_000_000_000 },
  window: { callsPerMinute: 200_000, maxConcurrentRequests: 1_000, runner: 'bench' },
  postbackUrl: null,
}

interface Cost {
  readonly claimMs: number
  readonly settleMs: number
}

/** Of this month. */
async function fillBooks(db: Database, charges: number): Promise<void> {
  await db.sql`
    insert into charge (at, slot, amount_micros, target_id, project_id, kind, service_id)
    select date_trunc('month', now(), 'UTC') + (now() - date_trunc('month', now(), 'UTC'))
      * (n::float8 / ${charges}::int),
      date_trunc('day', now(), 'UTC'), 1200, 1 + n % 1000, 1 + n % ${PROJECTS}::int, 'charge',
      uuid_v7()::text
    from generate_series(1, ${charges}::int) n`
  await db.sql`select recount_spend()`
}

/** Planned, in posts that are ready. Each project has a budget that is not reached: a claim reads it. */
async function fillTasks(db: Database, tasks: number): Promise<void> {
  await db.sql`
    insert into project (name, daily_usd, monthly_usd) select 'project ' || n, 10000, case when n % 2 = 0
      then 100000 end
    from generate_series(1, ${PROJECTS}::int) n on conflict do nothing`
  await db.sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', 'keyword ' || n, 2840, 'en' from generate_series(1, ${tasks}::int) n`
  await db.sql`
    insert into watch_period (kind, watch_id, project, target_id, every, depth, priority, started_at,
      first_slot)
    select 'keyword', id, 'project ' || 1 + id % ${PROJECTS}::int, id, '1 day', 100, 1,
      now() - interval '1 day', slot_of('1 day', now()) from target`
  await db.sql`
    insert into post (id, store, function) select uuid_v7(), 'ios_store', 'app_searches'
    from generate_series(1, ${Math.ceil(tasks / TASKS_PER_POST)}::int)`
  await db.sql`
    with place as (select id, row_number() over (order by id) - 1 as number from post)
    insert into task (target_id, slot, slot_ends_at, depth, priority, estimate_micros, payers, post_id)
    select t.id, slot_of('1 day', now()), slot_of('1 day', now()) + interval '1 day', 100, 1, 1200,
      array[(1 + t.id % ${PROJECTS}::int)::int], p.id
    from (select id, row_number() over (order by id) - 1 as number from target) t
    join place p on p.number = t.number / ${TASKS_PER_POST}::int`
  await db.sql`select recount_spend()`
  await rememberPrices(db.sql)
  await db.sql`vacuum analyze`
}

async function listReady(db: Database, posts: number): Promise<readonly string[]> {
  const rows = await db.sql<{ id: string }[]>`
    select id from post where state = 'ready' order by id limit ${posts}::int`
  return rows.map(({ id }) => id)
}

const created = (tag: string): TaskAnswer => ({
  tag,
  serviceId: randomUUID(),
  statusCode: 20100,
  message: 'Task Created.',
  costMicros: 1200,
})

/** One connection, so that one session does all of the work. */
async function measureOneByOne(url: string): Promise<Cost> {
  const db = openDatabase(url, { name: 'bench', maxConnections: 1 })
  try {
    const [backend] = await db.sql<{ pid: number }[]>`select pg_backend_pid() as pid`
    const read = () => readSessionCpuMs(backend?.pid ?? 0)
    let [claimMs, settleMs] = [0, 0]
    for (const id of await listReady(db, POSTS)) {
      const before = await read()
      const claim = await claimPost(db, id, randomUUID(), CLAIM_OPTIONS)
      if (claim.kind !== 'claimed') throw new Error(`The post ${id} was not claimed: ${claim.kind}.`)
      const claimed = await read()
      const answers = claim.post.tasks.map(({ tag }) => created(tag))
      await settlePost(db, claim.post, answers, 60_000, null)
      await endCall(db, claim.post.callId, { httpStatus: 200 })
      claimMs += claimed - before
      settleMs += (await read()) - claimed
    }
    return { claimMs: claimMs / POSTS, settleMs: settleMs / POSTS }
  } finally {
    await db.close()
  }
}

/** Posts a second. The last twentieth is not waited for: a post that is tried again waits for seconds. */
async function measureRunners(db: Database, postIds: readonly string[]): Promise<number> {
  await recordCheck(db)
  const service = await startService([])
  const queue = await openQueue(db.url, LOG)
  const runners = Array.from({ length: RUNNERS }, () => startPartner('runner.ts', [db.url, service.url]))
  await Promise.all(runners.map((runner) => runner.listen()))
  const startedMs = performance.now()
  await db.begin((tx) => queue.enqueuePosts(tx, postIds))
  let settled = 0
  while (settled < postIds.length * 0.95 && performance.now() - startedMs < LIMIT_MS) {
    await sleep(LOOK_EVERY_MS)
    const [row] = await db.sql<{ settled: number }[]>`
      select count(*)::int as settled from post
      where id = any(${[...postIds]}::uuid[]) and state = 'settled'`
    settled = row?.settled ?? 0
  }
  const seconds = (performance.now() - startedMs) / 1000
  for (const runner of runners) runner.end()
  await queue.stop(1_000)
  service.end()
  return settled / seconds
}

export async function measurePosts(db: Database, charges: number): Promise<Measured> {
  await fillTasks(db, POSTS * TASKS_PER_POST)
  const empty = await measureOneByOne(db.url)
  await db.sql`truncate post, task, charge, spend, api_call cascade`
  await db.sql`truncate target, watch_period restart identity cascade`
  await fillBooks(db, charges)
  await fillTasks(db, TASKS)
  const full = await measureOneByOne(db.url)
  const whole = ({ claimMs, settleMs }: Cost) => claimMs + settleMs
  const perSecond = await measureRunners(db, await listReady(db, CLAIMS))
  return {
    'claim and settle: CPU of PostgreSQL': atMost(30, whole(full), 'ms'),
    'of it behind the lock': atMost(10, full.claimMs, 'ms'),
    'against empty books': atMost(1.3, whole(full) / whole(empty), '×'),
    [`claimed, sent and settled by ${RUNNERS} runners`]: atLeast(30, perSecond, '/s'),
  }
}
