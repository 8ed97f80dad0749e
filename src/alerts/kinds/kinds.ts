/** All kinds of rules. A new one is an entry in a file beside this one; CONTRIBUTING.md says what follows. */
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

/** The columns of `alert_rule` that a kind takes, and those that it needs. */
export function columnsOf({ takes = [], needs = [], threshold }: AlertKind) {
  const own = threshold === undefined ? [] : ['threshold']
  return { takes: [...own, ...takes], needs: [...own, ...needs] }
}
