/** What a report is about. */
import type { Day } from './model.ts'

/** What every part is read by. */
export interface Scope {
  readonly project: string
  readonly timezone: string
  readonly days: readonly Day[]
  readonly from: Day
  readonly to: Day
  /** Only what has this tag; null: all of the project's. */
  readonly tag: string | null
  /** Indexes of `Report.apps` by the dictionary's ids, in their order. */
  readonly appOf: ReadonlyMap<number, number>
}
