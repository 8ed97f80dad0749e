/**
 * Upserts watches from a CSV file: rows that are new are inserted, rows that exist are updated, and none is deleted. Importing the same
 * file again is idempotent. A row that breaks a rule is refused alone, with its line and the rule.
 */
import { parse } from 'csv-parse/sync'
import type { Database, Transaction } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import { didYouMean } from '../suggest.ts'
import { fuse } from './cells.ts'
import { WATCHES, type Watch } from './kinds.ts'

/** A row of the file: its cells that say something, by column. */
interface FileRow {
  readonly line: number
  readonly watch: Watch
  readonly cells: ReadonlyMap<string, string>
}

export interface RefusedRow {
  readonly line: number
  /** The keyword, app or collection. */
  readonly subject: string
  readonly reason: string
}

export interface Import {
  /** The tables that the file is for. */
  readonly tables: readonly Watch['table'][]
  readonly added: number
  readonly changed: number
  readonly unchanged: number
  /** By line. */
  readonly refused: readonly RefusedRow[]
}

const ROWS_AT_ONCE = 500
/** A keyword, a note and fifty tags, each as long as it may be. */
const LONGEST_ROW_BYTES = 262_144
/** SQLSTATE classes of what is wrong with a row: its data, a rule, the same row twice in one statement. */
const ROW_AT_FAULT = /^(21|22|23|P0)/

/**
 * Brings a CSV file in: its header names columns of keyword_watch, app_watch or chart_watch, or of several of them, when each row
 * is of the one whose subject it names. An empty cell says nothing. Separated by comma, semicolon or tab.
 * @param isTrial looks what would happen, and changes nothing
 * @throws ConfigurationError when the file as a whole cannot be read; then nothing has changed
 */
export async function importWatches(
  { begin }: Pick<Database, 'begin'>,
  csv: string,
  isTrial: boolean,
): Promise<Import> {
  const records = parseRecords(csv)
  const watches = chooseWatches(records[0]?.cells ?? [])
  const { rows, misfits } = readRows(records, watches)
  const counts = { added: 0, changed: 0 }
  const refused: RefusedRow[] = []
  const work = async (tx: Transaction) => {
    // One import at a time: two that name the same rows in another order would deadlock.
    await tx`select pg_advisory_xact_lock(hashtext('storerank'), hashtext('import'))`
    for (const alike of groupByColumns(rows)) {
      for (let from = 0; from < alike.length; from += ROWS_AT_ONCE) {
        await storeRows(tx, alike.slice(from, from + ROWS_AT_ONCE), counts, refused)
      }
    }
    if (isTrial) throw new TrialOver()
  }
  await begin(work).catch((error) => {
    if (!(error instanceof TrialOver)) throw error
  })
  const { added, changed } = counts
  const unchanged = rows.length - added - changed - refused.length
  return {
    tables: watches.map(({ table }) => table),
    added,
    changed,
    unchanged,
    refused: [...misfits, ...refused].toSorted((a, b) => a.line - b.line),
  }
}

class TrialOver extends Error {}

interface CsvRecord {
  readonly line: number
  readonly cells: readonly string[]
}

function parseRecords(csv: string): CsvRecord[] {
  const header = csv.slice(0, csv.search(/[\r\n]|$/))
  try {
    const parsed = parse(csv, {
      bom: true,
      delimiter: /[;\t]/.exec(header)?.[0] ?? ',',
      trim: true,
      info: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      max_record_size: LONGEST_ROW_BYTES,
    }) as unknown as { record: string[]; info: { lines: number } }[]
    return parsed.map(({ record, info }) => ({ cells: record, line: info.lines }))
  } catch (error) {
    throw new ConfigurationError(`The file is not readable as CSV: ${(error as Error).message}.`, {
      cause: error,
    })
  }
}

function chooseWatches(header: readonly string[]): readonly Watch[] {
  const watches = WATCHES.filter(({ subject }) => header.includes(subject))
  if (watches.length === 0) {
    throw new ConfigurationError(
      'The first line must name the columns, and among them one of keyword, app_id and collection: by that one it is known what is watched.',
    )
  }
  const columns = [...new Set(watches.flatMap(columnsOf))]
  const unknown = header.find((name) => !columns.includes(name))
  if (unknown !== undefined) {
    const tables = watches.map(({ table }) => table).join(' and ')
    throw new ConfigurationError(
      `A file for ${tables} has no column ${JSON.stringify(unknown)}.${didYouMean(unknown, columns)} Columns: ${columns.join(', ')}.`,
    )
  }
  const twice = header.find((name, index) => header.indexOf(name) !== index)
  if (twice !== undefined) throw new ConfigurationError(`The column ${twice} is in the file twice.`)
  return watches
}

