/**
 * What a delivered result costs: a receiver and a service as processes of their own, results of 100 apps sent
 * at full speed. Beside it reading alone: the same HTTP server, the same bodies unpacked and parsed.
 */
import type { Database } from '../../src/db/database.ts'
import { describeResult, type Measured } from './bars.ts'
import { measureCost, readProcessCpuMs } from './server-load.ts'
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

/** Delivers so many results behind those of the warming up, once each: what each costs. */
async function measure(db: Database, service: Service, receiver: Receiver, results: number) {
  const range = (from: number, length: number) => Array.from({ length }, (_, index) => from + index)
  for (let times = 0; times < WARM_UP_TIMES; times++) await deliver(service, receiver, range(0, WARM_UP))
  const beforeMs = await readProcessCpuMs(receiver.pid)
  let report: SendReport = { seconds: 0, statuses: {} }
  const { cpuMs, statements } = await measureCost(db, async () => {
    report = await deliver(service, receiver, range(WARM_UP, results))
  })
  if (report.statuses[200] !== results)
    throw new Error(`Of ${results} results not each was answered with 200: ${report.statuses}.`)
  return {
    nodeUs: (((await readProcessCpuMs(receiver.pid)) - beforeMs) * 1000) / results,
    serverUs: (cpuMs * 1000) / results,
    statements: statements / results,
    perSecond: results / report.seconds,
  }
}

export async function measureDelivered(db: Database, size: number): Promise<Measured> {
  const service = await startService(await prepareTasks(db, WARM_UP + size))
  const alone = await startReceiver(null)
  const reading = await measure(db, service, alone, size)
  alone.end()
  const receiver = await startReceiver(db)
  const cost = await measure(db, service, receiver, size)
  const { stored } = await receiver.ask<{ stored: number }>('count')
  receiver.end()
  service.end()
  if (stored !== WARM_UP + size) throw new Error(`Of ${WARM_UP + size} results ${stored} were stored.`)
  return describeResult({ ...cost, aloneUs: reading.nodeUs })
}
