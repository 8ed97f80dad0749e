/** Words that kinds share. */
import { toPrintable } from '../log.ts'
import { explainReason, GAP_MEANINGS } from '../report/words.ts'
import type { EventRow } from './event.ts'

/**
 * A name without what acts on the line around it; one that is written from right to left is set apart, so
 * that it moves no number.
 */
export function nameOf(name: string): string {
  const text = toPrintable(name)
  return /[\p{Script=Arabic}\p{Script=Hebrew}]/u.test(text) ? `\u2068${text}\u2069` : text
}

/** `12`; `> 100` when it was not among these. */
export function formatRank(rank: unknown, depth: number | null): string {
  if (typeof rank === 'number') return String(rank)
  return depth === null ? 'not in the top' : `> ${depth}`
}

export function ofDepth(depth: number | null): string {
  return depth === null ? '' : ` (of ${depth})`
}

/** Why a measurement is missing: its own reason, else what its kind of gap means. */
export function explainGap({ gap, reason }: EventRow['detail']): string {
  const text = explainReason(typeof reason === 'string' ? reason : null)
  return endSentence(text ?? GAP_MEANINGS[gap as keyof typeof GAP_MEANINGS] ?? '')
}

export function endSentence(text: string): string {
  return text === '' || /[.!?…]$/.test(text) ? text : `${text}.`
}
