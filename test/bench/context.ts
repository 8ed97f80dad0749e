/** A runner of a bench in this process: call gate, client and queue as in production. */
import { pino } from 'pino'
import { createCallGate } from '../../src/db/call-gate.ts'
import type { Database } from '../../src/db/database.ts'
import type { JobContext } from '../../src/queue/job.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { AppDataClient } from '../../src/service/client.ts'
import { SETTINGS } from './settings.ts'

/** Goes to the log of the bench, not into its table. */
export const LOG = pino({ level: 'warn' }, pino.destination(2))

type ClientOptions = ConstructorParameters<typeof AppDataClient>[0]

/** @param service of the client, beside its address and account */
export async function openContext(
  db: Database,
  baseUrl: string,
  service: Partial<ClientOptions> = {},
  settings = SETTINGS,
): Promise<JobContext> {
  const { signal } = new AbortController()
  const gate = createCallGate(db, { ...settings, runner: 'bench' }, signal)
  const client = new AppDataClient({ baseUrl, login: 'sandbox', password: 'sandbox', gate, ...service })
  return { db, client, queue: await openQueue(db.url, LOG), settings, runner: 'bench', log: LOG, signal }
}

export async function closeContext({ queue, client }: JobContext): Promise<void> {
  await queue.stop(1_000)
  await client.close()
}
