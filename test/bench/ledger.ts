/**
 * What a claim and a settlement cost in the thirtieth day of a month: CPU of the database, on books of
 * `--charges` charges and `--tasks` planned tasks, beside the same on empty books, in one run on one
 * PostgreSQL. Then what a task leaves behind on disk. Bounded: it ends by itself after `--posts` posts on
 * each.
 */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { endCall } from '../../src/db/call-window.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { pruneTasks } from '../../src/ledger/prune.ts'
import { claimPost } from '../../src/post/claim.ts'
import { settlePost } from '../../src/post/settle.ts'
import type { TaskAnswer } from '../../src/service/post-tasks.ts'
import { rememberPrices } from '../support/ledger.ts'
import { drawRows } from '../support/rows.ts'
import { printBars } from './bars.ts'
import { withDatabase } from './database.ts'
import { measureClaims } from './runners.ts'

const PROJECTS = 50
const TASKS_PER_POST = 100
const RUNNERS = 4

const { values } = parseArgs({
  options: {
    charges: { type: 'string', default: '6000000' },
    tasks: { type: 'string', default: '300000' },
    posts: { type: 'string', default: '200' },
    claims: { type: 'string', default: '300' },
  },
})
const CHARGES = Number(values.charges)
const TASKS = Number(values.tasks)
const POSTS = Number(values.posts)
const CLAIMS = Number(values.claims)
const CLAIM_OPTIONS = {
  budget: { maxDayMicros: 1_000_000_000_000, maxMonthMicros: 1_000_000_000_000 },
  window: { callsPerMinute: 200_000, maxConcurrentRequests: 1_000, runner: 'bench' },
  postbackUrl: null,
}
const print = (line: string) => process.stdout.write(`${line}\n`)

interface Measured {
  readonly claimCpuMs: number
  readonly settleCpuMs: number
  readonly claimBuffers: number
}

/**
 * CPU that the one backend of a database with one connection has used, in ms. Linux counts it in nanoseconds.
 */
async function readCpuMs(pid: number): Promise<number> {
  return Number((await readFile(`/proc/${pid}/schedstat`, 'utf8')).split(' ')[0]) / 1_000_000
}

/** A session reports what it has read once a second at most, unless it is told to. */
async function readBuffers(db: Database): Promise<number> {
  await db.sql`select pg_stat_force_next_flush()`
  const [row] = await db.sql<{ buffers: number }[]>`
    select (blks_hit + blks_read)::bigint as buffers from pg_stat_database where datname = current_database()`
  return row?.buffers ?? 0
}

async function fillBooks(db: Database): Promise<void> {
  print(`${CHARGES.toLocaleString('en')} charges of this month …`)
  await db.sql`
    insert into charge (at, slot, amount_micros, target_id, project_id, kind, service_id)
    select date_trunc('month', now(), 'UTC') + (now() - date_trunc('month', now(), 'UTC'))
      * (n::float8 / ${CHARGES}),
      date_trunc('day', now(), 'UTC'), 1200, 1 + n % 1000, 1 + n % ${PROJECTS}, 'charge', uuid_v7()::text
    from generate_series(1, ${CHARGES}::int) n`
  await db.sql`select recount_spend()`
}

async function fillTasks(db: Database, tasks: number): Promise<void> {
  // Each has a budget that is not reached: a claim reads the money of those that have one.
  await db.sql`
    insert into project (name, daily_usd, monthly_usd) select 'project ' || n, 10000, case when n % 2 = 0
      then 100000 end
    from generate_series(1, ${PROJECTS}) n on conflict do nothing`
  await db.sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', 'keyword ' || n, 2840, 'en' from generate_series(1, ${tasks}::int) n`
  await db.sql`
    insert into app (store, app_id) values ('ios_store', '100000000') on conflict do nothing`
  await db.sql`
    insert into watch_period (kind, watch_id, project, target_id, every, depth, priority, started_at,
      first_slot)
    select 'keyword', id, 'project ' || 1 + id % ${PROJECTS}, id, '1 day', 100, 1, now() - interval '1 day',
      slot_of('1 day', now()) from target`
  await db.sql`
    insert into post (id, store, function)
    select uuid_v7(), 'ios_store', 'app_searches' from generate_series(1,
      ${Math.ceil(tasks / TASKS_PER_POST)}::int)`
  await db.sql`
    with place as (select id, row_number() over (order by id) - 1 as number from post)
    insert into task (target_id, slot, slot_ends_at, depth, priority, estimate_micros, payers, post_id)
    select t.id, slot_of('1 day', now()), slot_of('1 day', now()) + interval '1 day', 100, 1, 1200,
      array[(1 + t.id % ${PROJECTS})::int], p.id
    from (select id, row_number() over (order by id) - 1 as number from target) t
    join place p on p.number = t.number / ${TASKS_PER_POST}`
  await db.sql`select recount_spend()`
  await rememberPrices(db.sql)
}

