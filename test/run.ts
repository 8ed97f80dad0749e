/**
 * What `npm test` runs: one PostgreSQL for all tests, a template database with the migrations applied and the tables of the
 * queue in it, then `node --test` with the arguments of this command (default: every test). `TEST_DATABASE_URL`, the URL of a
 * superuser on a PostgreSQL 15 or later, replaces the temporary server. Nothing is left behind but the two roles that the
 * migration makes: they belong to the whole server.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { pino } from 'pino'
import postgres from 'postgres'
import { migrate } from '../src/db/migrate.ts'
import { attachEmbedded } from '../src/embedded/attach.ts'
import { openCluster } from '../src/embedded/cluster.ts'
import { openQueue } from '../src/queue/queue.ts'

const PROJECT = join(import.meta.dirname, '..')
const LOAD_FASTER = pathToFileURL(join(PROJECT, 'test/support/load-faster.ts')).href
const ALL_TESTS = 'test/**/*.test.ts'
/** Generous, because a slow machine is no reason to fail: whatever hangs ends. */
const TEST_LIMIT_MS = 10 * 60_000
const TOTAL_LIMIT_MS = 45 * 60_000

/** Speed instead of safety: the data is thrown away. */
const SETTINGS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' }

/** A server, and how to leave it as it was found. */
interface Server {
  url: string
  dispose(): Promise<void>
}

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort())
process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const template = `storerank_test_${randomBytes(4).toString('hex')}`
  const { TEST_DATABASE_URL: givenUrl } = process.env
  const cache = await mkdtemp(join(tmpdir(), 'storerank-test-cache-'))
  const server = givenUrl === undefined ? await startServer() : useServer(givenUrl, template)
  try {
    await createTemplate(server.url, template)
    return await runTests(args, {
      TEST_DATABASE_URL: server.url,
      TEST_TEMPLATE_DATABASE: template,
      NODE_COMPILE_CACHE: cache,
    })
  } finally {
    await server.dispose()
    await rm(cache, { recursive: true })
  }
}

/** A temporary server, removed with all that is in it. */
async function startServer(): Promise<Server> {
  const home = await mkdtemp(join(tmpdir(), 'storerank-test-'))
  // When root runs the tests, another account runs the server.
  await chmod(home, 0o755)
  const { folder } = await openCluster(home, SETTINGS)
  const server = await attachEmbedded({ home, database: 'storerank_test_admin' })
  return {
    url: server.url,
    async dispose() {
      await server.dispose()
      await rm(folder, { recursive: true })
      await rm(home, { recursive: true })
    },
  }
}

/** A person's own server: the template goes, and what failed tests have not dropped. */
function useServer(url: string, template: string): Server {
  return {
    url,
    dispose: () =>
      withAdmin(url, async (sql) => {
        const left = await sql<{ name: string }[]>`
          select datname as name from pg_database where starts_with(datname, ${template})`
        for (const { name } of left) await sql`drop database if exists ${sql(name)} with (force)`
      }),
  }
}

async function createTemplate(url: string, template: string): Promise<void> {
  await withAdmin(url, (sql) => sql`create database ${sql(template)} template template0`)
  const templateUrl = new URL(url)
  templateUrl.pathname = `/${template}`
  await migrate(templateUrl.href)
  const queue = await openQueue(templateUrl.href, pino({ level: 'silent' }))
  await queue.stop(0)
}

/** @returns the exit code of `node --test`, or 1 when it was interrupted or took too long */
async function runTests(args: string[], environment: Record<string, string>): Promise<number> {
  const files = args.some((each) => !each.startsWith('-')) ? [] : [ALL_TESTS]
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  const child = spawn(
    process.execPath,
    [
      '--test',
      `--import=${LOAD_FASTER}`,
      '--test-reporter=spec',
      '--test-concurrency=2',
      `--test-timeout=${TEST_LIMIT_MS}`,
      ...args,
      ...files,
    ],
    { cwd: PROJECT, env: { ...inherited, ...environment }, stdio: 'inherit' },
  )
  const end = once(child, 'close')
  stopWhenTold(child)
  const [code] = await end
  return typeof code === 'number' && !interrupted.signal.aborted ? code : 1
}

/** SIGINT lets the runner end its test processes and print what it has. */
function stopWhenTold(child: ChildProcess): void {
  const stop = () => child.kill('SIGINT')
  const limit = setTimeout(stop, TOTAL_LIMIT_MS)
  child.once('close', () => clearTimeout(limit))
  if (interrupted.signal.aborted) stop()
  else interrupted.signal.addEventListener('abort', stop)
}

async function withAdmin(url: string, work: (sql: postgres.Sql) => PromiseLike<unknown>): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  try {
    await work(sql)
  } finally {
    await sql.end()
  }
}
