/**
 * The operator's address: whether this process works, whether it can work, and its metrics. It has no
 * authentication, and listens on loopback unless it is told otherwise. A thread of its own listens, which
 * answers /healthz by itself whatever the process computes, and says when that takes too long.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hrtime } from 'node:process'
import { MessageChannel, type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Logger } from 'pino'
import { type ListenAddress, onThisMachine, refuseAddress } from '../listen-address.ts'
import { whyNot } from '../trouble.ts'
import type { Metrics } from './metrics.ts'

/** Null when all is well, else a sentence. */
export type Probe = () => Promise<string | null>

interface MonitorDeps {
  readonly metrics: Metrics
  /** How long ago the scheduler looked which jobs are due. */
  readonly sinceLookMs: () => number
  readonly isReady: Probe
  readonly log: Logger
}

const REQUEST_TIMEOUT_MS = 10_000
const MAX_CONNECTIONS = 64
/** The scheduler looks every minute, and after trouble every five seconds. */
const LATE_MS = 180_000
const NOTE_EVERY_MS = 500

/** Why a process whose scheduler looked so long ago is not well; null while it is. */
export function explainLate(sinceMs: number): string | null {
  return sinceMs <= LATE_MS
    ? null
    : `The schedule was looked at ${Math.round(sinceMs / 1000)} s ago, and should be every minute.`
}

interface Answer {
  readonly code: number
  readonly text: string
  readonly type?: string
}
interface Task {
  readonly operators: ListenAddress
  /** By `hrtime`, which all threads share: when the scheduler looked last. */
  readonly lookedMs: Float64Array
}

const monotonicMs = (): number => Number(hrtime.bigint() / 1_000_000n)
const judge = (problem: string | null): Answer => ({
  code: problem === null ? 200 : 503,
  text: `${problem ?? 'ok'}\n`,
})

/** @throws ConfigurationError or UnavailableError when it cannot listen there */
export async function startMonitorServer(deps: MonitorDeps, listen: ListenAddress) {
  const lookedMs = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT))
  const note = () => {
    lookedMs[0] = monotonicMs() - deps.sinceLookMs()
  }
  note()
  const task: Task = { operators: onThisMachine(listen), lookedMs }
  const worker = new Worker(import.meta.filename, { workerData: task })
  worker.on('error', (err) => deps.log.error({ err }, 'operators are not answered any more'))
  const [address] = (await once(worker, 'message')) as [ListenAddress | string]
  if (typeof address === 'string') {
    await worker.terminate()
    throw refuseAddress('OPERATIONS_LISTEN: it is', listen, `${address}.`)
  }
  const notes = setInterval(note, NOTE_EVERY_MS)
  worker.on('message', async ({ path, answer }: { path: string; answer: MessagePort }) => {
    answer.postMessage(await answerTo(path, deps))
    answer.close()
  })
  return {
    address,
    close: async () => {
      clearInterval(notes)
      await worker.terminate()
    },
  }
}

async function answerTo(path: string, { metrics, isReady, log }: MonitorDeps): Promise<Answer> {
  try {
    if (path === '/readyz') return judge(await isReady())
    return { code: 200, type: 'text/plain; version=0.0.4; charset=utf-8', text: await metrics.render() }
  } catch (err) {
    log.warn({ err }, 'the operator could not be answered')
    return { code: 500, text: 'It could not be told; the log says why.\n' }
  }
}

/** Of the thread. */
function serve(port: MessagePort, { operators, lookedMs }: Task): void {
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, async (request, response) => {
    const { method = '', url = '' } = request
    const path = ['GET', 'HEAD'].includes(method) ? url.replace(/\?.*/s, '') : ''
    const { code, text, type = 'text/plain; charset=utf-8' } = await answerOf(path, port, lookedMs)
    response.writeHead(code, { 'content-type': type }).end(text)
  })
  server.maxConnections = MAX_CONNECTIONS
  server.on('error', (error) => port.postMessage(whyNot(error)))
  server.listen(operators, () => {
    const { address, port: number } = server.address() as AddressInfo
    port.postMessage({ host: address, port: number })
  })
}

async function answerOf(path: string, port: MessagePort, lookedMs: Float64Array): Promise<Answer> {
  if (path === '/healthz') return judge(explainLate(monotonicMs() - (lookedMs[0] ?? 0)))
  if (path !== '/readyz' && path !== '/metrics')
    return { code: 404, text: 'Not found: /healthz, /readyz and /metrics are here.\n' }
  const { port1, port2 } = new MessageChannel()
  port.postMessage({ path, answer: port2 }, [port2])
  const [answer] = await once(port1, 'message', { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) }).catch(
    () => [judge(`The process has been busy for ${REQUEST_TIMEOUT_MS / 1000} s, and did not answer.`)],
  )
  port1.close()
  return answer
}

if (parentPort !== null && workerData?.operators !== undefined) serve(parentPort, workerData)
