/**
 * What a delivered result costs: a receiver and a service as processes of their own, results of 100 apps sent
 * at full speed. Beside it reading alone: the same HTTP server, the same bodies unpacked and parsed.
 */
import type { Database } from '../../src/db/database.ts'
import type { Measured } from './bars.ts'
import { readProcessCpuMs, readServerLoad } from './server-load.ts'
import type { SendOrder, SendReport } from './service.ts'
import { type Partner, startPartner } from './talk.ts'
import { prepareTasks, type Service, startService } from './tasks.ts'

/** Before anything is measured, a receiver has compiled its code and knows the apps. */
const WARM_UP = 4_000
const WARM_UP_TIMES = 5

export interface Receiver extends Partner {
  readonly postbackUrl: string
}

/** @param db null for reading alone: it stores nothing */
export async function startReceiver(db: Database | null): Promise<Receiver> {
  const receiver = startPartner('receiver.ts', db === null ? [] : [db.url])
  return { ...receiver, ...(await receiver.listen<{ postbackUrl: string }>()) }
}

/** Delivers the tasks of these indices. */
export function deliver(
  service: Service,
  { postbackUrl }: Receiver,
  order: readonly number[],
): Promise<SendReport> {
  return service.ask<SendReport>({ postbackUrl, order } satisfies SendOrder)
}

interface Cost extends SendReport {
  /** CPU of the receiver and of PostgreSQL, and statements, for each result. */
  readonly nodeUs: number
  readonly serverUs: number
  readonly statements: number
}

/** Delivers so many results behind those of the warming up, once each. */
async function measure(db: Database, service: Service, receiver: Receiver, results: number): Promise<Cost> {
  const range = (from: number, length: number) => Array.from({ length }, (_, index) => from + index)
  for (let times = 0; times < WARM_UP_TIMES; times++) await deliver(service, receiver, range(0, WARM_UP))
  const read = async () => ({ node: await readProcessCpuMs(receiver.pid), ...(await readServerLoad(db)) })
  const before = await read()
  const report = await deliver(service, receiver, range(WARM_UP, results))
  const after = await read()
  if (report.statuses[200] !== results)
    throw new Error(`Of ${results} results not each was answered with 200: ${report.statuses}.`)
  return {
    ...report,
    nodeUs: ((after.node - before.node) * 1000) / results,
    serverUs: ((after.cpuMs - before.cpuMs) * 1000) / results,
    statements: (after.statements - before.statements) / results,
  }
}

export async function measureDelivered(db: Database, size: number): Promise<Measured> {
  const service = await startService(await prepareTasks(db, WARM_UP + size))
  const alone = await startReceiver(null)
  const reading = await measure(db, service, alone, size)
  alone.end()
  const receiver = await startReceiver(db)
  const { nodeUs, serverUs, statements, seconds } = await measure(db, service, receiver, size)
  const { stored } = await receiver.ask<{ stored: number }>('count')
  receiver.end()
  service.end()
  if (stored !== WARM_UP + size) throw new Error(`Of ${WARM_UP + size} results ${stored} were stored.`)
  return {
    'CPU of Node a result': nodeUs,
    'CPU of Node for reading alone': reading.nodeUs,
    'CPU of Node against reading alone': nodeUs / reading.nodeUs,
    'CPU of PostgreSQL a result': serverUs,
    'statements a result': statements,
    'results a second': size / seconds,
  }
}
