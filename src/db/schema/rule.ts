/** CHECKs that tell in words what they refuse. */
import { type SQL, sql } from 'drizzle-orm'
import { check } from 'drizzle-orm/pg-core'

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
