/** Column kinds that several tables share, and CHECKs that tell in words what they refuse. */
import { type SQL, sql } from 'drizzle-orm'
import { bigint, check, customType, timestamp } from 'drizzle-orm/pg-core'

/** An instant in UTC. */
export const instant = () => timestamp({ withTimezone: true, precision: 6 })
export const whole = () => bigint({ mode: 'number' })
/** Money in integer micro-dollars: $1 is 1,000,000. */
export const micros = whole
/** The key of a table that people write. */
export const ownId = () => whole().primaryKey().generatedByDefaultAsIdentity()
export const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' })

export const clock = sql`clock_timestamp()`
/** Business time: the database's clock, or what a test or demo has set with `set storerank.now`. */
export const businessNow = sql`storerank_now()`
export const uuidV7 = sql`uuid_v7()`

/** The id of an app of either store, in a column `app_id` beside which no store stands. */
export const APP_ID_FORM = sql.raw(
  "app_id ~ '^([1-9][0-9]{2,18}|[A-Za-z][A-Za-z0-9_]*([.][A-Za-z0-9_]+)+)$' and char_length(app_id) <= 255",
)

export type Rules = ReturnType<typeof rulesOf>

/**
 * Makes the rules of a table. Instead of being false a rule raises the sentence of its name in
 * drizzle/objects/refusals.txt, which says what was given and what is allowed.
 * @param row the columns by which a person knows the row, text all of them
 */
export function rulesOf(table: string, row: readonly string[]) {
  /** @param given what the sentence tells, as expressions: mostly the columns that the rule is about */
  const rule = (name: string, condition: SQL, ...given: string[]) => {
    const values = given.map((each) => `to_jsonb(${each})`).join(', ')
    const refusal = sql.raw(`refuse('${table}', '${name}', array[${row.join(', ')}], ${values})`)
    return check(`${table}_${name}`, sql`(${condition}) is not false or ${refusal}`)
  }
  const counted = (column: string, name: string, condition: string) =>
    rule(`${column}_${name}`, sql.raw(condition), column, `char_length(${column})`)
  return Object.assign(rule, {
    /** NaN is greater than every number. */
    between: (column: string, least: number, most: number) =>
      rule(`${column}_${least}_to_${most}`, sql.raw(`${column} between ${least} and ${most}`), column),
    /** In characters. */
    sized: (column: string, most: number, unit = '') =>
      counted(column, `1_to_${most}${unit}`, `char_length(${column}) between 1 and ${most}`),
    trimmed: (column: string, most: number) =>
      counted(
        column,
        `1_to_${most}_trimmed`,
        `char_length(${column}) between 1 and ${most} and ${column} = btrim(${column})`,
      ),
    printable: (column: string) =>
      rule(`${column}_without_control_characters`, sql.raw(`not has_control_characters(${column})`), column),
    /** A note may have lines. */
    note: () => [
      counted('note', 'at_most_10000_characters', 'char_length(note) <= 10000'),
      rule(
        'note_without_control_characters',
        sql.raw(String.raw`not has_control_characters(translate(note, E'\t\r\n', ''))`),
        'note',
      ),
    ],
  })
}
