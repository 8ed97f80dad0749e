/**
 * How fast delivered results are taken, and whether each is stored once: the receiver with a real PostgreSQL, and a service
 * on loopback that sends 20,000 results of 100 apps at full speed. It ends by itself, with 1 when a claim does not hold.
 */
import { withDatabase } from './database.ts'
import { type DeliveryReport, deliver } from './deliveries.ts'

const RESULTS = 20_000
/** spec: Events */
const WEBHOOK_TIMEOUT_MS = 10_000
/** Memory is warm after half of the time. Its median may grow by so much from the third quarter to the last. */
const MAX_GROWTH = 0.12
const MIB = 1024 * 1024

const print = (line: string) => process.stdout.write(`${line}\n`)

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

function check(report: DeliveryReport): string[] {
  const { results, deliveries, seconds, statuses, p50Ms, p99Ms, maxMs, rss, problems } = report
  const quarter = Math.floor(rss.length / 4)
  const warm = rss.slice(-2 * quarter)
  const growth = medianOf(warm.slice(-quarter)) / medianOf(warm.slice(0, quarter)) - 1
  const mib = (bytes: number) => `${Math.round(bytes / MIB)} MiB`
  print(
    `results stored:      ${Math.round(results / seconds)} a second (${results} in ${seconds.toFixed(1)} s)`,
  )
  print(
    `deliveries:          ${deliveries}, ${Math.round(report.bytes / results)} bytes each, answers ${JSON.stringify(statuses)}`,
  )
  print(
    `cost of a delivery:  ${report.nodeUs.toFixed(0)} µs of Node, ${report.serverUs.toFixed(0)} µs of PostgreSQL, ${report.statements.toFixed(2)} statements`,
  )
  print(`fetched beside them: ${report.fetched}`)
  print(
    `time to the answer:  p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms, longest ${maxMs.toFixed(0)} ms`,
  )
  print(
    `memory (RSS):        ${mib(Math.min(...warm))} to ${mib(Math.max(...warm))}, median ${mib(medianOf(warm))}, growth ${(growth * 100).toFixed(1)} %`,
  )
  return [
    ...problems,
    ...(statuses[200] === deliveries ? [] : ['not every delivery was answered with 200']),
    ...(maxMs < WEBHOOK_TIMEOUT_MS ? [] : ['an answer took longer than the service waits']),
    ...(report.fetched > 0 ? [] : ['nothing was fetched beside the deliveries']),
    ...(growth < MAX_GROWTH ? [] : ['memory grows']),
  ]
}

await withDatabase(async (db) => {
  const problems = check(await deliver(db, RESULTS))
  print(problems.length === 0 ? 'no result lost, none stored twice' : `DOES NOT HOLD: ${problems.join('; ')}`)
  if (problems.length > 0) process.exitCode = 1
})
process.exit()
