/**
 * Of statements that return one row whatever they find: an aggregate, a select without a table, an insert
 * with `returning`.
 */

/** @throws Error when there is none, which the statement rules out */
export function oneRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error('A statement that always returns a row returned none.')
  return row
}
