/** What work needs: the database, the account or the sandbox, the queue. Nothing else knows which. */
import { hostname } from 'node:os'
import { createCallGate } from '../db/call-gate.ts'
import { describeFewConnections } from '../db/connections.ts'
import type { Database } from '../db/database.ts'
import { describeDistance, measureRoundTrip } from '../db/round-trip.ts'
import { UnavailableError } from '../errors.ts'
import { readTold } from '../monitor/probes.ts'
import type { JobContext } from '../queue/job.ts'
import { openQueue } from '../queue/queue.ts'
import { nameRunner } from '../queue/runner.ts'
import { AppDataClient } from '../service/client.ts'
import { TIMINGS } from '../timings.ts'
import type { CommandContext } from './command.ts'
import { type DatabaseSession, openDatabaseSession } from './database-session.ts'
import { createOutageLog } from './outage-log.ts'
import { claimAccount, openService } from './service-access.ts'
import { tell } from './tell.ts'

/** Said once, when an account is used for the first time. */
const UNCHECKED =
  'This account is used for the first time: `storerank check` says, free of charge, whether all that ' +
  'storerank relies on holds there.'

export interface WorkSession extends DatabaseSession {
  readonly job: JobContext
  /** Address of the sandbox; null with the person's own account. */
  readonly sandboxUrl: string | null
  /** Takes no new work; what is in flight ends, or is handed on after the grace time. */
  drain(): Promise<void>
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

/** A server without room, and a standby, answer and refuse what writes. */
async function requireChanges(db: Database): Promise<void> {
  const reason = (await readTold(db, 'read_only')) ?? (await readTold(db, 'no_room'))
  if (reason !== null) throw new UnavailableError(reason)
}

/** What a person should know of a database that is far away, or has few connections for us. */
async function tellLimits(db: Database, context: CommandContext): Promise<void> {
  const distance = describeDistance(await measureRoundTrip(db))
  const few = await describeFewConnections(db.sql, context.config.databaseConnections)
  for (const sentence of [distance, few]) if (sentence !== null) tell(context, sentence)
}

async function openWork(session: DatabaseSession, context: CommandContext): Promise<WorkSession> {
  const { config, signal } = context
  const log = createOutageLog(context.log, () => requireChanges(session.db))
  const { isFirst, sandboxAccount } = await claimAccount(session, config)
  if (isFirst) tell(context, UNCHECKED)
  const onStart = () =>
    tell(context, 'Starting the sandbox: the service with invented apps, on this machine, at no cost.')
  const { url: baseUrl, dispose, ...access } = await openService(config, sandboxAccount, onStart)
  const runner = nameRunner(hostname(), process.pid)
  const client = new AppDataClient({
    ...access,
    baseUrl,
    maxConcurrent: config.maxConcurrentRequests,
    gate: createCallGate(session.db, { ...config, runner }, signal),
  })
  await tellLimits(session.db, context)
  const queue = await openQueue(session.db.url, log)
  return {
    ...session,
    sandboxUrl: config.service === null ? baseUrl : null,
    job: { db: session.db, client, queue, settings: config, runner, log, signal },
    drain: () => queue.stop(TIMINGS.graceMs),
    close: async () => {
      await client.close()
      await dispose()
      await session.close()
    },
  }
}
