/**
 * What a delivered result costs, and whether each is stored once: receivers with a real PostgreSQL, and a service on loopback that sends
 * results of 100 apps at full speed. First each result once, to one receiver and to two, beside the floor of the same run: the same HTTP
 * server, the same bodies unpacked and parsed, and nothing else; and to one and two that have a share of a core each, because two of them leave
 * service and database no core. Then some of them again and again, and some fetched at the same moment.
 * It ends by itself, with 1 when a claim does not hold.
 */
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import type { Database } from '../../src/db/database.ts'
import { type Bar, printBars } from './bars.ts'
import { prepareTasks } from './canned-service.ts'
import { withDatabase } from './database.ts'
import {
  type DeliveryReport,
  deliverMixed,
  deliverTo,
  type Receiver,
  type Service,
  startDelivering,
  startReceiver,
} from './deliveries.ts'
import { whileHeld } from './held.ts'

const { values } = parseArgs({
  options: { results: { type: 'string', default: '6000' }, mixed: { type: 'string', default: '12000' } },
})
const RESULTS = Number(values.results)
const MIXED = Number(values.mixed)
/** Before anything is measured, each process has compiled its code and knows the apps. */
const WARM_UP = 1_500
const FLOOR_RESULTS = 2_000
/** Of a core, for each receiver: service and database have the rest of two. */
const SHARE = 0.3
/** spec: Events */
const WEBHOOK_TIMEOUT_MS = 10_000
/** Memory is warm after half of the time. Its median may grow by so much from the third quarter to the last. */
const MAX_GROWTH = 0.12
const MIB = 1024 * 1024

const print = (line: string) => process.stdout.write(`${line}\n`)
const range = (from: number, length: number) => Array.from({ length }, (_, index) => from + index)

async function measureFloor(db: Database, service: Service): Promise<DeliveryReport> {
  const floor = await startReceiver(null)
  await deliverTo(db, service, [floor], range(0, FLOOR_RESULTS))
  const report = await deliverTo(db, service, [floor], range(0, FLOOR_RESULTS))
  floor.end()
  return report
}

/**
 * @param share of a core, for each receiver
 * @param from index of the first task that is delivered
 */
async function measureReceivers(
  db: Database,
  service: Service,
  { count, share, from }: { readonly count: number; readonly share: number; readonly from: number },
): Promise<DeliveryReport> {
  const receivers: Receiver[] = []
  while (receivers.length < count) receivers.push(await startReceiver(db))
  const warm = WARM_UP * count
  await deliverTo(db, service, receivers, range(from, warm))
  const pids = receivers.map(({ pid }) => pid)
  const report = await whileHeld(pids, share, () =>
    deliverTo(db, service, receivers, range(from + warm, RESULTS)),
  )
  for (const receiver of receivers) receiver.end()
  return report
}

