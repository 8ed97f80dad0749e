/** The account: its money in micro-dollars, and its calls, which windows refuse and statistics count. */

import type { Code } from './envelope.ts'
import { toUsd } from './offers.ts'
import type { Options } from './options.ts'
import { DAY_MS, MINUTE_MS } from './timestamp.ts'

/** What an account starts with and may spend, if it has limits at all. */
type AccountTerms = Pick<Options, 'balanceUsd' | 'costLimitPerDayUsd' | 'costLimitPerMinuteUsd'> & {
  isLimited: boolean
}

/** Adds up amounts by name within the current minute or day (UTC); earlier ones are forgotten. */
export class Tally {
  readonly #periodMs: number
  #period = 0
  #amounts = new Map<string, number>()

  constructor(periodMs: number) {
    this.#periodMs = periodMs
  }

  /** Adds an amount that belongs to a moment; one of an earlier period no longer counts. */
  add(name: string, amount: number, timeMs: number): void {
    if (Math.floor(timeMs / this.#periodMs) < this.#period) return
    const sum = this.amount(name, timeMs) + amount
    this.#amounts.set(name, sum)
  }

  /** The amount under one name in the period of `nowMs`. */
  amount(name: string, nowMs: number): number {
    return this.#amountsOf(nowMs).get(name) ?? 0
  }

  /** The sum of all names in the period of `nowMs`. */
  total(nowMs: number): number {
    return this.#amountsOf(nowMs)
      .values()
      .reduce((sum, amount) => sum + amount, 0)
  }

  #amountsOf(timeMs: number): ReadonlyMap<string, number> {
    const period = Math.floor(timeMs / this.#periodMs)
    if (period !== this.#period) this.#amounts = new Map()
    this.#period = period
    return this.#amounts
  }
}

const toMicros = (usd: number): number => Math.round(usd * 1_000_000)

export class Account {
  readonly terms: AccountTerms
  readonly spentPerDay = new Tally(DAY_MS)
  readonly spentPerMinute = new Tally(MINUTE_MS)
  #balanceMicros: number

  constructor(terms: AccountTerms) {
    this.terms = terms
    this.#balanceMicros = toMicros(terms.balanceUsd)
  }

  get balanceUsd(): number {
    return toUsd(this.#balanceMicros)
  }

  /** Why the account cannot pay a cost now; undefined when it can. */
  refuse(costMicros: number, nowMs: number): Code | undefined {
    const { isLimited, costLimitPerDayUsd, costLimitPerMinuteUsd } = this.terms
    if (costMicros > this.#balanceMicros) return 40210
    const isOver = (spent: Tally, limitUsd: number) => spent.total(nowMs) + costMicros > toMicros(limitUsd)
    const isRefused =
      isOver(this.spentPerDay, costLimitPerDayUsd) || isOver(this.spentPerMinute, costLimitPerMinuteUsd)
    return isLimited && isRefused ? 40203 : undefined
  }

  /** Books a charge, or a refund as a negative one, at the moment that it belongs to. */
  charge(functionName: string, micros: number, timeMs: number): void {
    this.#balanceMicros -= micros
    this.spentPerDay.add(functionName, micros, timeMs)
    this.spentPerMinute.add(functionName, micros, timeMs)
  }
}

/** Lets at most `limit` calls through within any 60 seconds; refused calls do not count. */
export class CallWindow {
  #timesMs: number[] = []
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  hasRoom(nowMs: number): boolean {
    // A clock that was set back must not close the window until the old time has come again.
    const aheadMs = Math.max(0, (this.#timesMs.at(-1) ?? nowMs) - nowMs)
    if (aheadMs > 0) this.#timesMs = this.#timesMs.map((timeMs) => timeMs - aheadMs)
    while ((this.#timesMs[0] ?? nowMs) <= nowMs - MINUTE_MS) this.#timesMs.shift()
    return this.#timesMs.length < this.#limit
  }

  take(nowMs: number): void {
    this.#timesMs.push(nowMs)
  }
}

/** The limits of calls: that over everything, and those of single endpoints. */
export type WindowName = 'calls' | 'readyLists' | 'idLists' | 'status'

export class Calls {
  readonly limits: Options
  readonly perDay = new Tally(DAY_MS)
  readonly perMinute = new Tally(MINUTE_MS)
  readonly #windows = new Map<WindowName, CallWindow>()
  #inFlight = 0

  constructor(limits: Options) {
    this.limits = limits
  }

  /** Begins a request; false when too many are in flight. Whatever it says, `leave` must follow. */
  enter(): boolean {
    this.#inFlight += 1
    return this.#inFlight <= this.limits.requestsInFlight
  }

  leave(): void {
    this.#inFlight -= 1
  }

  /** Counts a call under a name such as `app_info/task_post`; false when a limit refuses it. */
  admit(name: string, ownWindow: WindowName, nowMs: number): boolean {
    const windows = [...new Set<WindowName>(['calls', ownWindow])].map((each) => this.#windowOf(each))
    if (!windows.every((window) => window.hasRoom(nowMs))) return false
    for (const window of windows) window.take(nowMs)
    this.perDay.add(name, 1, nowMs)
    this.perMinute.add(name, 1, nowMs)
    return true
  }

  #windowOf(name: WindowName): CallWindow {
    const window = this.#windows.get(name) ?? new CallWindow(this.limits[`${name}PerMinute`])
    this.#windows.set(name, window)
    return window
  }
}
