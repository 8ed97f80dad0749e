/**
 * One run of `node --test`: a PostgreSQL for all its files, a template database with the migrations applied
 * and the tables of the queue in it, and no process and no file left behind, also when it is interrupted.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { pino } from 'pino'
import postgres from 'postgres'
import { migrate } from '../../src/db/migrate.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { endLeftovers } from './leftovers.ts'
import { type MovedClock, moveClock } from './moved-clock.ts'
import { writeEntries } from './processes.ts'
import { startTestServer, type TestServer } from './test-server.ts'

export interface Suite {
  /** Files or glob patterns, relative to the project. */
  readonly files: readonly string[]
  /** More options of `node --test`. */
  readonly options?: readonly string[]
  /** How `node --test` tells of the tests. */
  readonly reporter?: 'spec' | 'dot'
  /** The URL of a superuser on a server that is there already; without it a temporary one is started. */
  readonly serverUrl?: string | undefined
  /** The folder with the programs of that temporary server; without it those of the npm package. */
  readonly programs?: string
  readonly clock?: MovedClock
  /** How many processes of tests run at once; default five. */
  readonly processes?: number
}

export interface Counts {
  readonly passed: number
  readonly failed: number
}

/** How many of the longest files a run names. */
const LONGEST = 5

const PROJECT = join(import.meta.dirname, '..', '..')
const SUPPORT = pathToFileURL(`${import.meta.dirname}/`)
/** Generous, because a slow machine is no reason to fail: a test that hangs ends. */
const TEST_LIMIT_MS = 10 * 60_000
const MEMORY = '/dev/shm'
const ROOM_BYTES = 4 * 1024 ** 3
const TOTAL_LIMIT_MS = 45 * 60_000

export const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => interrupted.abort())
}

/**
 * Runs the files, more processes at once than a small machine has cores, for they wait at times. What they
 * left running counts as a failure.
 */
export async function runSuite(suite: Suite): Promise<Counts> {
  // Temporary files of all its processes are made in it, so that it tells which processes are its own.
  const folder = await mkdtemp(join((await findMemory()) ?? tmpdir(), 'storerank-test-'))
  // When root runs the tests, another account runs the server.
  await chmod(folder, 0o755)
  const guardian = startGuardian(folder)
  try {
    const { passed, failed } = await runIn(folder, suite)
    const left = await endLeftovers(folder)
    for (const command of left) process.stderr.write(`left running: ${command}\n`)
    return { passed, failed: failed + left.length }
  } finally {
    await endLeftovers(folder)
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    guardian.stdin?.end()
  }
}

/**
 * Ends what a killed run leaves. It learns the folder by a pipe: a process that has it in its command line is
 * one of the run.
 */
function startGuardian(folder: string): ChildProcess {
  const guardian = spawn(process.execPath, [join(import.meta.dirname, 'guardian.ts')], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  guardian.unref()
  guardian.stdin?.write(folder)
  return guardian
}

/**
 * Where files live in memory, when there is room for a run, programs may be started from it, and TMPDIR names
 * no other place: a copy of the template database, 700 files, takes 25 ms of CPU there and 430 on a disk with
 * a journal.
 */
async function findMemory(): Promise<string | undefined> {
  if (process.env.TMPDIR !== undefined) return undefined
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '')
  const [, options] = new RegExp(`^\\S+ ${MEMORY} tmpfs (\\S+)`, 'm').exec(mounts) ?? []
  if (options === undefined || options.split(',').includes('noexec')) return undefined
  const { bavail, bsize } = await statfs(MEMORY)
  return bavail * bsize >= ROOM_BYTES ? MEMORY : undefined
}

async function runIn(folder: string, suite: Suite): Promise<Counts> {
  const server = await openServer(folder, suite)
  try {
    const template = `storerank_test_${randomBytes(4).toString('hex')}`
    try {
      await createTemplate(server.url, template, suite.clock)
      const environment = { TEST_DATABASE_URL: server.url, TEST_TEMPLATE_DATABASE: template }
      return await runFiles(folder, suite, environment)
    } finally {
      await dropDatabases(server.url, template)
    }
  } finally {
    await server.stop()
  }
}

