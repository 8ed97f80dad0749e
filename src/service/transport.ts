/**
 * The way to the service: connections, permits, and the repetition of free calls. `postOnce` repeats nothing.
 */
import { setTimeout as wait } from 'node:timers/promises'
import pLimit from 'p-limit'
import { type Dispatcher, Pool } from 'undici'
import packageJson from '../../package.json' with { type: 'json' }
import { ConfigurationError, UnavailableError } from '../errors.ts'
import { NO_PROXY, openProxy, type ProxySettings, proxyOf } from '../proxy.ts'
import { isLoopback } from '../setting.ts'
import { TIMINGS } from '../timings.ts'
import {
  type Delivered,
  decideRetry,
  type Envelope,
  type EnvelopeHead,
  errorOf,
  type Failure,
  isFailure,
  type Reply,
  readAnswer,
  toReply,
} from './answer.ts'
import { type Dialect, dialectOf, type StoreNames } from './dialect.ts'
import { type ExchangeRequest, type ExchangeResult, exchange } from './exchange.ts'

export type CallKind =
  | 'task_post'
  | 'tasks_ready'
  | 'task_get'
  | 'id_list'
  | 'failed_tasks'
  | 'webhook_resend'
  | 'status'
  | 'user_data'
  | 'reference'

/** Hands out the permits of the call window and keeps the audit trail of calls. */
export interface CallGate {
  /** Waits until the call may be made. Throws when it will not be. */
  open(kind: CallKind, path: string): Promise<CallPermit>
}

export interface CallPermit {
  /** `performance.now()` after which the request must not be begun. */
  readonly startBeforeMs: number
  /** Called once, without code and status when there was no answer; resolves when it is written down. */
  end(outcome: CallOutcome): Promise<void>
}

export interface CallOutcome {
  readonly httpStatus?: number
  readonly statusCode?: number
  readonly error?: string
}

/** What the client asks of time, so that tests can hand in their own. */
export interface Clock {
  /** `performance.now()`: never goes back, but stands still while a laptop sleeps. */
  monotonicMs(): number
  /** `Date.now()`. */
  wallMs(): number
  /** Resolves after `ms`; rejects when `signal` aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export interface TransportOptions {
  /** Origin, and path prefix if any, in front of `/v3`. Plain http only to loopback. */
  readonly baseUrl: string
  readonly login: string
  readonly password: string
  /** What the service calls the stores in its paths. Default: by the host of `baseUrl`. */
  readonly stores?: StoreNames
  /** Without them, or to loopback: straight. */
  readonly proxy?: ProxySettings
  /** Without one, calls are neither counted nor held back. */
  readonly gate?: CallGate
  /** Connections, and so requests in flight (docs/service.md: too many requests at once). Default 30. */
  readonly maxConcurrent?: number
  /** From the start of one exchange to the last byte of its answer. Default 25 s. */
  readonly timeoutMs?: number
  /** What was posted so short a time ago may not be listed yet. Default 4 s; 0 where it is listed. */
  readonly unlistedMs?: number
  readonly clock?: Clock
  /** Told of every answer of a POST of tasks, and of every other one that was not an error; for logs. */
  readonly onAnswer?: (answer: AnswerHead) => void
}

/** What stands above the tasks of an answer, and which call it answers. */
export interface AnswerHead extends EnvelopeHead, Pick<FreeCall, 'method'> {
  /** Begins with `/v3/`; as the service was called. */
  readonly path: string
  readonly httpStatus: number
}

/** A call that may be repeated, because repeating it costs nothing and changes nothing. */
export interface FreeCall {
  readonly kind: Exclude<CallKind, 'task_post'>
  readonly method: 'GET' | 'POST'
  /** Begins with `/v3/`. */
  readonly path: string
  readonly body?: unknown
  /** The largest answer that is read. Default: that of any call. */
  readonly maxBytes?: number | undefined
}

/** When bytes may leave, on both clocks, because the monotonic one stands still while a laptop sleeps. */
export interface SendWindow {
  /** `performance.now()` after which no byte may leave. */
  readonly deadlineMs: number
  /** `Date.now()` after which no byte may leave. */
  readonly wallDeadlineMs?: number
  readonly signal?: AbortSignal
}

const OK = 200
const CONNECT_TIMEOUT_MS = 10_000
/** A permit that ran out while a connection was made is replaced; more often, something is wrong. */
const MAX_PERMITS_PER_ATTEMPT = 10

const SYSTEM_CLOCK: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  sleep: (ms, signal) => wait(ms, undefined, { signal }),
}

const NO_GATE: CallGate = {
  open: async () => ({ startBeforeMs: Number.POSITIVE_INFINITY, end: async () => {} }),
}

