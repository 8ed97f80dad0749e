/**
 * The first sheet of a workbook (.xlsx) as the text of a CSV file. It is read as a whole, so a large one is
 * refused.
 */
import { stringify } from 'csv-stringify/sync'
import readWorkbook from 'read-excel-file/node'
import { ConfigurationError } from '../errors.ts'

const MOST_BYTES = 20_000_000

export interface Workbook {
  readonly csv: string
  /** What was left out. */
  readonly told: readonly string[]
}

/** @throws ConfigurationError when it is another archive, too large, or has no cell */
export async function openWorkbook(name: string, path: string, bytes: number): Promise<Workbook> {
  const refuse = (reason: string, cause?: unknown) =>
    new ConfigurationError(`${name} cannot be read: ${reason}: save the sheet as "CSV UTF-8".`, { cause })
  if (bytes > MOST_BYTES) throw refuse('it is a workbook of more than 20 MB')
  // Numbers as they stand there: the id of an app is one.
  const parseNumber = (text: string) => (/e/i.test(text) ? String(Number(text)) : text)
  const sheets = await readWorkbook(path, { parseNumber }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error
    throw refuse('it is an archive, and no workbook of Excel', error)
  })
  const filled = sheets.filter(({ data }) => data.length > 0)
  const [first, ...others] = filled
  if (first === undefined) throw refuse('no sheet of it has a cell')
  const rows = first.data.map((row) => row.map((cell) => toText(cell)))
  const left = others.map(({ sheet }) => JSON.stringify(sheet)).join(', ')
  const told =
    left === '' ? [] : [`${name}: the sheet ${JSON.stringify(first.sheet)} is read. Left out: ${left}.`]
  return { csv: stringify(rows, { quoted_match: /^\s|\s$/ }), told }
}

/** A day without its time, which a sheet does not have. */
function toText(cell: unknown): string {
  if (cell instanceof Date) return cell.toISOString().replace(/T00:00:00\.000Z$/, '')
  return cell === null || cell === undefined ? '' : String(cell)
}
