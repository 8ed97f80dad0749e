/**
 * The life of tasks: posted and charged, done and refunded, told of by webhook, fetched. When a task is done
 * is computed from the times in the books, so that a restart changes nothing.
 */

import type { Account } from './account.ts'
import {
  type Books,
  type DeliveryFailure,
  type Entry,
  HOOKS,
  type Hook,
  openBooks,
  type PostedTask,
} from './books.ts'
import type { Code, Codes } from './envelope.ts'
import { type Form, MAX_ROWS, type Offer, READY_LIST_DAYS, RETENTION_DAYS } from './offers.ts'
import { DAY_MS, dayOf } from './timestamp.ts'

/** `due` are webhooks still to be sent; a held task is not ready until its postback has failed. */
export type Task = PostedTask & { isFetched: boolean; isHeld: boolean; due: readonly Hook[] }

/** A webhook that did not arrive. */
export type FailedDelivery = { task: Task; hook: Hook; failure: DeliveryFailure }

/** What asking for a result meets; a task counts as just handed over for a part of its time. */
type Stage = 'handed' | 'queued' | 'done' | 'expired'
const HANDED_SHARE = 0.25
const HANDED_AT_MOST_MS = 60_000

/** The webhooks that a task asked for. */
export const hooksOf = (task: PostedTask): readonly Hook[] =>
  HOOKS.filter((hook) => task.parameters[hook] !== undefined)

/** How a task that is done has ended. */
export const outcomeOf = (task: PostedTask): Code => task.failure ?? (task.results > 0 ? 20000 : 40102)

/** The message of a code with which a task has ended. With 40501 it says that nothing was found. */
export const messageOf = (code: Code, codes: Codes): string =>
  codes.show(code === 40501 ? 40102 : code).message

/** What asking for a result in a form meets now. */
export const stageOf = ({ postedAtMs, doneAtMs }: Task, form: Form, nowMs: number): Stage => {
  if (nowMs >= doneAtMs + RETENTION_DAYS[form] * DAY_MS) return 'expired'
  if (nowMs >= doneAtMs) return 'done'
  const handedMs = Math.min(HANDED_AT_MOST_MS, HANDED_SHARE * (doneAtMs - postedAtMs))
  return nowMs < postedAtMs + handedMs ? 'handed' : 'queued'
}

export class Tasks {
  readonly #login: string
  readonly #account: Account
  readonly #books: Books
  readonly #byId = new Map<string, Task>()
  /** Ids of tasks that another login has posted into the same books. */
  readonly #foreign = new Set<string>()
  readonly #unfinished = new Set<Task>()
  /** Done and not fetched, in the order of completion. */
  readonly #ready = new Set<Task>()
  readonly #failedDeliveries: FailedDelivery[] = []

  constructor(login: string, account: Account, stateFile: string | undefined) {
    this.#login = login
    this.#account = account
    this.#books = openBooks(stateFile, (entry) => this.#apply(entry))
  }

  /** Charges and keeps new tasks. */
  post(tasks: readonly PostedTask[]): void {
    if (tasks.length > 0) this.#record({ kind: 'posted', login: this.#login, tasks })
  }

  /** Charges and keeps a call that is answered at once. */
  postFetched(call: PostedTask): void {
    this.post([call])
    this.#record({ kind: 'fetched', id: call.id })
  }