function columnsOf({ identity, settings }: Watch): readonly string[] {
  return [...identity, ...settings]
}

/** `misfits` are rows of which it is not known what they watch, or that say what their kind of watch has not. */
function readRows(
  [header, ...records]: readonly CsvRecord[],
  watches: readonly Watch[],
): { rows: FileRow[]; misfits: RefusedRow[] } {
  const subjects = watches.map(({ subject }) => subject)
  if (records.length === 0) throw new ConfigurationError(`The file names no ${subjects.join(' and no ')}.`)
  const rows: FileRow[] = []
  const misfits: RefusedRow[] = []
  for (const { line, cells: texts } of records) {
    const names = header?.cells ?? []
    const cells = new Map(names.flatMap((name, index) => (texts[index] ? [[name, fuse(texts[index])]] : [])))
    const named = watches.filter(({ subject }) => cells.has(subject))
    const [watch, other] = watches.length === 1 ? watches : named
    const subject = named.map((each) => cells.get(each.subject)).join(', ')
    const foreign = watch && [...cells.keys()].find((name) => !columnsOf(watch).includes(name))
    if (watch === undefined || other !== undefined) {
      misfits.push({ line, subject, reason: `it must name one of ${subjects.join(', ')}, and one alone` })
    } else if (foreign !== undefined) {
      misfits.push({ line, subject, reason: `${watch.table} has no column ${foreign}` })
    } else rows.push({ line, watch, cells })
  }
  return { rows, misfits }
}

/** Of one kind and the same columns: what a row leaves out gets the column's default, which a statement has for all of its rows or none. */
function groupByColumns(rows: readonly FileRow[]): readonly FileRow[][] {
  const key = ({ watch, cells }: FileRow) => [watch.table, ...cells.keys()].join()
  return Object.values(Object.groupBy(rows, key)) as FileRow[][]
}

/** Where one of the rows is at fault, halves find it, and the others are stored. */
async function storeRows(
  tx: Transaction,
  rows: readonly FileRow[],
  counts: { added: number; changed: number },
  refused: RefusedRow[],
): Promise<void> {
  try {
    const stored = await tx.savepoint((inner) => upsert(inner, rows))
    for (const { added } of stored) counts[added ? 'added' : 'changed'] += 1
  } catch (error) {
    const { code = '', message } = error as { code?: string; message: string }
    const [first, second] = rows
    if (!ROW_AT_FAULT.test(code) || first === undefined) throw error
    if (second === undefined) {
      refused.push({ line: first.line, subject: first.cells.get(first.watch.subject) ?? '', reason: message })
      return
    }
    const half = rows.length >> 1
    await storeRows(tx, rows.slice(0, half), counts, refused)
    await storeRows(tx, rows.slice(half), counts, refused)
  }
}

/** Rows of one kind and the same columns. Returns those that were added or changed. */
async function upsert(tx: Transaction, rows: readonly FileRow[]): Promise<readonly { added: boolean }[]> {
  const [first] = rows
  if (first === undefined) return []
  const { table, unique, settings } = first.watch
  const columns = [...first.cells.keys()]
  const given = settings.filter((name) => columns.includes(name))
  const of = (row: 'w' | 'excluded') => tx(given.map((name) => `${row}.${name}`))
  // How the driver writes a list of names goes by what stands before it: here a bracket, with a space on its left.
  const update = tx`
    do update set (${tx(given)}) = row (${of('excluded')})
    where row (${of('w')}) is distinct from row (${of('excluded')})`
  const values = rows.map(({ cells }) =>
    Object.fromEntries([...cells].map(([name, cell]) => [name, name === 'tags' ? splitTags(cell) : cell])),
  )
  return tx<{ added: boolean }[]>`
    insert into ${tx(table)} as w (${tx(columns)})
    select ${tx(columns)} from json_populate_recordset(null::${tx(table)}, ${JSON.stringify(values)}::text::json)
    on conflict (${unique(tx)}) ${given.length === 0 ? tx`do nothing` : update}
    returning xmax = 0 as added`
}

/** `brand, core`, or as `storerank sql --csv` prints them: `["brand","core"]`. */
function splitTags(cell: string): unknown {
  if (!cell.startsWith('[')) return cell.split(',').map((tag) => tag.trim())
  try {
    return JSON.parse(cell)
  } catch {
    return cell
  }
}
