/**
 * All kinds of rules. A new one is an entry in a file beside this one; `npm run schema` writes what is made
 * of it.
 */
import { CLOCK_KINDS } from './clock.ts'
import { DAY_KINDS } from './days.ts'
import type { AlertKind } from './kind.ts'
import { PAGE_KINDS } from './pages.ts'
import { RANK_KINDS } from './ranks.ts'

export const KINDS: readonly AlertKind[] = [...RANK_KINDS, ...DAY_KINDS, ...PAGE_KINDS, ...CLOCK_KINDS]

const BY_NAME = new Map(KINDS.map((kind) => [kind.name, kind]))

/** Undefined for a kind of another version, of which there are events. */
export function findKind(name: string): AlertKind | undefined {
  return BY_NAME.get(name)
}
