/** The money of the account in micro-dollars: deposited, charged at posting, refunded at completion. */

import type { Code } from './codes.ts'
import { toUsd } from './offers.ts'
import type { Options } from './options.ts'
import { Tally } from './tally.ts'
import { DAY_MS, MINUTE_MS } from './timestamp.ts'

/** What an account starts with and may spend, if it has limits at all. */
type AccountTerms = Pick<Options, 'balanceUsd' | 'costLimitPerDayUsd' | 'costLimitPerMinuteUsd'> & {
  isLimited: boolean
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
