/** Tables of benches and other tools, by the printer of the product. */
import { table } from '../../src/cli/document.ts'
import { drawParts } from '../../src/cli/print.ts'

/** @param titles of the columns, each another one */
export function drawRows(
  titles: readonly string[],
  rows: readonly (readonly unknown[])[],
  width = Infinity,
): string {
  const named = rows.map((row) => Object.fromEntries(titles.map((title, index) => [title, row[index]])))
  return drawParts([table(named, { columns: titles })], 'text', width)
}
