/**
 * One HTTP exchange: bounded, never repeated or redirected. It never throws, and knows whether a byte has
 * left.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { findObstacle } from '../trouble.ts'

/** Four hundred times the size of a search of 100 apps; a locations list is some megabytes. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024

export interface ExchangeRequest {
  /** Of the service, without a path. */
  readonly origin: string
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Asked right before the first byte would be written: a reason not to begin any more, or null. */
  refuseToBegin(): string | null
  /** Gives up when no byte was written after this long. */
  readonly beginWithinMs?: number
  /** From the call to the last byte of the answer. */
  readonly timeoutMs: number
  /** Default: MAX_BODY_BYTES. */
  readonly maxBytes?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export type ExchangeResult =
  | {
      readonly kind: 'answered'
      readonly httpStatus: number
      readonly headers: Pick<IncomingHttpHeaders, 'retry-after' | 'date'>
      readonly body: Buffer
    }
  /** `refuseToBegin` gave a reason, or `beginWithinMs` went by: no byte has left, none will. */
  | { readonly kind: 'late'; readonly reason: string }
  /** No answer. `begun: false` proves that no byte has left and none will. */
  | {
      readonly kind: 'broken'
      readonly begun: boolean
      readonly oversized: boolean
      readonly reason: string
      /** Where it is known, as a sentence. */
      readonly remedy?: string
      readonly httpStatus?: number
    }

/** Sends one request over the pool. */
export function exchange(pool: Dispatcher, request: ExchangeRequest): Promise<ExchangeResult> {
  return new Promise((resolve) => {
    const handler = new ExchangeHandler(request, resolve)
    pool.dispatch(handler.dispatchOptions(), handler)
  })
}

class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #request: ExchangeRequest
  readonly #resolve: (result: ExchangeResult) => void
  readonly #body: Buffer | null
  readonly #timers: NodeJS.Timeout[]
  readonly #onAbort = () => this.#stop('it was called off')
  #controller: Dispatcher.DispatchController | null = null
  #begun = false
  #settled = false
  #httpStatus: number | undefined
  #headers: IncomingHttpHeaders = {}
  #chunks: Buffer[] = []
  #bytes = 0

  constructor(request: ExchangeRequest, resolve: (result: ExchangeResult) => void) {
    this.#request = request
    this.#resolve = resolve
    this.#body = request.body === undefined ? null : Buffer.from(request.body)
    const { timeoutMs, beginWithinMs, signal } = request
    this.#timers = [setTimeout(() => this.#stop(`no complete answer within ${timeoutMs} ms`), timeoutMs)]
    if (beginWithinMs !== undefined) this.#timers.push(setTimeout(() => this.#stopUnbegun(), beginWithinMs))
    signal?.addEventListener('abort', this.#onAbort)
    if (signal?.aborted) this.#onAbort()
  }

  dispatchOptions(): Dispatcher.DispatchOptions {
    const { origin, method, path, headers } = this.#request
    if (this.#body === null) return { origin, method, path, headers, body: null }
    const length = { 'content-length': String(this.#body.byteLength) }
    // undici writes any async iterable; its types name only Readable.
    const body = this.#produceBody() as unknown as Readable
    return { origin, method, path, headers: { ...headers, ...length }, body }
  }

  /** undici writes the head with the first chunk: a throw before the yield sends nothing. */
  async *#produceBody(): AsyncGenerator<Buffer> {
    if (this.#body === null) return
    this.#begin()
    yield this.#body
  }

  /** Called by undici in the same tick as it writes, or asks for the body. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#body === null) this.#begin()
    this.#controller = controller
  }

  onResponseStart(_: Dispatcher.DispatchController, httpStatus: number, headers: IncomingHttpHeaders): void {
    this.#httpStatus = httpStatus
    this.#headers = headers
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    const { maxBytes = MAX_BODY_BYTES } = this.#request
    this.#bytes += chunk.byteLength
    if (this.#bytes > maxBytes) this.#stop(`the body exceeds ${maxBytes} bytes`, true)
    else this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    const body = Buffer.concat(this.#chunks, this.#bytes)
    this.#settle({ kind: 'answered', httpStatus: this.#httpStatus ?? 0, headers: this.#headers, body })
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    const { reason, remedy } = findObstacle(error)
    this.#settle({ ...this.#broken(reason), remedy })
  }

  #begin(): void {
    if (this.#settled) throw new NotBegun()
    const reason = this.#request.refuseToBegin()
    if (reason !== null) {
      this.#settle({ kind: 'late', reason })
      throw new NotBegun()
    }
    this.#begun = true
  }

  #stopUnbegun(): void {
    if (this.#begun) return
    this.#settle({ kind: 'late', reason: 'no connection was free in time' })
    this.#controller?.abort(new NotBegun())
  }

  #stop(reason: string, oversized = false): void {
    this.#settle({ ...this.#broken(reason), oversized })
    this.#controller?.abort(new Error(reason))
  }

  #broken(reason: string): Extract<ExchangeResult, { kind: 'broken' }> {
    const httpStatus = this.#httpStatus === undefined ? {} : { httpStatus: this.#httpStatus }
    return { kind: 'broken', begun: this.#begun, oversized: false, reason, ...httpStatus }
  }

  /** The first result counts. After it `#begin` refuses: what is still queued can never leave. */
  #settle(result: ExchangeResult): void {
    if (this.#settled) return
    this.#settled = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.#request.signal?.removeEventListener('abort', this.#onAbort)
    this.#resolve(result)
  }
}

/** Thrown into undici so that it drops a request without writing it. */
class NotBegun extends Error {
  constructor() {
    super('the request was not begun')
  }
}
