/** Finds the name that a person most likely meant. */
import { distance } from 'fastest-levenshtein'

/**
 * The candidate nearest to `word` within `maxDistance` edits, or null when none is near enough to be what was
 * meant. More than 40 % of the letters have to agree: less is a guess, and `x` is no misspelt `sql`.
 */
export function suggest(word: string, candidates: readonly string[], maxDistance = 3): string | null {
  let best: string | null = null
  let bestDistance = maxDistance + 1
  for (const candidate of candidates) {
    const edits = distance(word, candidate)
    if (edits < bestDistance && edits < 0.6 * Math.max(word.length, candidate.length)) {
      best = candidate
      bestDistance = edits
    }
  }
  return best
}

/** ` Did you mean run?`, to be put behind a sentence; empty when nothing is near enough. */
export function didYouMean(word: string, candidates: readonly string[], maxDistance?: number): string {
  const meant = suggest(word, candidates, maxDistance)
  return meant === null ? '' : ` Did you mean ${meant}?`
}

/** What there is beside a name that there is not: ` Did you mean fitness? Projects: fitness, learning.` */
export function nameKnown(word: string, what: string, known: readonly string[]): string {
  return `${didYouMean(word, known)} ${what}: ${known.join(', ') || 'none'}.`
}
