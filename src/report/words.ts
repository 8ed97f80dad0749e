/** Ranks and their changes as a person reads them, on paper and on the terminal alike. */
import { type ByGap, byGap, GAP_NAMES, GAPS, type Gap } from '../text/gaps.js'
import { formatCount } from '../text/words.ts'
import type { Move } from './model.ts'
import { gapOf } from './points.js'

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
