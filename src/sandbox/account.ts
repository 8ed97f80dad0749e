/** The money of the account in micro-dollars: deposited, charged at posting, refunded at completion. */

import type { Code } from './codes.ts'
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
