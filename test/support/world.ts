/**
 * One database, one sandbox over real HTTP, and as many runners as a test wants: everything that storerank is
 * in production, with tasks that are ready at once and limits and settings that the test chooses.
 */
import { pino } from 'pino'
import { type Config, readConfig } from '../../src/config.ts'
import { createCallGate } from '../../src/db/call-gate.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import type { JobContext } from '../../src/queue/job.ts'
import { openQueue } from '../../src/queue/queue.ts'
import type { OptionsInput } from '../../src/sandbox/options.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { AppDataClient } from '../../src/service/client.ts'
import type { TransportOptions } from '../../src/service/transport.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { rememberPrices } from './ledger.ts'

export interface World {
  readonly db: Database
  readonly sandboxUrl: string
  readonly client: AppDataClient
  readonly settings: Config
  /** Another process as far as the database can tell: own connections, own queue. `stop` before `close`. */
  openRunner(options?: { settings?: Partial<Config>; url?: string }): Promise<WorldRunner>
  /** Business time for every connection that is opened from now on. */
  setNow(instant: string): Promise<void>
  close(): Promise<void>
}

export interface WorldRunner {
  readonly context: JobContext
  stop(): Promise<void>
}

export interface WorldOptions {
  readonly sandbox?: OptionsInput
  readonly settings?: Partial<Config>
  readonly now?: string
  /** How clients of the world differ. */
  readonly client?: Partial<TransportOptions>
  /** Instead of a fresh one; closing the world drops it. */
  readonly database?: TestDatabase
}

/** The ready list may be asked as often as a test likes; what a test is about it sets itself. */
const SANDBOX: OptionsInput = { readyMs: 0, readyListsPerMinute: 1000, idListsPerMinute: 1000 }

/** The sandbox lists tasks up to its present, as it is specified. */
export const LOGIN = { login: 'sandbox', password: 'sandbox', unlistedMs: 0 } as const

export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const database = options.database ?? (await createTestDatabase())
  const setNow = async (instant: string) => {
    const name = new URL(database.url).pathname.slice(1)
    await database.sql.unsafe(`alter database "${name}" set storerank.now = '${instant}'`)
  }
  if (options.now !== undefined) await setNow(options.now)
  const sandbox = await startSandbox({ ...SANDBOX, ...options.sandbox })
  const settings = { ...readConfig({}), ...options.settings }
  const db = openDatabase(database.url)
  const client = new AppDataClient({ ...LOGIN, baseUrl: sandbox.url, ...options.client })
  await rememberPrices(db.sql)
  const runners: WorldRunner[] = []
  return {
    db,
    sandboxUrl: sandbox.url,
    client,
    settings,
    setNow,
    openRunner: async (changes = {}) => {
      const runner = await openRunner(
        database.url,
        changes.url ?? sandbox.url,
        `runner-${runners.length + 1}`,
        { ...settings, ...changes.settings },
        options.client,
      )
      runners.push(runner)
      return runner
    },
    close: async () => {
      await Promise.all(runners.map((runner) => runner.stop()))
      await client.close()
      await db.close()
      await sandbox.close()
      await database.drop()
    },
  }
}

async function openRunner(
  url: string,
  serviceUrl: string,
  runner: string,
  settings: Config,
  options: Partial<TransportOptions> = {},
): Promise<WorldRunner> {
  const stopping = new AbortController()
  const log = pino({ level: 'silent' })
  const db = openDatabase(url, { name: runner })
  const gate = createCallGate(db, { ...settings, runner }, stopping.signal)
  const client = new AppDataClient({ ...LOGIN, baseUrl: serviceUrl, gate, ...options })
  const queue = await openQueue(url, log)
  let stopped: Promise<void> | undefined
  const stop = async () => {
    stopping.abort()
    await queue.stop(30_000)
    await client.close()
    await db.close()
  }
  return {
    context: { db, client, queue, settings, runner, log, signal: stopping.signal },
    stop: () => {
      stopped ??= stop()
      return stopped
    },
  }
}

/** What the queue tries again after a pause is due now, and its workers are told as they are of a new job. */
export async function endRetryPauses({ db }: Pick<World, 'db'>): Promise<void> {
  await db.sql`
    with due as (update pgboss.job set start_after = now() where state = 'retry' returning name)
    select pg_notify('pgboss_' || left(encode(sha224('pgboss'), 'hex'), 24), name) from due`
}

/** Polls until the condition holds; fails with its sentence after a generous bound. */
export async function until(
  what: string,
  condition: () => Promise<boolean>,
  boundMs = 120_000,
): Promise<void> {
  const deadlineMs = performance.now() + boundMs
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(`It never came true that ${what}.`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
