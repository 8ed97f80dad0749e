/** Cells of CSV files that a spreadsheet opens without running anything. */

/**
 * What a spreadsheet takes for the beginning of a formula, or skips before one; in East Asia also the wide
 * signs.
 */
const BEGINNING = '[=+\\-@＝＋－＠\\t\\r\\n]'
const FORMULA = new RegExp(`^'*${BEGINNING}`)
const DEFUSED = new RegExp(`^'+${BEGINNING}`)

/**
 * A text that a spreadsheet would take for a formula, or that begins like one so defused, gets an apostrophe
 * before it, by which spreadsheets know a text.
 */
export function escapeFormula(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}

/** The text that `escapeFormula` was given. */
export function unescapeFormula(cell: string): string {
  return DEFUSED.test(cell) ? cell.slice(1) : cell
}
