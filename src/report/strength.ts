/** What a report says of how hard keywords are, and of who advertises on them. */
import type { Store } from '../service/functions.ts'

/** How hard a keyword is, and what is to be won: function `opportunity`, over the last week. */
export interface Strength {
  readonly difficulty: number
  readonly opportunity: number
  /** Apps in the first ten that can be overtaken. */
  readonly weak: number
}

/** An app, none of the own ones, that advertised on keywords of the last 30 days. */
export interface Advertiser {
  readonly store: Store
  readonly name: string
  readonly isWatched: boolean
  readonly keywords: number
  readonly days: number
  /** Those that ask for an own app by its name. */
  readonly brands: readonly string[]
  readonly examples: readonly string[]
}
