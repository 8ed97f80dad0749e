/**
 * A long life in a short time: two processes of `storerank start` on a database whose clock leaps from day to
 * day, with that of the sandbox, while nothing is under way. Everything goes by that clock: slots, money,
 * leases, retention, the queue. Days of trouble come between.
 */
import { randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import postgres from 'postgres'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { retryWhileDatabaseIsDown, saysOutage } from '../../src/db/outage.ts'
import { readOutstanding } from '../../src/queue/cycle.ts'
import { enqueueRun } from '../../src/queue/job.ts'
import { openQueue, type Queue } from '../../src/queue/queue.ts'
import {
  drawPostbackUrl,
  type PostgresServer,
  SANDBOX_LOGIN,
  type SandboxServer,
  startPostgres,
  startSandboxProcess,
} from '../crash/servers.ts'
import { shortenCallWindow } from '../support/call-window.ts'
import { migrateLater } from '../support/database.ts'
import { moveClockByTable } from '../support/moved-clock.ts'
import { settingsOf } from '../support/sandbox-process.ts'
import type { Life } from './checks.ts'
import { copyProduction, failOver, fillDisk, killRunners, type Told } from './events.ts'
import {
  countBoughtTwice,
  countCharged,
  countConnections,
  countStored,
  type DayReport,
  readTables,
  readWork,
} from './measure.ts'
import { type SoakRunner, startSoakRunner } from './runners.ts'
import { openYardstick, type Yardstick } from './yardstick.ts'

export interface SoakOptions {
  readonly days: number
  /** Due each day. */
  readonly tasks: number
  /**
   * The day on which a newer version migrates; 0 for none. It takes up to a minute until the runners see it.
   */
  readonly upgradeOn: number
  readonly logFile: string
  readonly onDay: (report: DayReport) => void
  /** Ends it, and leaves nothing running. */
  readonly signal: AbortSignal
}

export interface World {
  readonly options: SoakOptions
  readonly server: PostgresServer
  readonly sandbox: SandboxServer
  readonly url: string
  readonly env: Readonly<Record<string, string>>
  db: Database
  queue: Queue
  readonly yardstick: Yardstick
  readonly runners: Map<'first' | 'second', SoakRunner>
  /** How often each was started: another process is another life. */
  starts: number
  readonly told: Told[]
}

const SETTINGS = {
  shared_preload_libraries: 'pg_stat_statements',
  track_activity_query_size: '4096',
  // A day of half a minute sees autovacuum more than once, as a whole day does.
  autovacuum_naptime: '5s',
}
const DAY_MS = 86_400_000
const LOOK_EVERY_MS = 250
const COLLECT_EVERY_MS = 2_000
/**
 * The audit too: the schedule would find it once a minute, and some days are shorter, and would cost less
 * without it.
 */
const DAILY_JOBS = ['housekeeping', 'account', 'status', 'track', 'audit']
const DAY_LIMIT_MS = 30 * 60_000
const SILENT = pino({ level: 'silent' })
const QUIET_MS = 2_000
/** Ninety days of 20,000 tasks cost $2,160. */
const BALANCE_USD = 100_000
/** A day of half a minute cannot wait for limits of a minute: its lists of ids alone would take two. */
const CALL_WINDOW_MS = 2_000
/** So that everything bought or done in the life is older than it is kept. */
const AGING_DAYS = 135

/**
 * @throws AbortError, or what it broke, when the signal ends it. Whenever that is, nothing is left running.
 */
export async function liveLong(options: SoakOptions): Promise<Life> {
  await using ends = new AsyncDisposableStack()
  const world = await openWorld(options, ends)
  const days: DayReport[] = []
  for (let day = 1; day <= options.days; day += 1) {
    const report = await liveOneDay(world, day)
    days.push(report)
    options.onDay(report)
  }
  const boughtTwice = await countBoughtTwice(world.db)
  const bloat = await measureBloat(world)
  const aged = await age(world)
  const differences = (await world.db.sql`select from spend_difference`).count
  return { tasks: options.tasks, days, bloat, aged, differences, boughtTwice, told: world.told }
}

async function openWorld(options: SoakOptions, ends: AsyncDisposableStack): Promise<World> {
  const server = await startPostgres(SETTINGS)
  ends.defer(() => server.stop())
  const folder = await mkdtemp(join(tmpdir(), 'storerank-soak-'))
  ends.defer(() => rm(folder, { recursive: true, force: true }))
  const sandbox = await startSandboxProcess({
    seed: 1,
    readyMs: 200,
    clockOffsetMs: 0,
    balanceUsd: BALANCE_USD,
  })
  ends.defer(() => sandbox.stop())
  const url = Object.assign(new URL(server.url), { pathname: '/soak' }).href
  const admin = postgres(server.url, { max: 1, onnotice: () => {} })
  await admin`create database soak`
  await admin.end()
  const clock = postgres(url, { max: 1, onnotice: () => {} })
  await moveClockByTable(clock)
  await clock.end()
  await migrate(url)
  const db = openDatabase(url, { name: 'soak' })
  ends.defer(() => db.close())
  await shortenCallWindow(db.sql, CALL_WINDOW_MS)
  const queue = await openQueue(url, SILENT)
  ends.defer(() => queue.stop(0))
  const yardstick = openYardstick(url)
  ends.defer(() => yardstick.close())
  const env = {
    ...settingsOf(url, sandbox.url),
    POSTBACK_URL: drawPostbackUrl(),
    MAX_USD_PER_DAY: '1000000',
    RECONCILE_QUIET: `${QUIET_MS}ms`,
    KEEP_HISTORY: '92d',
    KEEP_MONEY: '92d',
    KEEP_PAGES: '7d',
    STORERANK_HOME: folder,
    LOG_LEVEL: 'info',
  }
  const world: World = {
    options,
    server,
    sandbox,
    url,
    env,
    db,
    queue,
    yardstick,
    runners: new Map(),
    starts: 0,
    told: [],
  }
  ends.defer(async () => {
    await Promise.all([...world.runners.values()].map((runner) => runner.stop('SIGKILL')))
  })
  await watch(db, options.tasks)
  // To noon, so that a day that takes half an hour ends on its day.
  await leap(world, DAY_MS - ((await readClock(db)).getTime() % DAY_MS) + DAY_MS / 2)
  await startRunner(world, 'first')
  await startRunner(world, 'second')
  return world
}

/** Keywords of five projects, every tenth in two of them; some with raw pages; an app's page and reviews. */
async function watch({ sql }: Database, tasks: number): Promise<void> {
  const pages = Math.ceil(tasks / 50)
  for (const [project, step] of [
    [0, 1],
    [1, 10],
  ] as const)
    await sql`
      insert into keyword_watch (project, store, keyword, location_code, language_code, depth)
      select 'project ' || (n + ${project}::int) % 5, 'ios_store',
        (array['yoga', 'puzzle', 'budget', 'piano', 'recipes'])[1 + n % 5] || ' ' || n, 2840, 'en', 100
      from generate_series(1, ${tasks - pages - 2}::int, ${step}::int) n`
  await sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code, html)
    select 'pages', 'android_store', 'page ' || n, 2840, 'en', true from generate_series(1, ${pages}::int) n`
  await sql`
    insert into app_watch (project, store, app_id, info, reviews, location_code, language_code)
    values ('project 0', 'ios_store', '1480010017', true, true, 2840, 'en')`
}

async function startRunner(world: World, name: 'first' | 'second'): Promise<void> {
  world.starts += 1
  const args = name === 'first' ? ['--listen', String(new URL(world.env.POSTBACK_URL ?? '').port)] : []
  const { env, options } = world
  const runner = await startSoakRunner({ name: `${name} (${world.starts})`, env, args, ...options })
  world.runners.set(name, runner)
}

async function readClock({ sql }: Database): Promise<Date> {
  const [row] = await sql<{ now: Date }[]>`select clock_timestamp() as now`
  if (row === undefined) throw new Error('A select without a table returned no row.')
  return row.now
}

/** Nothing may be under way. */
async function leap({ db, sandbox }: World, ms: number, faults: object = {}): Promise<void> {
  await db.sql`update moved_clock set ahead = ahead + make_interval(secs => ${ms / 1000}::float8)`
  const [row] = await db.sql<{ ms: number }[]>`
    select extract(epoch from ahead)::float8 * 1000 as ms from moved_clock`
  const response = await fetch(`${sandbox.url}/faults`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', ...SANDBOX_LOGIN },
    body: JSON.stringify({ ...faults, clockOffsetMs: Math.round(row?.ms ?? 0) }),
  })
  if (!response.ok) throw new Error(`The sandbox refuses its clock: ${await response.text()}`)
}

interface Trouble {
  readonly name: string
  readonly faults?: object
  /** Before the day, of which it returns how much it let pass, in milliseconds. */
  begin?(world: World): Promise<number>
  strike?(world: World): Promise<void>
}

const QUIET: Trouble = { name: '' }
const TROUBLES: Readonly<Record<number, Trouble>> = {
  3: { name: 'the service fails', faults: { http500: 0.02, slow: 0.02, reset: 0.01 } },
  4: {
    name: 'the second runner is killed',
    strike: async (world) => {
      await world.runners.get('second')?.stop('SIGKILL')
      await startRunner(world, 'second')
    },
  },
  5: { name: 'the database restarts', strike: ({ server }) => server.restart('fast') },
  6: {
    name: 'the second runner is restarted',
    strike: async (world) => {
      await world.runners.get('second')?.stop()
      await startRunner(world, 'second')
    },
  },
  7: {
    name: 'both runners are dead',
    begin: (world) => killRunners(world, (ms) => leap(world, ms)),
    strike: async (world) => {
      await startRunner(world, 'first')
      await startRunner(world, 'second')
    },
  },
  8: { name: 'a copy of the database runs', strike: copyProduction },
  9: { name: 'the disk is full', strike: fillDisk },
  10: { name: 'a failover', strike: failOver },
}
/** A failover, a copy, a full disk and dead runners come once in it. */
const CYCLE_DAYS = 14

const UPGRADE: Trouble = {
  name: 'a newer version migrates',
  strike: async (world) => {
    await migrateLater(world.db.sql)
    const codes = await Promise.all([...world.runners.values()].map(({ ended }) => ended))
    if (codes.some((code) => code !== 2))
      throw new Error(`Runners of the old version ended with ${codes.join(' and ')}.`)
    await world.db.sql`delete from drizzle.__drizzle_migrations where hash = 'later'`
    await startRunner(world, 'first')
    await startRunner(world, 'second')
  },
}

async function liveOneDay(world: World, day: number): Promise<DayReport> {
  const trouble = day === world.options.upgradeOn ? UPGRADE : (TROUBLES[day % CYCLE_DAYS] ?? QUIET)
  // Sessions of ours too end with what is done to the database.
  const ask = <T>(read: (db: Database) => Promise<T>) =>
    retryWhileDatabaseIsDown(() => read(world.db), world.options.signal)
  const before = await ask(readWork)
  const passedMs = (await trouble.begin?.(world)) ?? 0
  await leap(world, DAY_MS - passedMs, trouble.faults)
  for (const job of DAILY_JOBS) await wake(world, job)
  await trouble.strike?.(world)
  if (trouble.name !== '') await wake(world, 'track')
  await waitUntilDone(world, day)
  const after = await ask(readWork)
  const held = await Promise.all(
    [...world.runners.values()].map(async (runner) => [runner.name, await runner.hold()] as const),
  )
  const part = (what: 'cpuMs' | 'statements' | 'buffers') =>
    (after[what] - before[what]) / world.options.tasks
  return {
    day,
    tasks: await ask(countStored),
    cpuMs: part('cpuMs'),
    yardstickMs: world.yardstick.read(),
    statements: part('statements'),
    buffers: part('buffers'),
    connections: await ask(countConnections),
    runners: Object.fromEntries(held),
    trouble: trouble.name,
  }
}

/** As the scheduler of a runner enqueues it, which looks once a minute. */
async function wake({ db, queue }: World, job: string): Promise<void> {
  await enqueueRun(db, queue, job, await readClock(db), true).catch((error) => {
    // The database restarts.
    if (!saysOutage(error)) throw error
  })
}

async function waitUntilDone(world: World, day: number): Promise<void> {
  const startedMs = performance.now()
  let collectAtMs = startedMs + COLLECT_EVERY_MS
  for (;;) {
    if (await isDone(world).catch(() => false)) return
    const nowMs = performance.now()
    if (nowMs - startedMs > DAY_LIMIT_MS) throw new Error(`Day ${day} did not end.`)
    if (nowMs >= collectAtMs) {
      for (const job of ['track', 'collect', 'reconcile']) await wake(world, job)
      await world.yardstick.sample()
      collectAtMs = nowMs + COLLECT_EVERY_MS
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal: world.options.signal })
  }
}

/** What is cheap is asked first, so that what this reads is not taken for the work of the day. */
async function isDone({ db, queue, options }: World): Promise<boolean> {
  const isQueueEmpty = async () => (await queue.countOpen()) === 0 && (await queue.countOpen('job')) === 0
  if ((await countCharged(db)) < options.tasks || !(await isQueueEmpty())) return false
  const { planned, posting, posted } = await readOutstanding(db, QUIET_MS)
  return planned + posting + posted === 0 && isQueueEmpty()
}

/**
 * What each table has, and would have if it were written anew. Not day by day: to count all rows would take
 * all else out of the server's memory.
 */
async function measureBloat({ db }: World): Promise<Life['bloat']> {
  const before = await readTables(db)
  const writes = postgres(db.url, { max: 1, onnotice: () => {} })
  await writes.unsafe('vacuum full').finally(() => writes.end())
  const fresh = new Map((await readTables(db)).map(({ table, bytes }) => [table, bytes]))
  return before.map((size) => ({ ...size, freshBytes: fresh.get(size.table) ?? 0 }))
}

/** Watches end, and so much time passes that all is too old. */
async function age(world: World): Promise<Life['aged']> {
  const { db } = world
  await db.sql`update keyword_watch set enabled = false`
  await db.sql`update app_watch set enabled = false`
  await wake(world, 'track')
  await waitForJobs(world)
  await leap(world, AGING_DAYS * DAY_MS)
  for (const job of ['track', 'housekeeping']) {
    await wake(world, job)
    await waitForJobs(world)
  }
  return readTables(db)
}

async function waitForJobs({ queue, options: { signal } }: World): Promise<void> {
  while ((await queue.countOpen('job')) > 0) await sleep(LOOK_EVERY_MS, undefined, { signal })
}

/** Where logs of runners go unless told otherwise. */
export const defaultLogFile = () => join(tmpdir(), `storerank-soak-${randomInt(1_000_000)}.log`)