  /** Ends and refunds every task whose time has come. Returns those that have webhooks due. */
  settle(nowMs: number): Task[] {
    const ended = [...this.#unfinished.values().filter(({ doneAtMs }) => doneAtMs <= nowMs)]
    for (const task of ended.sort((left, right) => left.doneAtMs - right.doneAtMs)) {
      this.#unfinished.delete(task)
      this.#account.charge(task.function, -task.refundMicros, task.doneAtMs)
      this.#listAsReady(task)
    }
    return ended.filter((task) => task.due.length > 0)
  }

  find(id: string): Task | undefined {
    return this.#byId.get(id)
  }

  /** Another task of the same function, posted on the same day, that has found something else. */
  findOther({ id, store, function: fn, subject, postedAtMs }: Task): Task | undefined {
    return this.#byId
      .values()
      .find(
        (other) =>
          dayOf(other.postedAtMs) === dayOf(postedAtMs) &&
          other.id !== id &&
          other.store === store &&
          other.function === fn &&
          other.subject !== subject &&
          other.doneAtMs < other.postedAtMs + DAY_MS &&
          outcomeOf(other) === 20000,
      )
  }

  /** Whether a task belongs to another client. */
  isForeign(id: string): boolean {
    return this.#foreign.has(id)
  }

  /** The tasks of some offers that are done by `doneByMs` and not fetched, those done first in front. */
  listReady(offers: readonly Offer[], nowMs: number, doneByMs: number): readonly Task[] {
    const oldestMs = nowMs - READY_LIST_DAYS * DAY_MS
    const isOf = (task: Task) =>
      offers.some(({ store, function: fn }) => store === task.store && fn === task.function)
    return this.#ready
      .values()
      .filter((task) => task.postedAtMs >= oldestMs && task.doneAtMs <= doneByMs && isOf(task))
      .take(MAX_ROWS)
      .toArray()
  }

  /** Takes a task off the ready list for good. */
  markFetched(task: Task): void {
    if (task.isFetched) return
    this.#record({ kind: 'fetched', id: task.id })
    this.#ready.delete(task)
  }

  /**
   * Notes how a webhook went: a delivered postback ends the time on the ready list, a failed one begins it.
   */
  noteDelivery(task: Task, hook: Hook, failure?: DeliveryFailure): void {
    this.#record({ kind: 'sent', id: task.id, hook, ...(failure && { failure }) })
    if (task.isFetched) this.#ready.delete(task)
    else this.#listAsReady(task)
  }

  /** Makes the webhooks of a task due again. */
  resend(task: Task): void {
    this.#record({ kind: 'resent', id: task.id })
  }

  /** Every task of a kind, in the order of posting. */
  list(isWanted: (task: Task) => boolean): Task[] {
    return [...this.#byId.values().filter(isWanted)]
  }

  /** Every webhook that failed within a time. */
  listFailedDeliveries(fromMs: number, toMs: number): FailedDelivery[] {
    return this.#failedDeliveries.filter(({ failure }) => failure.atMs >= fromMs && failure.atMs <= toMs)
  }

  close(): void {
    this.#books.close()
  }

  #listAsReady(task: Task): void {
    if (!task.isFetched && !task.isHeld) this.#ready.add(task)
  }

  #record(entry: Entry): void {
    this.#apply(entry)
    this.#books.append(entry)
  }

  #apply(entry: Entry): void {
    if (entry.kind === 'posted') {
      this.#applyPosted(entry)
      return
    }
    if (this.#foreign.has(entry.id)) return
    const task = this.#byId.get(entry.id)
    if (!task) throw new Error(`The books speak of a task that was never posted: ${entry.id}`)
    if (entry.kind === 'fetched') task.isFetched = true
    else if (entry.kind === 'resent') task.due = hooksOf(task)
    else this.#applySent(task, entry)
  }

  #applyPosted({ login, tasks }: Extract<Entry, { kind: 'posted' }>): void {
    for (const posted of tasks) {
      if (login !== this.#login) {
        this.#foreign.add(posted.id)
        continue
      }
      const due = hooksOf(posted)
      const task: Task = { ...posted, isFetched: false, isHeld: due.includes('postback_url'), due }
      this.#byId.set(task.id, task)
      this.#unfinished.add(task)
      this.#account.charge(posted.function, posted.costMicros, posted.postedAtMs)
    }
  }

  #applySent(task: Task, { hook, failure }: Extract<Entry, { kind: 'sent' }>): void {
    task.due = task.due.filter((each) => each !== hook)
    if (failure) this.#failedDeliveries.push({ task, hook, failure })
    if (hook !== 'postback_url') return
    if (failure) task.isHeld = false
    else task.isFetched = true
  }
}
