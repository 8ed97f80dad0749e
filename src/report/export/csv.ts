/** Rows as CSV, which a spreadsheet opens without running anything. */
import { stringify } from 'csv-stringify/sync'
import { escapeFormula } from '../../watch/cells.ts'
import type { Cells, Column } from './source.ts'

/**
 * Types whose text never comes from outside: numbers, truth values, times. Of everything else a cell may
 * begin like a formula.
 */
const HARMLESS_TYPES = new Set([16, 20, 21, 23, 26, 700, 701, 1082, 1083, 1114, 1184, 1186, 1266, 1700, 2950])

export function csvHead(columns: readonly Column[]): string {
  return stringify([columns.map(({ name }) => escapeFormula(name))])
}

/** A null is an empty cell. */
export function csvRows(columns: readonly Column[], rows: readonly Cells[]): string {
  const isHarmless = columns.map(({ type }) => HARMLESS_TYPES.has(type))
  return stringify(
    rows.map((row) =>
      row.map((cell, n) => (cell === null ? '' : isHarmless[n] ? cell : escapeFormula(cell))),
    ),
    // What stands at the edge of a cell belongs to it.
    { quoted_match: /^\s|\s$/ },
  )
}
