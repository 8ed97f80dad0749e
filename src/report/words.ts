/** Ranks, changes, days and money as a person reads them, on paper and on the terminal alike. */
import { formatInstant } from '../instant.ts'
import type { Store } from '../service/functions.ts'
import {
  type ByGap,
  byGap,
  depthWithout,
  GAPS,
  type Gap,
  gapOf,
  isRanked,
  type Move,
  type Point,
} from './model.ts'

export { formatDay } from './page/days.js'

export const GAP_NAMES: ByGap<string> = {
  budget: 'budget',
  failed: 'failed',
  missed: 'missed',
  html_only: 'page only',
  pending: 'pending',
}

export const GAP_MEANINGS: ByGap<string> = {
  budget: 'The budget was used up first.',
  failed: 'The service or the store gave no result.',
  missed: 'Nothing asked for it in time.',
  html_only: 'Measured, but given as a page without ranks.',
  pending: 'Not closed yet: the result may still come.',
}

/** Why the plan or the claim has left something out (`due_slot.cut`). */
const BUDGET_REASONS: Readonly<Record<string, string>> = {
  project_budget: 'The budget of the project was used up.',
  overall_budget: 'The budget over all projects was used up, or the limit of the account reached.',
  dearer_than_project_budget: 'It costs more than the whole budget of the project.',
  dearer_than_overall_budget: 'It costs more than the whole budget over all projects.',
}

/** The reason of a gap as a sentence. */
export function explainReason(reason: string | null): string | null {
  return reason === null ? null : (BUDGET_REASONS[reason] ?? reason)
}

export const STORE_NAMES: Readonly<Record<Store, string>> = { ios_store: 'iOS', android_store: 'Android' }

const MICROS_PER_USD = 1_000_000n

/** Dollars of an integer amount of micro-dollars, exact: `$0.0012`, `$5.00`, `-$0.50`. */
export function formatMicros(micros: number | bigint): string {
  const amount = BigInt(micros)
  const size = amount < 0n ? -amount : amount
  const decimals = String(size % MICROS_PER_USD)
    .padStart(6, '0')
    .replace(/0{1,4}$/, '')
  return `${amount < 0n ? '-' : ''}$${size / MICROS_PER_USD}.${decimals}`
}

/** Dollars to the cent, or as exact as they are below ten cents: `$1.20`, `$0.0012`. */
export function formatDollars(micros: number): string {
  return Math.abs(micros) < 100_000
    ? formatMicros(micros)
    : formatMicros(Math.round(micros / 10_000) * 10_000)
}

/** `1,234,567` */
export function formatCount(count: number | bigint): string {
  return count.toLocaleString('en-US')
}

/**
 * A name as it may stand in a sentence: marks in it that turn the direction of writing would turn what
 * follows too.
 */
export function asName(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '')
}

/** `10`, `0.5` */
export function formatWeight(weight: number): string {
  return weight.toLocaleString('en-US', { maximumFractionDigits: 2 })
}

/** `1 keyword`, `2 keywords` */
export function countOf(count: number, one: string, several = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : several}`
}

/** `23.4 %`; `–` where nothing was measured. */
export function formatPercent(percent: number | null | undefined): string {
  if (percent === null || percent === undefined) return '–'
  return `${percent.toLocaleString('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 })} %`
}

/** As it is shown, so that parts add up to what stands beside them. */
export function roundToTenths(value: number): number {
  return Math.round(value * 10) / 10
}

/** `+1.2`, `−0.3`, `±0.0` */
export function formatDifference(difference: number): string {
  const size = Math.abs(roundToTenths(difference)).toFixed(1)
  return size === '0.0' ? '±0.0' : `${difference < 0 ? '−' : '+'}${size}`
}

/** `12`; `> 100` when it was not among these; the name of a gap; `–` when nothing was due. */
export function formatPoint(point: Point): string {
  if (isRanked(point)) return String(point)
  const depth = depthWithout(point)
  if (depth !== null) return `> ${depth}`
  const gap = gapOf(point)
  return gap === null ? '–' : GAP_NAMES[gap]
}

/** What the two days of a move say; a sign stands before the places. */
type Moved = Pick<Move, 'movement' | 'change'>

/** `+2` is two places up; `in` and `out` are about the depth; `–` when nothing can be said. */
export function formatChange(
  { movement, change }: Moved,
  signs: readonly [string, string] = ['+', '−'],
): string {
  switch (movement) {
    case 'entered':
      return 'in'
    case 'left':
      return 'out'
    case 'up':
    case 'down':
      return `${signs[movement === 'up' ? 0 : 1]}${Math.abs(change ?? 0)}`
    case null:
      return '–'
    default:
      return '='
  }
}

export function isBetter({ movement }: Pick<Move, 'movement'>): boolean {
  return movement === 'up' || movement === 'entered'
}

export function isWorse({ movement }: Pick<Move, 'movement'>): boolean {
  return movement === 'down' || movement === 'left'
}

/** What became of ranks: `12 up, 5 down, 70 unchanged, 2 not measured: budget`. */
export function describeMoves(moves: readonly Move[]): string {
  const countThe = (is: (move: Move) => boolean) => moves.filter(is).length
  const unmeasured = byGap((gap) => countThe(({ after }) => gapOf(after) === gap))
  const counts = [
    [countThe(isBetter), 'up'],
    [countThe(isWorse), 'down'],
    [countThe(({ movement }) => movement === 'same'), 'unchanged'],
    [countThe(({ movement }) => movement === 'not_in_top'), 'not ranked on either day'],
    [
      countThe(({ movement, after }) => movement === null && gapOf(after) === null),
      'without a rank to compare with',
    ],
  ] as const
  const told = counts
    .filter(([count], n) => n < 2 || count > 0)
    .map(([count, what]) => `${formatCount(count)} ${what}`)
  return [...told, describeUnmeasured(unmeasured)].filter((part) => part !== '').join(', ')
}

/** `2 not measured: budget`, `3 not measured: 2 budget, 1 failed`; empty when everything was. */
export function describeUnmeasured(counts: ByGap<number>): string {
  const gaps = GAPS.filter((gap) => counts[gap] > 0)
  const total = gaps.reduce((sum, gap) => sum + counts[gap], 0)
  if (total === 0) return ''
  const name = (gap: Gap) =>
    gaps.length === 1 ? GAP_NAMES[gap] : `${formatCount(counts[gap])} ${GAP_NAMES[gap]}`
  return `${formatCount(total)} not measured: ${gaps.map(name).join(', ')}`
}

/** Of tasks that wait for another attempt, without a full stop. */
export function describeAttempts(waiting: number, nextAt: Date | null): string {
  const [wait, first] =
    waiting === 1
      ? ['1 task that the store failed waits', '']
      : [`${formatCount(waiting)} tasks that the store failed wait`, 'the first ']
  return `${wait} for another attempt${nextAt === null ? '' : `, ${first}at ${formatInstant(nextAt)}`}`
}
