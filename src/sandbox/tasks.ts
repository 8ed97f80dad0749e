/**
 * The life of tasks: posted and charged, done and refunded, fetched. When a task is done is computed from the
 * times in the books, so that a restart changes nothing.
 */

import type { Account } from './account.ts'
import { type Books, type Entry, openBooks, type PostedTask } from './books.ts'
import { MAX_ROWS, READY_LIST_DAYS, RETENTION_DAYS } from './limits.ts'
import type { Store, TaskFunction } from './offers.ts'
import { DAY_MS } from './timestamp.ts'

/** A task in the books. */
export type Task = PostedTask & { isFetched: boolean }

/** What asking for a result meets. */
export type Stage = 'handed' | 'queued' | 'done' | 'expired'

/** The part of its time that a task counts as just handed over. */
const HANDED_SHARE = 0.25

export class Tasks {
  readonly #account: Account
  readonly #books: Books
  readonly #byId = new Map<string, Task>()
  /** Not yet done, the next to be done in front. */
  readonly #unfinished: Task[]
  /** Done and not fetched, in the order of completion, by store and function. */
  readonly #ready = new Map<string, Map<string, Task>>()

  constructor(account: Account, stateFile: string | undefined) {
    this.#account = account
    this.#books = openBooks(stateFile, (entry) => this.#apply(entry))
    this.#unfinished = [...this.#byId.values()].sort((left, right) => left.doneAtMs - right.doneAtMs)
  }

  /** Charges and keeps new tasks. When it returns they are in the books. */
  post(tasks: readonly PostedTask[]): void {
    if (tasks.length === 0) return
    this.#record({ kind: 'posted', tasks })
    for (const { id } of tasks) this.#await(this.#byId.get(id))
    this.#books.flush()
  }

  /** Ends every task whose time has come: gives back what it did not use, and puts it on the ready list. */
  settle(nowMs: number): void {
    for (const task of this.#unfinished.splice(0, this.#countDueBy(nowMs))) {
      this.#account.charge(task.function, -task.refundMicros, task.doneAtMs)
      if (!task.isFetched) this.#readyOf(task.store, task.function).set(task.id, task)
    }
  }

  find(id: string): Task | undefined {
    return this.#byId.get(id)
  }

  stageOf(task: Task, nowMs: number): Stage {
    if (nowMs >= task.doneAtMs + RETENTION_DAYS * DAY_MS) return 'expired'
    if (nowMs >= task.doneAtMs) return 'done'
    return nowMs < task.postedAtMs + HANDED_SHARE * (task.doneAtMs - task.postedAtMs) ? 'handed' : 'queued'
  }

  /** The tasks done and not fetched, those done first in front, bounded in number and age. */
  listReady(store: Store, taskFunction: TaskFunction, nowMs: number): readonly Task[] {
    const oldestMs = nowMs - READY_LIST_DAYS * DAY_MS
    return this.#readyOf(store, taskFunction)
      .values()
      .filter((task) => task.postedAtMs >= oldestMs)
      .take(MAX_ROWS)
      .toArray()
  }

  /** Takes a task off the ready list for good. */
  markFetched(task: Task): void {
    if (task.isFetched) return
    this.#record({ kind: 'fetched', id: task.id })
    this.#readyOf(task.store, task.function).delete(task.id)
  }

  /** Every task posted within a time, both ends included, by whole seconds. */
  listPosted(fromMs: number, toMs: number): Task[] {
    return this.#byId
      .values()
      .filter((task) => task.postedAtMs >= fromMs && task.postedAtMs < toMs + 1000)
      .toArray()
  }

  close(): void {
    this.#books.close()
  }

  /** How many unfinished tasks are done by a moment; found by halving, because there may be a hundred thousand. */
  #countDueBy(timeMs: number): number {
    let low = 0
    let high = this.#unfinished.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#unfinished[middle]?.doneAtMs ?? 0) <= timeMs) low = middle + 1
      else high = middle
    }
    return low
  }

  #await(task: Task | undefined): void {
    if (task) this.#unfinished.splice(this.#countDueBy(task.doneAtMs), 0, task)
  }

  #record(entry: Entry): void {
    this.#apply(entry)
    this.#books.append(entry)
  }

  #readyOf(store: Store, taskFunction: TaskFunction): Map<string, Task> {
    const key = `${store}/${taskFunction}`
    const ready = this.#ready.get(key) ?? new Map<string, Task>()
    this.#ready.set(key, ready)
    return ready
  }

  #apply(entry: Entry): void {
    if (entry.kind === 'fetched') {
      const task = this.#byId.get(entry.id)
      if (!task) throw new Error(`The books speak of a task that was never posted: ${entry.id}`)
      task.isFetched = true
      return
    }
    for (const posted of entry.tasks) {
      this.#byId.set(posted.id, { ...posted, isFetched: false })
      this.#account.charge(posted.function, posted.costMicros, posted.postedAtMs)
    }
  }
}
