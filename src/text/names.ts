/** Names that come from outside, as they may stand among other words. */
import { toPrintable } from '../log.ts'

/**
 * A name as it may stand in a sentence: marks in it that turn the direction of writing would turn what
 * follows too.
 */
export function asName(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '')
}

/**
 * A name in a line of text, without what acts on the line; one that is written from right to left is set
 * apart, so that it moves no number.
 */
export function nameInLine(name: string): string {
  const text = toPrintable(name)
  return /[\p{Script=Arabic}\p{Script=Hebrew}]/u.test(text) ? `\u2068${text}\u2069` : text
}

/** Examples of so many. A keyword of several places is named once. */
export function nameSome(names: unknown, count: number): string {
  const some = [...new Set((names ?? []) as readonly string[])].map(nameInLine)
  return some.join(', ') + (some.length < count ? ` and ${count - some.length} more` : '')
}
