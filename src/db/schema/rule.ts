/** CHECKs that tell in words what they refuse. */
import { type SQL, sql } from 'drizzle-orm'
import { check } from 'drizzle-orm/pg-core'

/** The id of an app of either store, in a column `app_id` beside which no store stands. */
export const APP_ID_FORM = sql.raw(
  [
    `app_id ~ '^([1-9][0-9]{2,18}|[A-Za-z][A-Za-z0-9_]*([.][A-Za-z0-9_]+)+)$'`,
    'char_length(app_id) <= 255',
  ].join(' and '),
)

/**
 * Makes the rules of a table. Instead of being false a rule raises the sentence of its name in
 * drizzle/objects/watch/refusals.sql, which says what was given and what is allowed.
 * @param row the columns by which a person knows the row, text all of them
 */
export function rulesOf(table: string, row: readonly string[]) {
  /** @param given what the sentence tells, as expressions: mostly the columns that the rule is about */
  return (name: string, condition: SQL, ...given: string[]) => {
    const values = given.map((each) => `to_jsonb(${each})`).join(', ')
    const refusal = sql.raw(`refuse('${table}', '${name}', array[${row.join(', ')}], ${values})`)
    return check(`${table}_${name}`, sql`(${condition}) is not false or ${refusal}`)
  }
}
