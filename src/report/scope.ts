/** What a report is about. */
import { sql } from '../db/sql.ts'
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
  /** Only what is of this location, by its name; null: all of the project's. */
  readonly location: string | null
  /** Indexes of `Report.apps` by the dictionary's ids, in their order. */
  readonly appOf: ReadonlyMap<number, number>
}

/** What is asked for, as the last arguments of the functions of a range. */
export const within = ({ tag, location }: Scope) => sql`in_tag => ${tag}, in_location => ${location}`
