/** Ranks, their changes and their course as a person reads them, on paper and on the terminal alike. */
import { GAP_NAMES, GAPS } from '../text/gaps.js'
import { formatCount } from '../text/words.ts'
import { gapOf } from './points.js'
import type { Move } from './read-changes.ts'
import type { Daily } from './scope.ts'

/** What the two days of a move say. */
type Moved = Pick<Move, 'movement' | 'change'>

const MOVEMENTS = { entered: 'in', left: 'out', same: '=', not_in_top: '=' } as const

/**
 * `+2` is two places up; `in` and `out` are about the depth; `–` when nothing can be said.
 * @param signs what stands before the places
 */
export function formatChange(
  { movement, change }: Moved,
  [up, down]: readonly [string, string] = ['+', '−'],
): string {
  if (movement === null) return '–'
  if (movement === 'up' || movement === 'down')
    return `${movement === 'up' ? up : down}${Math.abs(change ?? 0)}`
  return MOVEMENTS[movement]
}

export function isBetter({ movement }: Pick<Move, 'movement'>): boolean {
  return movement === 'up' || movement === 'entered'
}

export function isWorse({ movement }: Pick<Move, 'movement'>): boolean {
  return movement === 'down' || movement === 'left'
}

/** `12 up, 5 down, 70 unchanged, 2 not measured: budget`; `3 not measured: 2 budget, 1 failed`. */
export function describeMoves(moves: readonly Move[]): string {
  const count = (is: (move: Move) => boolean) => moves.filter(is).length
  const counts = [
    [count(isBetter), 'up'],
    [count(isWorse), 'down'],
    [count(({ movement }) => movement === 'same'), 'unchanged'],
    [count(({ movement }) => movement === 'not_in_top'), 'not ranked on either day'],
    [count((move) => move.movement === null && !gapOf(move.after)), 'without a rank to compare with'],
  ] as const
  const gaps = GAPS.map((gap) => [count(({ after }) => gapOf(after) === gap), GAP_NAMES[gap]] as const)
  const told = (some: readonly (readonly [number, string])[]) =>
    some.map(([number, what]) => `${formatCount(number)} ${what}`).join(', ')
  const missing = gaps.filter(([number]) => number > 0)
  const total = missing.reduce((sum, [number]) => sum + number, 0)
  const reasons = missing.length === 1 ? missing.map(([, name]) => name).join() : told(missing)
  const shown = counts.filter(([number], n) => n < 2 || number > 0)
  return total === 0 ? told(shown) : `${told([...shown, [total, 'not measured']])}: ${reasons}`
}

const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const

/**
 * The last `width` values in one line, from the lowest to the highest of them; a blank where there is none. A
 * level course is in the middle.
 */
export function drawSparkline(values: Daily<number | null>, width: number): string {
  const shown = values.slice(-width)
  const known = shown.filter((value) => value !== null)
  const lowest = Math.min(...known)
  const span = Math.max(...known) - lowest
  const bar = (value: number) =>
    span === 0 ? BARS[BARS.length / 2] : BARS[Math.round(((value - lowest) / span) * (BARS.length - 1))]
  return shown.map((value) => (value === null ? ' ' : bar(value))).join('')
}
