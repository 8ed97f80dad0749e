/**
 * Tells clients that their tasks are done: pingbacks and postbacks, each at least once (a sandbox that stops
 * while one is under way sends it again after its next start). Bounded in number, in time and in what it
 * reads.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import pLimit, { type LimitFunction } from 'p-limit'
import { Agent, type Dispatcher } from 'undici'
import type { DeliveryFailure, Hook } from './books.ts'
import { showResult } from './fetching.ts'
import { type Form, findOffer, resultPath } from './offers.ts'
import type { Service } from './service.ts'
import type { Task } from './tasks.ts'

/** Of a client's answer, no more is read. */
const MAX_RESPONSE_BYTES = 1000
/** Compression takes a third of the time of a delivery; more of it would gain nothing on loopback. */
const GZIP_LEVEL = 1

/** Puts the id and the urlencoded tag into the URL of a webhook (spec: Task posting). */
export const fillUrl = (url: string, id: string, tag: string): string =>
  url.replace(/\$(id|tag)/g, (_match, name) => (name === 'id' ? id : encodeURIComponent(tag.toWellFormed())))

/** The form in which a task's postback comes. */
export const postbackFormOf = (task: Task): Form =>
  task.parameters.postback_data === 'html' ? 'html' : 'advanced'

const readStart = async (body: Dispatcher.ResponseData['body']): Promise<string> => {
  let text = ''
  for await (const chunk of body) {
    text += chunk
    if (text.length >= MAX_RESPONSE_BYTES) break
  }
  return text.slice(0, MAX_RESPONSE_BYTES)
}

/** The answer to the POST arrives before what it has bought, however soon that is done. */
const AFTER_ANSWER_MS = 150

export class Webhooks {
  readonly #service: Service
  readonly #timeoutMs: number
  readonly #agent: Agent
  readonly #limit: LimitFunction
  /**
   * What is to be sent or under way, by task and hook, and since when; the one that waits longest in front.
   */
  readonly #waiting = new Map<string, number>()
  #isClosed = false

  constructor(
    service: Service,
    { webhookTimeoutMs, webhooksInFlight }: { webhookTimeoutMs: number; webhooksInFlight: number },
  ) {
    this.#service = service
    this.#timeoutMs = webhookTimeoutMs
    this.#limit = pLimit(webhooksInFlight)
    this.#agent = new Agent({ connections: webhooksInFlight, headersTimeout: 0, bodyTimeout: 0 })
  }

  /** Sends the webhooks that these tasks have due, unless they are being sent already. */
  send(tasks: readonly Task[]): void {
    for (const task of tasks) {
      for (const hook of task.due) {
        const key = `${task.id} ${hook}`
        if (this.#waiting.has(key)) continue
        this.#waiting.set(key, this.#service.now())
        void delay(AFTER_ANSWER_MS, undefined, { ref: false }).then(() =>
          this.#limit(async () => {
            await this.#deliver(task, hook)
            this.#waiting.delete(key)
          }),
        )
      }
    }
  }

  /** How long the webhook that is due for longest has been waiting. */
  longestWaitMs(nowMs: number): number {
    const [sinceMs = nowMs] = this.#waiting.values()
    return nowMs - sinceMs
  }

  /** Stops sending; what has not arrived by now stays due. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#limit.clearQueue()
    await this.#agent.destroy()
  }

  async #deliver(task: Task, hook: Hook): Promise<void> {
    const { tasks, faults } = this.#service
    const url = fillUrl(String(task.parameters[hook]), task.id, String(task.parameters.tag ?? ''))
    if (faults.strikes('webhookLost', url)) return tasks.noteDelivery(task, hook)
    if (faults.strikes('strayWebhook', url)) await this.#sendStray(task, hook)
    const failure = faults.strikes('webhookUnsent', url)
      ? { atMs: this.#service.now(), url, httpCode: 0, httpTimeMs: 0, response: '', message: 'Not sent.' }
      : await this.#request(task, hook, url)
    if (!failure && faults.strikes('webhookTwice', url)) await this.#request(task, hook, url)
    if (!this.#isClosed) tasks.noteDelivery(task, hook, failure)
  }

  /** Makes one attempt; undefined when the client has taken it, which any answer of 200 to 299 says. */
  async #request(task: Task, hook: Hook, url: string): Promise<DeliveryFailure | undefined> {
    const startedMs = performance.now()
    const fail = (httpCode: number, response: string, message: string): DeliveryFailure => {
      const httpTimeMs = Math.round(performance.now() - startedMs)
      return { atMs: this.#service.now(), url, httpCode, httpTimeMs, response, message }
    }
    try {
      const { origin, pathname, search } = new URL(url)
      const { statusCode, body } = await this.#agent.request({
        origin,
        path: pathname + search,
        ...this.#write(task, hook),
        signal: AbortSignal.timeout(this.#timeoutMs),
      })
      const response = await readStart(body)
      if (statusCode >= 200 && statusCode < 300) return undefined
      return fail(statusCode, response, `The client answered with HTTP ${statusCode}.`)
    } catch (error) {
      return fail(0, '', error instanceof Error ? error.message : String(error))
    }
  }

  /** A webhook in the name of a task that does not exist; its body does not say a tag. */
  async #sendStray(task: Task, hook: Hook): Promise<void> {
    const parameters = { ...task.parameters }
    const id = this.#service.makeId(this.#service.now(), task.function)
    const url = fillUrl(String(parameters[hook]), id, String(parameters.tag ?? ''))
    delete parameters.tag
    await this.#request({ ...task, id, parameters }, hook, url)
  }

  #write(task: Task, hook: Hook): Pick<Dispatcher.RequestOptions, 'method' | 'headers' | 'body'> {
    if (hook === 'pingback_url') return { method: 'GET' }
    const startedMs = performance.now()
    const form = postbackFormOf(task)
    const answer = showResult(this.#service, task, form)
    const { envelope, offers } = this.#service
    const path = resultPath(findOffer(offers, task), task.id, form)
    const body = envelope.wrapTasks(path, [answer], performance.now() - startedMs)
    return {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync(body, { level: GZIP_LEVEL }),
    }
  }
}