async function measureUsual(db: Database): Promise<void> {
  const [ofOne, ofTwo] = [WARM_UP + RESULTS, 2 * WARM_UP + RESULTS]
  const service = await startDelivering(await prepareTasks(db, 2 * (ofOne + ofTwo)))
  const floor = await measureFloor(db, service)
  const one = await measureReceivers(db, service, { count: 1, share: 1, from: 0 })
  const two = await measureReceivers(db, service, { count: 2, share: 1, from: ofOne })
  const oneHeld = await measureReceivers(db, service, { count: 1, share: SHARE, from: ofOne + ofTwo })
  const twoHeld = await measureReceivers(db, service, { count: 2, share: SHARE, from: 2 * ofOne + ofTwo })
  service.end()
  const rateOf = ({ deliveries, seconds }: DeliveryReport) => deliveries / seconds
  const cores = cpus().length
  const ceilingOf = ({ nodeUs, serverUs, serviceUs }: DeliveryReport) =>
    (cores * 1_000_000) / (nodeUs + serverUs + serviceUs)
  const bars: Bar[] = [
    { what: 'floor: CPU of Node a result', value: floor.nodeUs, unit: 'µs' },
    { what: 'CPU of Node a result', value: one.nodeUs, unit: 'µs' },
    { what: 'CPU of Node against the floor', value: one.nodeUs / floor.nodeUs, unit: '×', atMost: 1.3 },
    { what: 'CPU of PostgreSQL a result', value: one.serverUs, unit: 'µs', atMost: 300 },
    { what: 'CPU of the service a result', value: one.serviceUs, unit: 'µs' },
    { what: 'statements a result', value: one.statements, unit: '', atMost: 0.1 },
    { what: 'floor: results a second', value: rateOf(floor), unit: '/s' },
    { what: 'results a second', value: rateOf(one), unit: '/s', atLeast: 1_700 },
    { what: `the most that ${cores} cores allow`, value: ceilingOf(one), unit: '/s' },
    { what: '2 processes: CPU of Node a result', value: two.nodeUs, unit: 'µs' },
    { what: '2 processes: CPU of PostgreSQL a result', value: two.serverUs, unit: 'µs' },
    { what: '2 processes: CPU of the service a result', value: two.serviceUs, unit: 'µs' },
    { what: '2 processes: results a second', value: rateOf(two), unit: '/s' },
    { what: `2 processes: the most that ${cores} cores allow`, value: ceilingOf(two), unit: '/s' },
    { what: '2 processes, against one', value: rateOf(two) / rateOf(one), unit: '×', atLeast: 1.5 },
    { what: `1 process, ${SHARE} of a core: results a second`, value: rateOf(oneHeld), unit: '/s' },
    { what: `2 processes, ${SHARE} of a core each: results a second`, value: rateOf(twoHeld), unit: '/s' },
    {
      what: `2 processes, ${SHARE} of a core each, against one`,
      value: rateOf(twoHeld) / rateOf(oneHeld),
      unit: '×',
      atLeast: 1.5,
    },
  ]
  printBars(`${RESULTS} results of 100 apps, delivered once each`, bars)
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

async function checkMixed(db: Database): Promise<string[]> {
  const report = await deliverMixed(db, MIXED)
  const { deliveries, seconds, statuses, p50Ms, p99Ms, maxMs, rss, problems } = report
  const quarter = Math.floor(rss.length / 4)
  const warm = rss.slice(-2 * quarter)
  const growth = medianOf(warm.slice(-quarter)) / medianOf(warm.slice(0, quarter)) - 1
  const mib = (bytes: number) => `${Math.round(bytes / MIB)} MiB`
  print(
    `some again and again: ${deliveries} deliveries of ${MIXED} results in ${seconds.toFixed(1)} s, answers ${JSON.stringify(statuses)}`,
  )
  print(
    `cost of a delivery:   ${report.nodeUs.toFixed(0)} µs of Node, ${report.serverUs.toFixed(0)} µs of PostgreSQL, ${report.statements.toFixed(2)} statements`,
  )
  print(`fetched beside them:  ${report.fetched}`)
  print(
    `time to the answer:   p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms, longest ${maxMs.toFixed(0)} ms`,
  )
  print(
    `memory (RSS):         ${mib(Math.min(...warm))} to ${mib(Math.max(...warm))}, median ${mib(medianOf(warm))}, growth ${(growth * 100).toFixed(1)} %`,
  )
  return [
    ...problems,
    ...(statuses[200] === deliveries ? [] : ['not every delivery was answered with 200']),
    ...(maxMs < WEBHOOK_TIMEOUT_MS ? [] : ['an answer took longer than the service waits']),
    ...(report.fetched > 0 ? [] : ['nothing was fetched beside the deliveries']),
    ...(growth < MAX_GROWTH ? [] : ['memory grows']),
  ]
}

await withDatabase(measureUsual)
await withDatabase(async (db) => {
  const problems = await checkMixed(db)
  print(problems.length === 0 ? 'no result lost, none stored twice' : `DOES NOT HOLD: ${problems.join('; ')}`)
  if (problems.length > 0) process.exitCode = 1
})
process.exit()
