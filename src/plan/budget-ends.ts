/** When a budget ends, by what the coming days cost. Pure. */
import type { ForecastDay } from './forecast.ts'

/** A budget of a day or a month begins again; a balance does not. */
export type BudgetPeriod = 'day' | 'month' | 'balance'

export interface Budget {
  readonly budget: string
  readonly period: BudgetPeriod
  /** 0: all projects. */
  readonly scope: number
  readonly limitMicros: number
  /** What is spent and reserved in the running period. */
  readonly usedMicros: number
}

export interface BudgetEnd extends Budget {
  /** The first day whose measurements it does not reach; null when it reaches them all. */
  readonly endsOn: string | null
  /** What the dearest period costs; of a balance all days. */
  readonly dearestMicros: number
}

/** @param days in their order; the first one of a scope is the running one */
export function findBudgetEnd(budget: Budget, days: readonly ForecastDay[]): BudgetEnd {
  const { scope, period, limitMicros, usedMicros } = budget
  let endsOn: string | null = null
  let dearestMicros = 0
  let running = ''
  let micros = 0
  for (const [index, day] of days.filter((each) => each.scope === scope).entries()) {
    const current = period === 'day' ? day.day : period === 'month' ? day.day.slice(0, 7) : 'all'
    if (current !== running) micros = index === 0 ? usedMicros : 0
    running = current
    micros += day.micros
    dearestMicros = Math.max(dearestMicros, micros)
    if (micros > limitMicros) endsOn ??= day.day
  }
  return { ...budget, endsOn, dearestMicros }
}
