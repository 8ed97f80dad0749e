/**
 * A service that delivers, as a process of its own: it makes the bodies of all its postbacks first, as the
 * sandbox makes them, then sends them as fast as they are taken. It also gives each result to whoever asks.
 * One line of JSON in: the tasks; then one for each order to send; each is answered with a line.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { gunzipSync, gzipSync } from 'node:zlib'
import { fillUrl } from '../../src/sandbox/webhooks.ts'
import { createBodies, type Delivery } from './bodies.ts'
import { openWire } from './wire.ts'

export interface SendOrder {
  /** Of receivers that take turns, with `$id` and `$tag`, as tasks are posted with them. */
  readonly postbackUrls: readonly string[]
  /** Indices of the tasks, in the order of sending. */
  readonly order: readonly number[]
}

export interface SendReport {
  readonly seconds: number
  /** How often each HTTP status was answered; 0 when the connection failed. */
  readonly statuses: Readonly<Record<string, number>>
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

/**
 * To each receiver, and as many as it takes: of half as many, 100 wait for the answer of one batch, and no
 * second one gathers beside it.
 */
const CONNECTIONS = 256
const GZIP_LEVEL = 1

async function send(
  tasks: readonly Delivery[],
  bodies: readonly Buffer[],
  { postbackUrls, order }: SendOrder,
) {
  const receivers = await Promise.all(
    postbackUrls.map(async (url) => {
      const { origin, pathname, search } = new URL(url)
      return { path: pathname + search, wire: await openWire(origin, CONNECTIONS) }
    }),
  )
  const latenciesMs: number[] = []
  const statuses: Record<string, number> = {}
  let next = 0
  const sendOnAndOn = async () => {
    for (let place = next++; place < order.length; place = next++) {
      const index = order[place] ?? 0
      const { id = '', tag = '' } = tasks[index] ?? {}
      const { path, wire } = receivers[place % receivers.length] as (typeof receivers)[number]
      const sentMs = performance.now()
      const status = await wire.post(fillUrl(path, id, tag), bodies[index] ?? Buffer.alloc(0))
      latenciesMs.push(performance.now() - sentMs)
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  const startedMs = performance.now()
  await Promise.all(Array.from({ length: CONNECTIONS * receivers.length }, sendOnAndOn))
  const seconds = (performance.now() - startedMs) / 1000
  for (const { wire } of receivers) wire.close()
  latenciesMs.sort((a, b) => a - b)
  const at = (share: number) => latenciesMs[Math.floor((latenciesMs.length - 1) * share)] ?? Number.NaN
  return { seconds, statuses, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) } satisfies SendReport
}

async function serveResults(tasks: readonly Delivery[], bodies: readonly Buffer[]): Promise<string> {
  const byId = new Map(tasks.map(({ id }, index) => [id, bodies[index]]))
  const server = createServer((request, response) => {
    const body = byId.get(request.url?.split('/').at(-1) ?? '')
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(body === undefined ? '' : gunzipSync(body))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`)
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const tasks: readonly Delivery[] = JSON.parse((await lines.next()).value ?? '[]')
const bodyOf = createBodies()
const bodies = tasks.map((task) => gzipSync(bodyOf(task), { level: GZIP_LEVEL }))
say({ url: await serveResults(tasks, bodies), bytes: bodies.reduce((sum, body) => sum + body.byteLength, 0) })
for await (const line of lines) say(await send(tasks, bodies, JSON.parse(line)))
process.exit(0)