async function openServer(folder: string, { serverUrl, programs, clock }: Suite): Promise<TestServer> {
  if (serverUrl !== undefined) return { url: serverUrl, stop: async () => {} }
  const home = join(folder, 'server')
  await mkdir(home)
  return startTestServer(home, { programs, timeZone: clock?.timeZone ?? 'UTC' })
}

async function createTemplate(
  serverUrl: string,
  template: string,
  clock: MovedClock | undefined,
): Promise<void> {
  await withSession(serverUrl, (sql) => sql`create database ${sql(template)} template template0`)
  const url = Object.assign(new URL(serverUrl), { pathname: `/${template}` }).href
  if (clock !== undefined) await withSession(url, (sql) => moveClock(sql, clock.aheadMs))
  await migrate(url)
  const queue = await openQueue(url, pino({ level: 'silent' }))
  await queue.stop(0)
}

/** The template, and what failed tests have not dropped. */
async function dropDatabases(serverUrl: string, template: string): Promise<void> {
  await withSession(serverUrl, async (sql) => {
    const left = await sql<{ name: string }[]>`
      select datname as name from pg_database where starts_with(datname, ${template})`
    for (const { name } of left) await sql`drop database if exists ${sql(name)} with (force)`
  })
}

async function runFiles(
  folder: string,
  { files, options = [], reporter = 'spec', clock, processes = 5 }: Suite,
  environment: Record<string, string>,
): Promise<Counts> {
  const countsFile = join(folder, 'counts.json')
  const entries = await writeEntries(PROJECT, files, await mkdtemp(join(folder, 'entries-')), processes)
  const preloaded = ['load-faster.ts', ...(clock === undefined ? [] : ['moved-date.ts'])]
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  const child = spawn(
    process.execPath,
    [
      '--test',
      // Fewer and shorter collections of what lives briefly: a tenth of a process's CPU.
      '--max-semi-space-size=64',
      ...preloaded.map((file) => `--import=${new URL(file, SUPPORT)}`),
      `--test-reporter=${reporter}`,
      '--test-reporter-destination=stdout',
      `--test-reporter=${new URL('counts-reporter.ts', SUPPORT)}`,
      `--test-reporter-destination=${countsFile}`,
      `--test-concurrency=${processes}`,
      `--test-timeout=${TEST_LIMIT_MS}`,
      ...options,
      ...entries,
    ],
    {
      cwd: PROJECT,
      env: {
        ...inherited,
        ...environment,
        ...(clock === undefined ? {} : { TZ: clock.timeZone, TEST_CLOCK_AHEAD_MS: String(clock.aheadMs) }),
        TMPDIR: folder,
        NODE_COMPILE_CACHE: join(folder, 'compiled'),
      },
      stdio: 'inherit',
    },
  )
  const end = once(child, 'close')
  stopWhenTold(child)
  const [code] = await end
  return readCounts(countsFile, code === 0 && !interrupted.signal.aborted)
}

/** A run that ended early has counted nothing, or not all. */
async function readCounts(file: string, succeeded: boolean): Promise<Counts> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const { passed, failed, seconds }: Counts & { readonly seconds: Readonly<Record<string, number>> } =
    text === '' ? { passed: 0, failed: 0, seconds: {} } : JSON.parse(text)
  tellLongest(seconds)
  return { passed, failed: succeeded ? failed : Math.max(failed, 1) }
}

function tellLongest(seconds: Readonly<Record<string, number>>): void {
  const longest = Object.entries(seconds)
    .sort(([, a], [, b]) => b - a)
    .slice(0, LONGEST)
  if (longest.length === 0) return
  process.stdout.write(`\nlongest: ${longest.map(([file, time]) => `${file} ${time} s`).join(', ')}\n`)
}

/** SIGINT lets `node --test` end its test processes and print what it has. */
function stopWhenTold(child: ChildProcess): void {
  const stop = () => child.kill('SIGINT')
  const limit = setTimeout(stop, TOTAL_LIMIT_MS)
  child.once('close', () => clearTimeout(limit))
  if (interrupted.signal.aborted) stop()
  else interrupted.signal.addEventListener('abort', stop)
}

async function withSession(url: string, work: (sql: postgres.Sql) => PromiseLike<unknown>): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  try {
    await work(sql)
  } finally {
    await sql.end()
  }
}
