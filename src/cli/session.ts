/**
 * What a command works with: the person's own database and service, or the embedded database and the sandbox. The rest of
 * storerank never knows which.
 */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { claimDatabaseFor } from '../account/usage.ts'
import { createCallGate } from '../db/call-window.ts'
import { type Database, openDatabase } from '../db/database.ts'
import { migrate } from '../db/migrate.ts'
import { attachEmbedded } from '../embedded/attach.ts'
import { ConfigurationError } from '../errors.ts'
import type { JobContext, RunnerSettings } from '../queue/job.ts'
import { openQueue } from '../queue/queue.ts'
import { nameRunner } from '../queue/runner.ts'
import { createClient } from '../service/client.ts'
import type { CommandContext } from './command.ts'
import { createOutageLog } from './outage-log.ts'
import { attachSandbox } from './sandbox-process.ts'

export interface DatabaseSession {
  readonly db: Database
  /** Null with the person's own database. */
  readonly embedded: {
    /** Without the password: psql takes it from the file that only its owner reads. */ readonly psqlUrl: string
  } | null
  close(): Promise<void>
}

export interface WorkSession extends DatabaseSession {
  readonly job: JobContext
  /** Address of the sandbox; null with the person's own account. */
  readonly sandboxUrl: string | null
  /** Takes no new work; what is in flight ends, or is handed on after the grace time. */
  drain(): Promise<void>
}

/** Invented ranks must never mix with bought ones, so each has a database of its own. */
const SANDBOX_DATABASE = 'storerank_sandbox'
const ACCOUNT_DATABASE = 'storerank'
/** Longer than a POST may take (25.5 s): what is in flight is settled before the runner ends. */
const GRACE_MS = 30_000

/** Opens the database. The embedded one is always migrated; the person's own only when `migrates` says so. */
export async function openDatabaseSession(
  { config }: CommandContext,
  options: { readonly migrates: boolean },
): Promise<DatabaseSession> {
  const own = config.databaseUrl?.reveal()
  if (own === undefined && !options.migrates && !existsSync(join(config.home, 'postgres'))) {
    throw new ConfigurationError(
      `There is no embedded database in ${config.home} yet. Run \`storerank run\` first, or set DATABASE_URL.`,
    )
  }
  const database = config.service === null ? SANDBOX_DATABASE : ACCOUNT_DATABASE
  const embedded = own === undefined ? await attachEmbedded({ home: config.home, database }) : null
  const url = own ?? embedded?.url ?? ''
  const db = openDatabase(url)
  const close = async () => {
    await db.close()
    await embedded?.dispose()
  }
  try {
    if (options.migrates || embedded !== null) await migrate(url)
    else await requireSchema(db)
    const psqlUrl = embedded === null ? null : await writePassFile(embedded.url, config.home)
    return { db, embedded: psqlUrl === null ? null : { psqlUrl }, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Opens everything that work needs. The caller drains it, then closes it. */
export async function openWorkSession(context: CommandContext): Promise<WorkSession> {
  const session = await openDatabaseSession(context, { migrates: true })
  try {
    return await openWork(session, context)
  } catch (error) {
    await session.close()
    throw error
  }
}

async function openWork(session: DatabaseSession, context: CommandContext): Promise<WorkSession> {
  const { config, signal } = context
  const log = createOutageLog(context.log, () => session.db.sql`select`)
  await claimDatabaseFor(
    session.db,
    config.service === null ? 'the sandbox' : `the account ${config.service.login}`,
  )
  const sandbox = config.service === null ? await attachSandbox({ home: config.home }) : null
  const service = sandbox ?? { ...config.service, password: config.service?.password.reveal() }
  const settings = settingsOf(context)
  const runner = nameRunner(hostname(), process.pid)
  const client = createClient({
    baseUrl: service.url ?? '',
    login: service.login ?? '',
    password: service.password ?? '',
    maxConcurrent: settings.maxConcurrentRequests,
    gate: createCallGate(session.db, { ...settings, runner }, signal),
  })
  const queue = await openQueue(session.db.url, log)
  return {
    ...session,
    sandboxUrl: sandbox?.url ?? null,
    job: { db: session.db, client, queue, settings, runner, log, signal },
    drain: () => queue.stop(GRACE_MS),
    close: async () => {
      await client.close()
      await sandbox?.dispose()
      await session.close()
    },
  }
}

export function settingsOf({ config }: CommandContext): RunnerSettings {
  return {
    budget: {
      maxDayMicros: config.maxUsdPerDayMicros,
      maxMonthMicros: config.maxUsdPerMonthMicros,
      maxRunMicros: config.maxUsdPerRunMicros,
    },
    callsPerMinute: config.callsPerMinute,
    maxConcurrentRequests: config.maxConcurrentRequests,
    maxAttempts: config.maxAttempts,
    overdueAfterMs: config.overdueAfterMs,
    reconcileQuietMs: config.reconcileQuietMs,
    postbackUrl: config.postbackUrl,
    reports: config.reports,
  }
}

/** A password file as psql reads it, so that no password stands in a command line or a log. */
async function writePassFile(url: string, home: string): Promise<string> {
  const { hostname: host, port, username, password, pathname } = new URL(url)
  const file = join(home, 'pgpass')
  await writeFile(file, `${host}:${port}:*:${username}:${password}\n`, { mode: 0o600 })
  return `postgres://${username}@${host}:${port}${pathname}?passfile=${encodeURIComponent(file)}`
}

async function requireSchema(db: Database): Promise<void> {
  const [row] = await db.sql<{ there: boolean }[]>`select to_regclass('watch_period') is not null as there`
  if (row?.there) return
  throw new ConfigurationError(
    'The database of DATABASE_URL has no tables of storerank yet. Run `storerank migrate` or `storerank run` first.',
  )
}
