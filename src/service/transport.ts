/**
 * The way to the service: authentication, connections, call permits, and the repetition of calls whose repeat
 * is free. Tasks are posted through `postOnce`, which no layer repeats.
 */

import pLimit from 'p-limit'
import { type Dispatcher, Pool } from 'undici'

import packageJson from '../../package.json' with { type: 'json' }
import { ConfigurationError, UnavailableError } from '../errors.ts'
import { NO_PROXY, openProxy, type ProxySettings, proxyOf } from '../proxy.ts'
import { TIMINGS } from '../timings.ts'
import { type Delivered, errorOf, isFailure, readAnswer } from './answer.ts'
import { type Clock, systemClock } from './clock.ts'
import { type Dialect, dialectOf, type StoreNames } from './dialect.ts'
import type { Envelope, EnvelopeHead, TaskReply } from './envelope.ts'
import { type ExchangeResult, exchange } from './exchange.ts'
import { decideRetry, type Failure } from './retry.ts'

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
  /**
   * Called exactly once; `error` without `httpStatus` and `statusCode` when there was no answer. Resolves
   * when it is written down, or cannot be; the call need not wait for it.
   */
  end(outcome: CallOutcome): Promise<void>
}

export interface CallOutcome {
  readonly httpStatus?: number
  readonly statusCode?: number
  readonly error?: string
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
  /**
   * What was posted so short a time ago may not be listed yet. Default 4 s; 0 for a service that lists it.
   */
  readonly unlistedMs?: number
  readonly clock?: Clock
  /** Told of every answer of a POST of tasks, and of every other one that was not an error; for logs. */
  readonly onAnswer?: (answer: AnswerHead) => void
}

/** What stands above the tasks of an answer, and which call it answers. */
export interface AnswerHead extends EnvelopeHead {
  /** Of the call that is answered. */
  readonly method: 'GET' | 'POST'
  /** Begins with `/v3/`; as the service was called. */
  readonly path: string
  /** HTTP status code. */
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
  readonly maxBytes?: number
}