type Attempt<Read> = { readonly read: Read } | { readonly failure: Failure }

export class Transport {
  readonly dialect: Dialect
  readonly login: string
  readonly unlistedMs: number
  readonly #pool: Dispatcher
  readonly #url: URL
  readonly #headers: Readonly<Record<string, string>>
  readonly #gate: CallGate
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #onAnswer: TransportOptions['onAnswer']
  readonly #limit: ReturnType<typeof pLimit>
  readonly #closing = new AbortController()
  /** Ends of calls that are being written down. */
  readonly #ending = new Set<Promise<void>>()
  #closed: Promise<void> | null = null
  /** The service's clock against ours, by its last answer. */
  #serviceAheadMs = 0

  constructor(options: TransportOptions) {
    const { maxConcurrent = 30, login, password, proxy = NO_PROXY } = options
    this.#url = checkBaseUrl(options.baseUrl)
    this.#headers = {
      authorization: basicAuthorization(login, password),
      'user-agent': `storerank/${packageJson.version}`,
    }
    this.#pool = openConnections(this.#url, maxConcurrent, proxy)
    this.#limit = pLimit(maxConcurrent)
    this.dialect = dialectOf(this.#url, options.stores)
    this.login = login
    this.unlistedMs = options.unlistedMs ?? TIMINGS.unlistedMs
    this.#gate = options.gate ?? NO_GATE
    this.#clock = options.clock ?? SYSTEM_CLOCK
    this.#timeoutMs = options.timeoutMs ?? TIMINGS.callTimeoutMs
    this.#onAnswer = options.onAnswer
  }

  /**
   * Makes a free call, with a permit for each attempt.
   * @param read what to keep of the reply, at once: an older promise would keep all of it until the next full
   *   collection
   * @throws AccountError, RateLimitedError, RejectedError, UnreadableError; UnavailableError when repeats did
   *   not help
   */
  async callFree<Read = Reply>(
    call: FreeCall,
    read: (reply: Reply) => Read = (reply) => reply as Read,
  ): Promise<Read> {
    const startedMs = this.#clock.monotonicMs()
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#attemptInTurn(call, read)
      if ('read' in answer) return answer.read
      const elapsedMs = this.#clock.monotonicMs() - startedMs
      const decision = decideRetry(answer.failure, attempt, elapsedMs, Math.random())
      if (!decision.retry) {
        const called = `${call.method} ${this.dialect.toService(call.path)}`
        throw errorOf(answer.failure, called, decision.reason)
      }
      // Woken early by close(): then the next attempt says so.
      await this.#clock.sleep(decision.delayMs, this.#closing.signal).catch(() => {})
    }
  }

  /** Posts a body exactly once, under a permit that the caller took. Never throws. */
  postOnce(path: string, body: string, send: SendWindow): Promise<ExchangeResult> {
    const clock = this.#clock
    return this.#exchange('POST', path, body, {
      beginWithinMs: Math.min(Math.max(0, send.deadlineMs - clock.monotonicMs()), this.#timeoutMs),
      refuseToBegin: () => {
        const lateMs = clock.monotonicMs() - send.deadlineMs
        const wallLateMs = clock.wallMs() - (send.wallDeadlineMs ?? Number.POSITIVE_INFINITY)
        return lateMs > 0 || wallLateMs > 0 ? 'its time to be sent had passed' : null
      },
      signal: send.signal,
    })
  }

  /** Calls `onAnswer` with an answer; an error of that callback is not the call's failure. */
  announce(
    call: Pick<FreeCall, 'method' | 'path'>,
    httpStatus: number,
    { tasks: _, ...head }: Envelope,
  ): void {
    const path = this.dialect.toService(call.path)
    queueMicrotask(() => this.#onAnswer?.({ ...head, method: call.method, path, httpStatus }))
  }

  /** The present of the service, as its last answer tells; before the first, that of this machine. */
  nowMs(): number {
    return this.#clock.wallMs() + this.#serviceAheadMs
  }

  /** Lets what is in flight end and be written down, and begins nothing more. */
  close(): Promise<void> {
    this.#closing.abort()
    this.#closed ??= this.#pool.close().then(async () => void (await Promise.all(this.#ending)))
    return this.#closed
  }

  /** No result of the limit, whose queue would keep what was read until the next full collection. */
  async #attemptInTurn<Read>(call: FreeCall, read: (reply: Reply) => Read): Promise<Attempt<Read>> {
    const { promise, resolve, reject } = Promise.withResolvers<Attempt<Read>>()
    await this.#limit(() => this.#attempt(call, read).then(resolve, reject))
    return promise
  }

  async #attempt<Read>(call: FreeCall, read: (reply: Reply) => Read): Promise<Attempt<Read>> {
    const { method, path, maxBytes } = call
    const body = call.body === undefined ? undefined : JSON.stringify(call.body)
    for (let permits = 0; permits < MAX_PERMITS_PER_ATTEMPT; permits += 1) {
      if (this.#closing.signal.aborted) {
        throw new UnavailableError(`${method} ${path} was not made: the client is closed.`)
      }
      const permit = await this.#gate.open(call.kind, path)
      const isOver = () => this.#clock.monotonicMs() >= permit.startBeforeMs
      const refuseToBegin = () => (isOver() ? 'the permit ran out before the request began' : null)
      const result = await this.#exchange(method, path, body, { refuseToBegin, maxBytes })
      if (result.kind === 'late') {
        this.#end(permit, { error: result.reason })
        continue
      }
      const meaning = readAnswer(result)
      this.#end(permit, describeOutcome(result, meaning))
      const answeredAt = result.kind === 'answered' ? readDate(result.headers.date) : null
      if (answeredAt !== null) this.#serviceAheadMs = answeredAt.getTime() - this.#clock.wallMs()
      if (isFailure(meaning)) return { failure: meaning }
      this.announce(call, OK, meaning)
      const rawBytes = result.kind === 'answered' ? result.body.byteLength : 0
      return { read: read(toReply(meaning, rawBytes, answeredAt)) }
    }
    throw new UnavailableError(
      `${method} ${path} was not made: ${MAX_PERMITS_PER_ATTEMPT} permits ran out before it could begin.`,
    )
  }

  #end(permit: CallPermit, outcome: CallOutcome): void {
    const ending = permit.end(outcome).finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }

  #exchange(
    method: FreeCall['method'],
    path: string,
    body: string | undefined,
    limits: Pick<ExchangeRequest, 'refuseToBegin' | 'beginWithinMs' | 'maxBytes' | 'signal'>,
  ): Promise<ExchangeResult> {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    return exchange(this.#pool, {
      origin: this.#url.origin,
      method,
      path: this.#url.pathname.replace(/\/+$/, '') + this.dialect.toService(path),
      headers: { ...this.#headers, ...type },
      body,
      timeoutMs: this.#timeoutMs,
      ...limits,
    })
  }
}

