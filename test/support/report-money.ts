/** The money of an invented report: each measurement of a keyword costs the same, and three pages a day. */

import type { Point } from '../../src/report/points.js'
import type { Report } from '../../src/report/read.ts'

export function spend(
  days: readonly string[],
  gaps: readonly (readonly (Point | null)[])[],
): Report['money'] {
  const spentMicros = days.map((_, day) => gaps.filter((row) => row[day] === null).length * 1200 + 1800)
  const today = spentMicros.at(-1) ?? 0
  const total = spentMicros.reduce((sum, micros) => sum + micros, 0)
  const onSearches = total - 1800 * days.length
  return {
    spentMicros,
    refundedMicros: 36_000,
    duplicateMicros: 0,
    reservedMicros: 4800,
    functions: [
      { function: 'app_searches', tasks: Math.floor(onSearches / 1200), spentMicros: onSearches },
      { function: 'app_info', tasks: 3 * days.length, spentMicros: 1800 * days.length },
    ],
    dearest: ['yoga <b>', 'pilates'].map((name, n) => ({
      ...{ name, store: 'ios_store' as const, place: n === 0 ? 'US' : 'DE' },
      ...{ tasks: days.length, spentMicros: 1200 * days.length },
    })),
    savedMicros: 24_000,
    outlook: [
      { every: null, monthlyMicros: 36_000_000 },
      { every: '12 hours', monthlyMicros: 72_000_000 },
      { every: '7 days', monthlyMicros: 5_142_857 },
    ],
    budgets: [
      { period: 'day', limitMicros: 1_500_000, usedMicros: today + 4800 },
      { period: 'month', limitMicros: 40_000_000, usedMicros: Math.round(total / 3) },
    ],
  }
}