const created = (tags: readonly string[]): TaskAnswer[] =>
  tags.map((tag) => ({
    tag,
    serviceId: randomUUID(),
    statusCode: 20100,
    message: 'Task Created.',
    costMicros: 1200,
  }))

async function measure(db: Database): Promise<Measured> {
  const [backend] = await db.sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const pid = backend?.pid ?? 0
  const ids = await db.sql<
    { id: string }[]
  >`select id from post where state = 'ready' order by id limit ${POSTS}`
  let claimCpuMs = 0
  let settleCpuMs = 0
  let claimBuffers = 0
  for (const { id } of ids) {
    const buffers = await readBuffers(db)
    const before = await readCpuMs(pid)
    const claim = await claimPost(db, id, randomUUID(), CLAIM_OPTIONS)
    if (claim.kind !== 'claimed') throw new Error(`The post ${id} was not claimed: ${claim.kind}.`)
    const claimed = await readCpuMs(pid)
    claimBuffers += (await readBuffers(db)) - buffers
    const settling = await readCpuMs(pid)
    await settlePost(db, claim.post, created(claim.post.tasks.map(({ tag }) => tag)), 60_000, null)
    await endCall(db, claim.post.callId, { httpStatus: 200 })
    claimCpuMs += claimed - before
    settleCpuMs += (await readCpuMs(pid)) - settling
  }
  const each = (total: number) => total / ids.length
  return { claimCpuMs: each(claimCpuMs), settleCpuMs: each(settleCpuMs), claimBuffers: each(claimBuffers) }
}

/** Bytes on disk of a table with its indexes. */
async function readBytes(db: Database, name: string): Promise<number> {
  const [row] = await db.sql<{ bytes: number }[]>`select pg_total_relation_size(${name}::regclass) as bytes`
  return row?.bytes ?? 0
}

/** One connection, so that one backend does all of the work. */
async function measureOn(url: string): Promise<Measured> {
  const db = openDatabase(url, { name: 'bench', maxConnections: 1 })
  try {
    await db.sql`analyze`
    return await measure(db)
  } finally {
    await db.close()
  }
}

await withDatabase(async (db) => {
  await fillTasks(db, POSTS * TASKS_PER_POST)
  const empty = await measureOn(db.url)
  await db.sql`truncate post, task, charge, spend, spend_change, api_call cascade`
  await db.sql`truncate target, watch_period restart identity cascade`
  print(`${TASKS.toLocaleString('en')} planned tasks …`)
  await fillTasks(db, TASKS)
  const taskBytes = (await readBytes(db, 'task')) + (await readBytes(db, 'post'))
  await fillBooks(db)
  const chargeBytes = await readBytes(db, 'charge')
  await db.sql`vacuum analyze`
  const full = await measureOn(db.url)
  const ratio = (a: number, b: number) => `${(a / b).toFixed(2)} ×`
  const line = (name: string, of: keyof Measured, unit: string) => [
    name,
    `${empty[of].toFixed(1)} ${unit}`,
    `${full[of].toFixed(1)} ${unit}`,
    ratio(full[of], empty[of]),
  ]
  print(
    drawRows(
      ['a post of 100 tasks', 'empty books', 'a month of books', 'ratio'],
      [
        line('claim: CPU of the database, all behind the lock', 'claimCpuMs', 'ms'),
        line('settle: CPU of the database', 'settleCpuMs', 'ms'),
        line('claim: buffers', 'claimBuffers', ''),
      ],
    ),
  )
  const ready = await db.sql<
    { id: string }[]
  >`select id from post where state = 'ready' order by id limit ${CLAIMS}`
  const claims = await measureClaims(
    db,
    ready.map(({ id }) => id),
    RUNNERS,
  )
  const whole = ({ claimCpuMs, settleCpuMs }: Measured) => claimCpuMs + settleCpuMs
  printBars('a post of 100 tasks', [
    { what: 'claim and settle: CPU of the database', value: whole(full), unit: 'ms', atMost: 30 },
    { what: 'of it behind the lock', value: full.claimCpuMs, unit: 'ms', atMost: 10 },
    { what: 'against empty books', value: whole(full) / whole(empty), unit: '×', atMost: 1.3 },
    {
      what: `claimed, sent and settled by ${RUNNERS} runners`,
      value: claims.rate,
      unit: '/s',
      atLeast: 30,
    },
  ])
  await db.sql`update task set state = 'dropped', ended_at = now() - interval '100 days', post_id = null
    where state = 'planned'`
  let pruned = 0
  for (;;) {
    const rows = await pruneTasks(db.sql)
    if (rows === 0) break
    pruned += rows
  }
  print(
    drawRows(
      ['a task leaves on disk, indexes included', 'bytes'],
      [
        ['while it is kept (90 days): task and its part of a post', (taskBytes / TASKS).toFixed(0)],
        ['for ever: its charge', (chargeBytes / CHARGES).toFixed(0)],
        [`pruned after it (${pruned.toLocaleString('en')} tasks)`, 'task and post'],
      ],
    ),
  )
})