function openConnections(url: URL, connections: number, settings: ProxySettings): Dispatcher {
  // The exchange has one hard limit of its own.
  const limits = { connections, pipelining: 1, allowH2: false, headersTimeout: 0, bodyTimeout: 0 }
  const tls = { timeout: CONNECT_TIMEOUT_MS, rejectUnauthorized: true }
  const proxy = proxyOf(url, settings)
  return proxy === null
    ? new Pool(url.origin, { ...limits, connect: tls })
    : openProxy(proxy, { ...limits, connectTimeout: CONNECT_TIMEOUT_MS, requestTls: tls })
}

/** As RFC 9110 has it; null for any other text. */
function readDate(header: string | undefined): Date | null {
  const isDate = /^\w{3}, \d\d \w{3} 20\d\d \d\d:\d\d:\d\d GMT$/.test(header ?? '')
  const date = new Date(isDate ? String(header) : Number.NaN)
  return Number.isNaN(date.getTime()) ? null : date
}

function describeOutcome({ httpStatus }: Delivered, meaning: Envelope | Failure): CallOutcome {
  return {
    ...(httpStatus === undefined ? {} : { httpStatus }),
    ...(meaning.statusCode === 0 ? {} : { statusCode: meaning.statusCode }),
    ...(isFailure(meaning) ? { error: meaning.message } : {}),
  }
}

function basicAuthorization(login: string, password: string): string {
  if (login === '' || password === '') {
    throw new ConfigurationError('The login and the password of the service must not be empty.')
  }
  if (login.includes(':')) {
    throw new ConfigurationError(
      'The login of the service must not hold a colon: Basic authentication ends it there.',
    )
  }
  return `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`
}

function checkBaseUrl(baseUrl: string): URL {
  const broken = (rule: string) => new ConfigurationError(`The address of the service must ${rule}`)
  const url = URL.parse(baseUrl)
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw broken('be an http or https URL, such as https://api.example.com.')
  if (url.username !== '' || url.password !== '')
    throw broken('not hold a login or password: set them on their own.')
  if (url.search !== '' || url.hash !== '') throw broken('end with its path: no query and no fragment.')
  if (url.protocol === 'http:' && !isLoopback(url))
    throw broken(`be https: over plain http the password could be read on the way to ${url.hostname}.`)
  return url
}
