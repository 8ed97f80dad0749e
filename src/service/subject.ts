/** What a task measures, as people and targets have it, as it is posted, and as an answer names it. */
import { AGE_RATINGS, type AgeRating } from './functions.ts'

/**
 * A keyword as a person types it → as it is posted: the service decodes `%##` and `+`, so these two are
 * encoded and no others (docs/service.md: Keyword encoding).
 */
export function encodeKeyword(keyword: string): string {
  return keyword.replaceAll('%', '%25').replaceAll('+', '%2B')
}

/** The reverse: only what `encodeKeyword` encodes is decoded. */
export function decodeKeyword(posted: string): string {
  return posted.replaceAll(/%(2B|25)/g, (_, code) => (code === '25' ? '%' : '+'))
}

/** Whether a keyword that an answer names is the one asked for, up to case, form, spaces and encoding. */
export function isSameKeyword(said: string, asked: string): boolean {
  if (said === asked) return true
  const wanted = fold(asked)
  return [said, decodeKeyword(said), decodeUrl(said)].some((form) => fold(form) === wanted)
}

/** Upper case first: `ß` is `SS`, both forms of a sigma are one, and a dotted capital I loses its dot. */
function fold(keyword: string): string {
  const folded = keyword.normalize('NFKC').toUpperCase().toLowerCase().replaceAll('i\u0307', 'i')
  return folded.normalize('NFKC').replaceAll(/\s+/g, ' ').trim()
}

/** As a form encodes it; as it stands where it is no such text. */
function decodeUrl(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

/** The category of a chart, as a target has it with an age: `family, ages_6_8` → what is posted. */
export function splitCategory(text: string | null): { category?: string; ageRating?: AgeRating } {
  if (text === null) return {}
  const ageRating = AGE_RATINGS.find((age) => text.endsWith(`, ${age}`))
  return ageRating === undefined
    ? { category: text }
    : { category: text.slice(0, -ageRating.length - 2), ageRating }
}

/** What was posted → one text. */
export function joinCategory(category: string | null, ageRating: string | null): string | null {
  return category !== null && ageRating !== null ? `${category}, ${ageRating}` : category
}
