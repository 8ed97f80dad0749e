/** What work needs: the database, the account or the sandbox, the queue. Nothing else knows which. */
import { hostname } from 'node:os'
import type { Config } from '../config.ts'
import { createCallGate } from '../db/call-gate.ts'
import { describeDistance, measureRoundTrip } from '../db/call-window.ts'
import { describeFewConnections } from '../db/connections.ts'
import type { Database } from '../db/database.ts'
import { UnavailableError } from '../errors.ts'
import { claimDatabaseFor, claimSandboxFor } from '../ledger/restored.ts'
import { readTold } from '../monitor/probes.ts'
import type { JobContext } from '../queue/job.ts'
import { openQueue } from '../queue/queue.ts'
import { nameRunner } from '../queue/runner.ts'
import { AppDataClient } from '../service/client.ts'
import { TIMINGS } from '../timings.ts'
import type { CommandContext, Need } from './command.ts'
import { type DatabaseSession, openDatabaseSession } from './database-session.ts'
import { createOutageLog } from './outage-log.ts'
import { attachSandbox } from './sandbox-process.ts'
import { tell } from './tell.ts'

export interface WorkSession extends DatabaseSession {
  readonly job: JobContext
  /** Address of the sandbox; null with the person's own account. */
  readonly sandboxUrl: string | null
  /** Takes no new work; what is in flight ends, or is handed on after the grace time. */
  drain(): Promise<void>
}

/** The database, made and migrated where it is missing, the account or the sandbox, and the queue. */
export const service: Need<WorkSession> = async (context, work) => {
  const session = await openWorkSession(context)
  try {
    return await work(session)
  } finally {
    await session.drain()
    await session.close()
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
  const { db } = session
  const log = createOutageLog(context.log, () => requireChanges(db))
  const { isFirst, sandboxAccount } = await claimAccount(session, config)
  if (isFirst)
    tell(
      context,
      'This account is used for the first time: `storerank check` says, free of charge, whether all that ' +
        'storerank relies on holds there.',
    )
  const { baseUrl, dispose, ...access } = await openService(config, sandboxAccount, () =>
    tell(context, 'Starting the sandbox: the service with invented apps, on this machine, at no cost.'),
  )
  const runner = nameRunner(hostname(), process.pid)
  const gate = createCallGate(db, { ...config, runner }, signal)
  const client = new AppDataClient({ ...access, baseUrl, maxConcurrent: config.maxConcurrentRequests, gate })
  const distance = describeDistance(await measureRoundTrip(db))
  const few = await describeFewConnections(db.sql, config.databaseConnections)
  for (const sentence of [distance, few]) if (sentence !== null) tell(context, sentence)
  const queue = await openQueue(db.url, log)
  return {
    ...session,
    sandboxUrl: config.service === null ? baseUrl : null,
    job: { db, client, queue, settings: config, runner, log, signal },
    drain: () => queue.stop(TIMINGS.graceMs),
    close: async () => {
      await client.close()
      await dispose()
      await session.close()
    },
  }
}

/** A server without room, and a standby, answer and refuse what writes. */
async function requireChanges(db: Database): Promise<void> {
  const reason = (await readTold(db, 'read_only')) ?? (await readTold(db, 'no_room'))
  if (reason !== null) throw new UnavailableError(reason)
}

/**
 * The service of a command: the person's account, or the sandbox.
 * @param account of the sandbox; null: that of the embedded database
 * @param onStart called when a sandbox must be started, which takes a second or two
 */
export async function openService(
  { service: own, home, proxy }: Config,
  account: string | null = null,
  onStart = () => {},
) {
  if (own === null) {
    const { url: baseUrl, ...sandbox } = await attachSandbox({ home, account, onStart })
    // What was posted just now is listed at once.
    return { ...sandbox, baseUrl, unlistedMs: 0 }
  }
  const { url: baseUrl, login, password, stores } = own
  const named = stores === null ? {} : { stores }
  return { baseUrl, login, ...named, proxy, password: password.reveal(), dispose: async () => {} }
}

/**
 * Ties the database to the account of the settings.
 * @throws ConfigurationError when it belongs to another one
 */
export async function claimAccount(
  { db, embedded }: DatabaseSession,
  { service: own }: Config,
): Promise<{ isFirst: boolean; sandboxAccount: string | null }> {
  if (own === null) return { isFirst: false, sandboxAccount: await claimSandboxFor(db, embedded === null) }
  return { isFirst: await claimDatabaseFor(db, `the account ${own.login}`), sandboxAccount: null }
}
