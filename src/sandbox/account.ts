/** The money of the account in micro-dollars: deposited, charged at posting, refunded at completion. */

import type { Code } from './codes.ts'
import { toUsd } from './prices.ts'
import { Tally } from './tally.ts'
import { DAY_MS } from './timestamp.ts'

const MINUTE_MS = 60_000

/** What an account starts with and may spend. */
export type AccountTerms = {
  balanceUsd: number
  costLimitPerDayUsd: number
  costLimitPerMinuteUsd: number
  /** Whether the account has limits at all. */
  isLimited: boolean
}

const toMicros = (usd: number): number => Math.round(usd * 1_000_000)

export class Account {
  readonly terms: AccountTerms
  readonly spentPerDay = new Tally(DAY_MS)
  readonly spentPerMinute = new Tally(MINUTE_MS)
  #spentMicros = 0

  constructor(terms: AccountTerms) {
    this.terms = terms
  }

  get balanceUsd(): number {
    return toUsd(this.#balanceMicros)
  }

  get #balanceMicros(): number {
    return toMicros(this.terms.balanceUsd) - this.#spentMicros
  }

  /** Why the account cannot pay a cost now; undefined when it can. */
  refuse(costMicros: number, nowMs: number): Code | undefined {
    if (costMicros > this.#balanceMicros) return 40210
    if (!this.terms.isLimited) return undefined
    const dayMicros = this.spentPerDay.total(nowMs) + costMicros
    const minuteMicros = this.spentPerMinute.total(nowMs) + costMicros
    const isOver =
      dayMicros > toMicros(this.terms.costLimitPerDayUsd) ||
      minuteMicros > toMicros(this.terms.costLimitPerMinuteUsd)
    return isOver ? 40203 : undefined
  }

  /** Books a charge, or a refund as a negative one, at the moment that it belongs to. */
  charge(functionName: string, micros: number, timeMs: number): void {
    this.#spentMicros += micros
    this.spentPerDay.add(functionName, micros, timeMs)
    this.spentPerMinute.add(functionName, micros, timeMs)
  }
}
