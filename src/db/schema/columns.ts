/** Column kinds that several tables share. */
import { sql } from 'drizzle-orm'
import { bigint, customType, timestamp } from 'drizzle-orm/pg-core'

/** An instant in UTC, as a Date. */
export const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 6 })

/** Money in integer micro-dollars: $1 is 1,000,000. Exact in a JavaScript number up to $9 billion. */
export const micros = (name: string) => bigint(name, { mode: 'number' })

export const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' })

/** Business time: the database's clock, or what a test or demo has set with `set storerank.now`. */
export const businessNow = sql`storerank_now()`
