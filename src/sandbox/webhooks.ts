/**
 * Tells clients that their tasks are done: pingbacks and postbacks, each at least once (a sandbox that stops
 * while one is under way sends it again after its next start), and again when a client asks for that.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import pLimit, { type LimitFunction } from 'p-limit'
import { Agent, type Dispatcher } from 'undici'
import { z } from 'zod'
import type { DeliveryFailure, Hook } from './books.ts'
import { type Code, invalidField, isRecord, type TaskAnswer } from './envelope.ts'
import { showResult } from './fetching.ts'
import { type Form, findOffer, MAX_IDS_PER_RESEND, resultPath } from './offers.ts'
import type { Options } from './options.ts'
import type { Service } from './service.ts'
import { hooksOf, stageOf, type Task } from './tasks.ts'

/** Of a client's answer, no more is told. */
const MAX_RESPONSE_CHARACTERS = 1000
/** Compression takes a third of the time of a delivery; more of it would gain nothing on loopback. */
const GZIP_LEVEL = 1
/** The answer to the POST arrives before what it has bought, however soon that is done. */
const AFTER_ANSWER_MS = 150

/** Puts the id and the urlencoded tag into the URL of a webhook (spec: Task posting). */
export const fillUrl = (url: string, id: string, tag: string): string =>
  url.replace(/\$(id|tag)/g, (_match, name) => (name === 'id' ? id : encodeURIComponent(tag.toWellFormed())))

const urlOf = ({ id, parameters }: Task, hook: Hook): string =>
  fillUrl(String(parameters[hook]), id, String(parameters.tag ?? ''))

/** The form in which a task's postback comes. */
const postbackFormOf = (task: Task): Form => (task.parameters.postback_data === 'html' ? 'html' : 'advanced')

export class Webhooks {
  readonly #service: Service
  readonly #timeoutMs: number
  readonly #agent: Agent
  readonly #limit: LimitFunction
  /** What is to be sent or under way, by task and hook, and since when; the longest wait in front. */
  readonly #waiting = new Map<string, number>()
  #isClosed = false

  constructor(service: Service, { webhookTimeoutMs, webhooksInFlight }: Options) {
    this.#service = service
    this.#timeoutMs = webhookTimeoutMs
    this.#limit = pLimit(webhooksInFlight)
    this.#agent = new Agent({ connections: webhooksInFlight, headersTimeout: 0, bodyTimeout: 0 })
  }

  /** Sends the webhooks that these tasks have due, unless they are being sent already. */
  send(tasks: readonly Task[]): void {
    for (const [task, hook] of tasks.flatMap((task) => task.due.map((hook) => [task, hook] as const))) {
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
    const { tasks, faults, now } = this.#service
    const url = urlOf(task, hook)
    if (faults.strikes('webhookLost', url)) return tasks.noteDelivery(task, hook)
    if (faults.strikes('strayWebhook', url)) await this.#sendStray(task, hook)
    const failure = faults.strikes('webhookUnsent', url)
      ? { atMs: now(), url, httpCode: 0, httpTimeMs: 0, response: '', message: 'Not sent.' }
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
        ...(hook === 'pingback_url' ? { method: 'GET' } : this.#writePostback(task)),
        signal: AbortSignal.timeout(this.#timeoutMs),
      })
      const response = (await body.text()).slice(0, MAX_RESPONSE_CHARACTERS)
      if (statusCode >= 200 && statusCode < 300) return undefined
      return fail(statusCode, response, `The client answered with HTTP ${statusCode}.`)
    } catch (error) {
      return fail(0, '', error instanceof Error ? error.message : String(error))
    }
  }

  /** A webhook in the name of a task that does not exist; its body does not say a tag. */
  async #sendStray(task: Task, hook: Hook): Promise<void> {
    const stray = { ...task, id: this.#service.makeId(this.#service.now(), task.function) }
    const { tag: _, ...parameters } = task.parameters
    await this.#request({ ...stray, parameters }, hook, urlOf(stray, hook))
  }

  #writePostback(task: Task): Pick<Dispatcher.RequestOptions, 'method' | 'headers' | 'body'> {
    const { envelope, offers } = this.#service
    const startedMs = performance.now()
    const form = postbackFormOf(task)
    const answer = showResult(this.#service, task, form)
    const path = resultPath(findOffer(offers, task), task.id, form)
    const body = envelope.wrapTasks(path, [answer], performance.now() - startedMs)
    return {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync(body, { level: GZIP_LEVEL }),
    }
  }
}

/** As they are sold, ids are no UUIDs; which form they have is the service's own affair. */
const Resend = z.object({ id: z.uuid() })
const SoldResend = z.object({ id: z.string().min(1).max(100) })

/** Sends webhooks again, at no charge (spec: Webhook resend); those of a task not yet done go out later. */
export const resendWebhooks = (
  { tasks, deviations, makeId }: Service,
  webhooks: Webhooks,
  posted: readonly unknown[],
  nowMs: number,
): TaskAnswer[] => {
  const request = deviations.has('ids') ? SoldResend : Resend
  const resend = (id: string): Code => {
    const task = tasks.find(id)
    if (tasks.isForeign(id)) return 40001
    if (!task) return 40401
    if (hooksOf(task).length === 0) return 40503
    if (stageOf(task, postbackFormOf(task), nowMs) === 'expired') return 40403
    if (nowMs >= task.doneAtMs) {
      tasks.resend(task)
      webhooks.send([task])
    }
    return 20100
  }
  return posted.map((given, index) => {
    const data = { api: 'appendix', function: 'webhook_resend', ...(isRecord(given) && given) }
    const refuse = (why: Pick<TaskAnswer, 'code' | 'message'>) => {
      return { id: makeId(nowMs, 'webhook_resend'), ...why, data }
    }
    if (index >= MAX_IDS_PER_RESEND) return refuse({ code: 40006 })
    const { data: read } = request.safeParse(given)
    return read ? { id: read.id, code: resend(read.id), data } : refuse(invalidField('id'))
  })
}
