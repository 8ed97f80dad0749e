/** Cells of CSV files that a spreadsheet opens without running anything. */

/**
 * A text that a spreadsheet would take for a formula, or that begins like one so defused, gets an apostrophe before it, by which
 * spreadsheets know a text.
 */
export function defuse(text: string): string {
  return /^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text
}

/** The text that `defuse` was given. */
export function fuse(cell: string): string {
  return /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell
}
