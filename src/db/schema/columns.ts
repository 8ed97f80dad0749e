/** Column kinds that several tables share, and CHECKs that tell in words what they refuse. */
import { type SQL, sql } from 'drizzle-orm'
import { bigint, check, customType, timestamp } from 'drizzle-orm/pg-core'
import { matchWhole } from '../match-whole.ts'

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

/** Of an index: expressions with semicolons between. */
export const parts = (text: string) => text.split(/;\s+/).map(sql.raw) as [SQL, ...SQL[]]

/** The id of an app of either store, in a column `app_id` beside which no store stands. */
export const APP_ID_FORM =
  "app_id ~ '^([1-9][0-9]{2,18}|[A-Za-z][A-Za-z0-9_]*([.][A-Za-z0-9_]+)+)$' and char_length(app_id) <= 255"

/** Of a note, which may have lines. */
export const NAME_RULES = `
    name_1_to_100_trimmed (name; char_length(name)):
      char_length(name) between 1 and 100 and name = btrim(name)
    name_without_control_characters (name): not has_control_characters(name)`
export const NOTE_RULES = String.raw`
    note_at_most_10000_characters (note; char_length(note)): char_length(note) <= 10000
    note_without_control_characters (note): not has_control_characters(translate(note, E'\t\r\n', ''))`

/**
 * The rules of a table, a line each: `name (value; …): condition`, which may go on in indented lines.
 * Instead of being false a rule raises the sentence of its name in drizzle/objects/refusals.txt,
 * which tells the values.
 * @param row the columns by which a person knows the row, text all of them
 */
export function rulesOf(table: string, row: string, lines: string) {
  const rules = matchWhole(lines, /^ {4}(\w+) \((.*?)\):\s+(.*(?:\n {5,}.*)*)/gm)
  return Array.from(rules, ([, name, given = '', condition]) => {
    const values = given.split('; ').map((each) => `to_jsonb(${each})`)
    const refusal = `refuse('${table}', '${name}', array[${row}], ${values.join(', ')})`
    return check(`${table}_${name}`, sql.raw(`(${condition}) is not false or ${refusal}`))
  })
}