export interface Reply {
  /** The first task's status code, or the general one when there is no task. */
  readonly statusCode: number
  readonly message: string
  readonly task: TaskReply | null
  /** All tasks of the answer, for the calls that have several. */
  readonly tasks: readonly TaskReply[]
  readonly rawBytes: number
  /** When it was answered, by the service's own clock, to the second; null when it does not say. */
  readonly answeredAt: Date | null
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
const DEFAULT_MAX_CONCURRENT = 30
const CONNECT_TIMEOUT_MS = 10_000
/**
 * A permit that ran out while a connection was made is replaced; more often than this, something is wrong.
 */
const MAX_PERMITS_PER_ATTEMPT = 10

const NO_GATE: CallGate = {
  open: async () => ({ startBeforeMs: Number.POSITIVE_INFINITY, end: async () => {} }),
}

export class Transport {
  readonly #pool: Dispatcher
  readonly #origin: string
  /** How paths of the service name the stores. */
  readonly dialect: Dialect
  readonly login: string
  /** What was posted so short a time ago may not be listed yet. */
  readonly unlistedMs: number
  readonly #pathPrefix: string
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
    const url = checkBaseUrl(options.baseUrl)
    const maxConcurrent = options.maxConcurrent ?? DEFAULT_MAX_CONCURRENT
    this.#origin = url.origin
    this.#pool = openConnections(url, maxConcurrent, options.proxy ?? NO_PROXY)
    this.dialect = dialectOf(url, options.stores)
    this.login = options.login
    this.unlistedMs = options.unlistedMs ?? TIMINGS.unlistedMs
    this.#pathPrefix = url.pathname.replace(/\/+$/, '')
    this.#headers = {
      authorization: basicAuthorization(options.login, options.password),
      'user-agent': `storerank/${packageJson.version}`,
    }
    this.#gate = options.gate ?? NO_GATE
    this.#clock = options.clock ?? systemClock
    this.#timeoutMs = options.timeoutMs ?? TIMINGS.callTimeoutMs
    this.#onAnswer = options.onAnswer
    this.#limit = pLimit(maxConcurrent)
  }

  /**
   * Makes a free call, with a permit for each attempt.
   * @param read what to keep of the reply, in the turn in which it came: a promise that is older than the
   *   reply would keep all of it until the next full collection
   * @throws AccountError, RateLimitedError, RejectedError, UnreadableError; UnavailableError when repeats did
   *   not help; what `read` throws
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
    return exchange(this.#pool, {
      origin: this.#origin,
      method: 'POST',
      path: this.#pathPrefix + this.dialect.toService(path),
      headers: { ...this.#headers, 'content-type': 'application/json' },
      body,
      timeoutMs: this.#timeoutMs,
      beginWithinMs: Math.min(Math.max(0, send.deadlineMs - clock.monotonicMs()), this.#timeoutMs),
      refuseToBegin: () => {
        const lateMs = clock.monotonicMs() - send.deadlineMs
        const wallLateMs = clock.wallMs() - (send.wallDeadlineMs ?? Number.POSITIVE_INFINITY)
        return lateMs > 0 || wallLateMs > 0 ? 'its time to be sent had passed' : null
      },
      ...(send.signal === undefined ? {} : { signal: send.signal }),
    })
  }

  /** Calls `onAnswer` with an answer; an error of that callback is not the call's failure. */
  announce(
    call: Pick<FreeCall, 'method' | 'path'>,
    httpStatus: number,
    { tasks: _, ...head }: Envelope,
  ): void {
    const onAnswer = this.#onAnswer
    if (onAnswer === undefined) return
    const { method } = call
    const path = this.dialect.toService(call.path)
    queueMicrotask(() => onAnswer({ ...head, method, path, httpStatus }))
  }

  /**
   * The present of the service, as far as its answers tell; before the first of them, that of this machine.
   */
  nowMs(): number {
    return this.#clock.wallMs() + this.#serviceAheadMs
  }

  /** Lets what is in flight end and be written down, and begins nothing more. */
  close(): Promise<void> {
    this.#closing.abort()
    this.#closed ??= this.#pool
      .close()
      .then(() => Promise.all(this.#ending))
      .then(() => {})
    return this.#closed
  }

  /**
   * The answer is no result of the limit: its queue, once it is old garbage, would keep what was read of
   * thousands of answers until the next full collection.
   */
  async #attemptInTurn<Read>(call: FreeCall, read: (reply: Reply) => Read): Promise<Attempt<Read>> {
    const { promise, resolve, reject } = Promise.withResolvers<Attempt<Read>>()
    await this.#limit(() => this.#attempt(call, read).then(resolve, reject))
    return promise
  }

  async #attempt<Read>(call: FreeCall, read: (reply: Reply) => Read): Promise<Attempt<Read>> {
    for (let permits = 0; permits < MAX_PERMITS_PER_ATTEMPT; permits += 1) {
      if (this.#closing.signal.aborted) {
        throw new UnavailableError(`${call.method} ${call.path} was not made: the client is closed.`)
      }
      const permit = await this.#gate.open(call.kind, call.path)
      const result = await this.#exchangeUnder(permit, call)
      if (result.kind === 'late') {
        this.#end(permit, { error: result.reason })
        continue
      }
      const meaning = readAnswer(result)
      this.#end(permit, describeOutcome(result, meaning))
      if (result.kind === 'broken') return { failure: meaning as Failure }
      const answeredAt = readDate(result.date)
      if (answeredAt !== null) this.#serviceAheadMs = answeredAt.getTime() - this.#clock.wallMs()
      if (isFailure(meaning)) return { failure: meaning }
      this.announce(call, OK, meaning)
      return { read: read(toReply(meaning, { rawBytes: result.body.byteLength, answeredAt })) }
    }
    throw new UnavailableError(
      `${call.method} ${call.path} was not made: ${MAX_PERMITS_PER_ATTEMPT} call permits ran out ` +
        'before it could begin.',
    )
  }

  #end(permit: CallPermit, outcome: CallOutcome): void {
    const ending = permit.end(outcome).finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }

  #exchangeUnder(permit: CallPermit, call: FreeCall): Promise<ExchangeResult> {
    const hasBody = call.body !== undefined
    return exchange(this.#pool, {
      origin: this.#origin,
      method: call.method,
      path: this.#pathPrefix + this.dialect.toService(call.path),
      headers: hasBody ? { ...this.#headers, 'content-type': 'application/json' } : this.#headers,
      ...(hasBody ? { body: JSON.stringify(call.body) } : {}),
      timeoutMs: this.#timeoutMs,
      ...(call.maxBytes === undefined ? {} : { maxBytes: call.maxBytes }),
      refuseToBegin: () =>
        this.#clock.monotonicMs() >= permit.startBeforeMs
          ? 'the permit ran out before the request began'
          : null,
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

type Attempt<Read> = { readonly read: Read } | { readonly failure: Failure }

/** As RFC 9110 has it; null for any other text. */
function readDate(header: string | undefined): Date | null {
  const isDate = /^\w{3}, \d\d \w{3} 20\d\d \d\d:\d\d:\d\d GMT$/.test(header ?? '')
  const date = new Date(isDate ? String(header) : Number.NaN)
  return Number.isNaN(date.getTime()) ? null : date
}

/** The answer to a call for one task. */
export function toReply(
  envelope: Envelope,
  { rawBytes, answeredAt }: Pick<Reply, 'rawBytes' | 'answeredAt'>,
): Reply {
  const task = envelope.tasks[0] ?? null
  const { statusCode, message } = task ?? envelope
  return { statusCode, message, task, tasks: envelope.tasks, rawBytes, answeredAt }
}

function describeOutcome(result: Delivered, meaning: Envelope | Failure): CallOutcome {
  return {
    ...(result.httpStatus === undefined ? {} : { httpStatus: result.httpStatus }),
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
  const refuse = (rule: string): never => {
    throw new ConfigurationError(`The address of the service must ${rule}`)
  }
  const url = URL.parse(baseUrl)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    return refuse('be an http or https URL, such as https://api.example.com.')
  }
  if (url.username !== '' || url.password !== '')
    refuse('not hold a login or password: set them on their own.')
  if (url.search !== '' || url.hash !== '') refuse('end with its path: no query and no fragment.')
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    refuse(`be https: over plain http the password could be read on the way to ${url.hostname}.`)
  }
  return url
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}
