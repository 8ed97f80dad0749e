/**
 * What a delivered result costs, and whether each is stored once: receivers with a real PostgreSQL, and a
 * service on loopback that sends results of 100 apps at full speed. First each result once, to one receiver
 * and to two in stages (stages.ts), beside the floor of the same run: the same HTTP server, the same bodies
 * unpacked and parsed, and nothing else. Then some of them again and again, and some fetched at the same
 * moment. It ends by itself, with 1 when a claim does not hold.
 */
import { parseArgs } from 'node:util'
import type { Database } from '../../src/db/database.ts'
import { printBars } from './bars.ts'
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
import { type Gain, inStage, listGains, measureRounds, medianOf, planStages } from './stages.ts'

const { values } = parseArgs({
  options: { results: { type: 'string', default: '6000' }, mixed: { type: 'string', default: '12000' } },
})
const RESULTS = Number(values.results)
const MIXED = Number(values.mixed)
const ROUNDS = 3
/** Receivers, and of a core for each where they are held: service and database have the rest of two. */
const MOST = 2
const SHARE = 0.3
/**
 * Before anything is measured, each process has compiled its code and knows the apps: so many are delivered
 * to it again and again.
 */
const WARM_UP = 4_000
const WARM_UP_TIMES = 5
/** spec: Events */
const WEBHOOK_TIMEOUT_MS = 10_000
/**
 * Memory is warm after half of the time. Its median may grow by so much from the third quarter to the last.
 */
const MAX_GROWTH = 0.12
const MIB = 1024 * 1024

const print = (line: string) => process.stdout.write(`${line}\n`)
const range = (from: number, length: number) => Array.from({ length }, (_, index) => from + index)

async function warmUp(db: Database, service: Service, receivers: readonly Receiver[]): Promise<void> {
  const order = range(0, WARM_UP * receivers.length)
  for (let times = 0; times < WARM_UP_TIMES; times++) await deliverTo(db, service, receivers, order)
}

async function measureFloor(db: Database, service: Service): Promise<DeliveryReport> {
  const floor = await startReceiver(null)
  await warmUp(db, service, [floor])
  const report = await deliverTo(db, service, [floor], range(0, RESULTS))
  floor.end()
  return report
}

interface Received extends Gain {
  readonly statements: number
}

const receivedOf = (report: DeliveryReport): Received => ({
  ...report,
  rate: report.deliveries / report.seconds,
})

async function measureUsual(db: Database): Promise<void> {
  const stages = planStages(MOST, SHARE, RESULTS)
  const ofRound = stages.reduce((sum, { results }) => sum + results, 0)
  const service = await startDelivering(await prepareTasks(db, MOST * WARM_UP + ROUNDS * ofRound))
  const floor = receivedOf(await measureFloor(db, service))
  const receivers = await Promise.all(Array.from({ length: MOST }, () => startReceiver(db)))
  const pids = receivers.map(({ pid }) => pid)
  let from = MOST * WARM_UP
  const deliver = async (processes: number, results: number) => {
    from += results
    const report = await deliverTo(db, service, receivers.slice(0, processes), range(from - results, results))
    if (report.statuses[200] !== results)
      throw new Error(
        `Of ${results} results not each was answered with 200: ${JSON.stringify(report.statuses)}.`,
      )
    return report
  }
  await warmUp(db, service, receivers)
  const rounds = await measureRounds(ROUNDS, stages, async (stage) =>
    receivedOf(
      await inStage(db, service.pid, pids, stage, (hold) =>
        hold(() => deliver(stage.processes, stage.results)),
      ),
    ),
  )
  for (const receiver of receivers) receiver.end()
  service.end()
  const [history] = await db.sql<{ stored: number }[]>`
    select count(*) filter (where gap is null)::int as stored from ranking`
  if (history?.stored !== from)
    throw new Error(`${from} results were delivered, and the history has ${history?.stored}.`)
  const ofOne = (read: (received: Received) => number) => medianOf(rounds, '1 process', read)
  const nodeUs = ofOne((one) => one.nodeUs)
  printBars(`${RESULTS} results of 100 apps, delivered once each`, [
    { what: 'floor: CPU of Node a result', value: floor.nodeUs, unit: 'µs' },
    { what: 'CPU of Node a result', value: nodeUs, unit: 'µs' },
    { what: 'CPU of Node against the floor', value: nodeUs / floor.nodeUs, unit: '×', atMost: 2 },
    { what: 'CPU of PostgreSQL a result', value: ofOne((one) => one.serverUs), unit: 'µs', atMost: 300 },
    { what: 'statements a result', value: ofOne((one) => one.statements), unit: '', atMost: 0.1 },
    { what: 'floor: results a second', value: floor.rate, unit: '/s' },
    { what: 'results a second', value: ofOne((one) => one.rate), unit: '/s', atLeast: 1_700 },
    ...stages.flatMap((stage) => listGains(stage, rounds)),
  ])
}

function middleOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

async function checkMixed(db: Database): Promise<string[]> {
  const report = await deliverMixed(db, MIXED)
  const { deliveries, seconds, statuses, p50Ms, p99Ms, maxMs, rss, problems } = report
  const quarter = Math.floor(rss.length / 4)
  const warm = rss.slice(-2 * quarter)
  const growth = middleOf(warm.slice(-quarter)) / middleOf(warm.slice(0, quarter)) - 1
  const mib = (bytes: number) => `${Math.round(bytes / MIB)} MiB`
  print(
    `some again and again: ${deliveries} deliveries of ${MIXED} results in ${seconds.toFixed(1)} s, ` +
      `answers ${JSON.stringify(statuses)}`,
  )
  print(
    `cost of a delivery:   ${report.nodeUs.toFixed(0)} µs of Node, ${report.serverUs.toFixed(0)} µs of ` +
      `PostgreSQL, ${report.statements.toFixed(2)} statements`,
  )
  print(`fetched beside them:  ${report.fetched}`)
  print(
    `time to the answer:   p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms, longest ` +
      `${maxMs.toFixed(0)} ms`,
  )
  print(
    `memory (RSS):         ${mib(Math.min(...warm))} to ${mib(Math.max(...warm))}, median ` +
      `${mib(middleOf(warm))}, growth ${(growth * 100).toFixed(1)} %`,
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
