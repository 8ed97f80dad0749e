/**
 * The wire between the runners and the sandbox: it writes down when each request came, and makes the troubles
 * that a network and a service make. What it delivers late it delivers even when nobody waits for the answer
 * any more.
 */
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../support/random.ts'

export type Trouble =
  /** The request never arrives. */
  | 'reset before the work'
  /** The service did it; its answer is lost. */
  | 'reset after the work'
  | 'half an answer'
  /** Delivered when the sender has long given up. */
  | 'late delivery'
  | 'slow answer'
  | 'HTTP 500 before the work'
  | 'HTTP 500 after the work'

export interface Arrival {
  readonly kind: string
  /** It came between the two: a busy harness looks late. */
  readonly earliestMs: number
  readonly latestMs: number
}

export interface Wire {
  readonly url: string
  readonly arrivals: readonly Arrival[]
  readonly troubles: ReadonlyMap<Trouble, number>
  /** The most requests that were open at once. */
  readonly mostInFlight: number
  /** Late deliveries that have arrived. */
  readonly deliveredLate: number
  /** Share of POSTs of tasks in trouble. */
  troubleShare: number
  /** Of that share, for everything else. */
  otherShare: number
  /** Which troubles POSTs of tasks meet. */
  postTroubles: readonly Trouble[]
  slowMs: readonly [number, number]
  lateMs: readonly [number, number]
  close(): void
}

export const POST_TROUBLES: readonly Trouble[] = [
  'reset before the work',
  'reset after the work',
  'half an answer',
  'late delivery',
  'slow answer',
  'HTTP 500 before the work',
  'HTTP 500 after the work',
]
const OTHER_TROUBLES: readonly Trouble[] = [
  'reset before the work',
  'half an answer',
  'slow answer',
  'HTTP 500 before the work',
]
/** Below the quiet time, beyond the timeout of a call. */
const LATE_MS = [1_000, 4_000] as const
const SLOW_MS = [200, 2_600] as const

const KEEP_ALIVE_MS = 60_000
const LOOK_EVERY_MS = 5
const LAG_MS = 20
const READ_AFTER_LAG_MS = 250

/**
 * Calls of a window by kind; the harness makes the window shorter, not the limits (spec: Limits;
 * docs/service.md: tasks_ready limits).
 */
export const WIRE_LIMITS = { tasks_ready: 20, id_list: 10 }

interface Answer {
  readonly status: number
  readonly body: Buffer
  /** The service's clock. */
  readonly date: string | undefined
}

const HTTP_500: Answer = { status: 500, body: Buffer.from(''), date: undefined }

/** Starts between the runners and the service at `serviceUrl`, on loopback. */
export async function startWire(serviceUrl: string, random: Random): Promise<Wire> {
  const arrivals: Arrival[] = []
  const troubles = new Map<Trouble, number>()
  let inFlight = 0
  const readEarliest = watchForLags()
  const state = {
    mostInFlight: 0,
    deliveredLate: 0,
    troubleShare: 0,
    otherShare: 0.25,
    postTroubles: POST_TROUBLES,
    slowMs: SLOW_MS as readonly [number, number],
    lateMs: LATE_MS as readonly [number, number],
  }

  const chooseTrouble = (kind: string): Trouble | null => {
    const isPost = kind === 'task_post'
    if (!random.chance(state.troubleShare * (isPost ? 1 : state.otherShare))) return null
    const trouble = random.pick(isPost ? state.postTroubles : OTHER_TROUBLES)
    troubles.set(trouble, (troubles.get(trouble) ?? 0) + 1)
    return trouble
  }

  const server = createServer((request, response) => {
    const kind = kindOf(request.url ?? '')
    arrivals.push({ kind, earliestMs: readEarliest(), latestMs: performance.now() })
    inFlight += 1
    state.mostInFlight = Math.max(state.mostInFlight, inFlight)
    response.once('close', () => {
      inFlight -= 1
    })
    const delays = { lateMs: random.between(...state.lateMs), slowMs: random.between(...state.slowMs) }
    const trouble = chooseTrouble(kind)
    const onDelivered = () => {
      if (trouble === 'late delivery') state.deliveredLate += 1
    }
    carry({ serviceUrl, request, response, ...delays, onDelivered }, trouble).catch(() =>
      request.socket.destroy(),
    )
  })
  // A frozen runner finds its connection still open, or the write would fail before anything else could.
  server.keepAliveTimeout = KEEP_ALIVE_MS
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    troubles,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  })
}

/**
 * Returns what says since when a request that is read now may have been there. After a time in which this
 * process was too busy to look, what had come meanwhile is read one after the other for a while, and any of
 * it may be from its beginning.
 */
function watchForLags(): () => number {
  const looks = { before: performance.now(), last: performance.now() }
  const lag = { beganMs: 0, endedMs: Number.NEGATIVE_INFINITY }
  setInterval(() => {
    const nowMs = performance.now()
    if (nowMs - looks.last > LAG_MS) Object.assign(lag, { beganMs: looks.last, endedMs: nowMs })
    looks.before = looks.last
    looks.last = nowMs
  }, LOOK_EVERY_MS).unref()
  return () =>
    performance.now() - lag.endedMs < READ_AFTER_LAG_MS ? Math.min(lag.beganMs, looks.before) : looks.before
}

interface Carried {
  readonly serviceUrl: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly lateMs: number
  readonly slowMs: number
  readonly onDelivered: () => void
}

async function carry(
  { serviceUrl, request, response, lateMs, slowMs, onDelivered }: Carried,
  trouble: Trouble | null,
): Promise<void> {
  // A request that was cut off throws here: the service never has the whole of it.
  const body = await buffer(request)
  if (trouble === 'reset before the work') return void request.socket.destroy()
  if (trouble === 'HTTP 500 before the work') return respond(response, HTTP_500)
  if (trouble === 'late delivery') await sleep(lateMs)
  const answer = await deliver(serviceUrl, request, body)
  onDelivered()
  if (trouble === 'reset after the work') return void request.socket.destroy()
  if (trouble === 'slow answer') await sleep(slowMs)
  if (trouble === 'HTTP 500 after the work') return respond(response, HTTP_500)
  if (trouble !== 'half an answer') return respond(response, answer)
  response.writeHead(answer.status, { 'content-length': answer.body.byteLength })
  response.write(answer.body.subarray(0, answer.body.byteLength >> 1), () => request.socket.destroy())
}

function deliver(
  serviceUrl: string,
  { url, method, headers }: IncomingMessage,
  body: Buffer,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const onward = forward(serviceUrl + url, { method, headers }, (answer) => {
      buffer(answer).then(
        (whole) => resolve({ status: answer.statusCode ?? 500, body: whole, date: answer.headers.date }),
        reject,
      )
    })
    onward.on('error', reject)
    onward.end(body)
  })
}

function respond(response: ServerResponse, { status, body, date }: Answer): void {
  if (date !== undefined) response.setHeader('date', date)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.byteLength })
  response.end(body)
}

function kindOf(path: string): string {
  return /\/(task_post|tasks_ready|task_get|id_list|user_data)/.exec(path)?.[1] ?? 'other'
}
