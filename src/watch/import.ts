/**
 * Upserts watches, or rules and channels of alerts, from CSV files: rows that are new are inserted, rows that
 * exist are updated, and none is deleted. Importing the same file again is idempotent. A row that breaks a
 * rule is refused alone, with its line and the rule. The files are read and stored in pieces, so that neither
 * memory nor a transaction grows with them; only a trial, and what replaces a project, is one transaction.
 */
import { Readable } from 'node:stream'
import { type Database, isDatabaseError, type SqlRunner, type Transaction } from '../db/database.ts'
import type { DatabaseError } from '../db/driver.ts'
import { sql } from '../db/sql.ts'
import { ConfigurationError } from '../errors.ts'
import { didYouMean } from '../suggest.ts'
import { type FileContext, readFileRows } from './file-rows.ts'
import type { WatchFile } from './file-text.ts'
import { storeHistory } from './history.ts'
import { loadPlaces } from './places.ts'
import { type Import, type ImportProblem, PROBLEMS_SHOWN, Tally, type WatchCost } from './tally.ts'
import type { FileRow, RefusedRow } from './understand.ts'
import { type Lacking, Understanding } from './understand.ts'
import { findOrAdd, upsert, withoutKnownApps } from './upsert.ts'

export interface ImportOptions {
  /** Looks what would happen, and changes nothing. */
  readonly isTrial?: boolean
  /** Disables what the files do not name of this project, in the tables that they are for. */
  readonly replace?: string
  /** Refuses files of rules and channels of alerts. */
  readonly onlyWatches?: boolean
  /** When it is aborted, the pieces that are stored stay, and nothing else is read. */
  readonly signal?: AbortSignal
  /** Reads what all watches cost, before and after. */
  readonly readCost?: (db: SqlRunner) => Promise<WatchCost>
  readonly onProgress?: (rows: number) => void
  /** What the files lack; a project is the only one that there is, unless it is said. */
  readonly lacking?: Lacking
  /** `Term=keyword`: what a column of the files is. */
  readonly map?: readonly string[]
  /** The files have ranks that this tool measured, and no watches. */
  readonly history?: string
  /** Hears how the files are read, and what was taken for what, before the rows are stored. */
  readonly onUnderstood?: (sentence: string) => void
}

type File = Pick<WatchFile, 'name' | 'text'>

const PIECE_ROWS = 5_000
/** A trial of a million rows. */
const WHOLE_LIMIT_MS = 30 * 60_000
/** Missing, in no reference list, or against a CHECK. */
const BREAKS_RULE = /^235(02|03|14)$/
/** SQLSTATE classes of what is wrong with a row: its data, a rule, the same row twice in one statement. */
const ROW_AT_FAULT = /^(21|22|23|P0)/

class TrialOver extends Error {}

/**
 * Brings CSV files in: the header of each names columns of keyword_watch, app_watch or chart_watch, or of
 * several of them, when each row is of the one whose subject it names; or of alert_rule and alert_channel. An
 * empty cell says nothing.
 * @param given the files, or the text of one
 * @throws ConfigurationError when a file cannot be read as a whole; what came before it stays
 */
export async function importWatches(
  { begin }: Pick<Database, 'begin'>,
  given: string | readonly File[],
  options: ImportOptions = {},
): Promise<Import> {
  const { isTrial, replace, readCost } = options
  const files = typeof given === 'string' ? [{ name: 'the file', text: () => Readable.from([given]) }] : given
  const tally = new Tally()
  if (!isTrial && replace === undefined) {
    await storeFiles(begin, files, tally, options)
    return begin(async (tx) => {
      await countDisabled(tx, tally)
      return tally.result(null, await readProblems(tx, tally.projects))
    })
  }
  let result: Import | undefined
  const work = async (tx: Transaction) => {
    const before = await readCost?.(tx)
    await storeFiles((piece) => piece(tx), files, tally, options)
    if (replace === undefined) await countDisabled(tx, tally)
    else await replaceProject(tx, replace, tally)
    const after = await readCost?.(tx)
    const cost = before === undefined || after === undefined ? null : { before, after }
    result = tally.result(cost, await readProblems(tx, tally.projects))
    if (isTrial) throw new TrialOver()
    return result
  }
  return begin(work, { limitMs: WHOLE_LIMIT_MS, name: 'The import' }).catch((error) => {
    if (!(error instanceof TrialOver) || result === undefined) throw error
    return result
  })
}

/** Runs a piece in a transaction of its own, or in the one of the whole. */
type InPiece = <T>(piece: (tx: Transaction) => Promise<T>) => Promise<T>

async function storeFiles(inPiece: InPiece, files: readonly File[], tally: Tally, options: ImportOptions) {
  const { signal, onProgress = () => {}, onUnderstood = () => {} } = options
  const context = await inPiece((tx) => readContext(tx, options))
  const store = async (piece: readonly FileRow[]) => {
    if (signal?.aborted) return
    context.understanding.flush().forEach(onUnderstood)
    await inPiece((tx) => storePiece(tx, piece, tally, options))
    onProgress(tally.rows)
  }
  const piece: FileRow[] = []
  // Rules are few, and a channel that they name may come in anywhere.
  const rules: FileRow[] = []
  for await (const row of readFiles(files, context, tally, options)) {
    if (tally.take(row)) (row.watch.table === 'alert_rule' ? rules : piece).push(row)
    if (piece.length === PIECE_ROWS) await store(piece.splice(0))
    if (signal?.aborted) break
  }
  const rest = piece.concat(rules)
  do await store(rest.splice(0, PIECE_ROWS))
  while (rest.length > 0)
  tally.isStopped = signal?.aborted ?? false
}

async function* readFiles(
  files: readonly File[],
  context: FileContext,
  { tables }: Tally,
  { onlyWatches, onUnderstood = () => {} }: ImportOptions,
): AsyncGenerator<FileRow | RefusedRow> {
  for (const { name, text } of files) {
    const { watches, told, rows } = await readFileRows(name, text(), context)
    told.forEach(onUnderstood)
    if (onlyWatches && watches.some(({ table }) => table.startsWith('alert_')))
      throw new ConfigurationError(
        `${name} has rules or channels of alerts, and only watches are taken here.`,
      )
    for (const { table } of watches) tables.add(table)
    let isEmpty = true
    for await (const row of rows) {
      isEmpty = false
      yield row
    }
    if (isEmpty) {
      const subjects = watches.map(({ subject }) => subject).join(' and no ')
      throw new ConfigurationError(`There is no ${subjects} in ${name}.`)
    }
  }
}

async function readContext(tx: Transaction, { lacking = {}, map = [], history }: ImportOptions) {
  const places = await loadPlaces(tx)
  const [only, other] = await tx<{ name: string }[]>`select name from project order by id limit 2`
  const onlyProject = other === undefined ? only?.name : undefined
  const understanding = new Understanding(places, { ...lacking, onlyProject })
  return { places, map, isHistory: history !== undefined, understanding }
}

/**
 * Until the transaction ends no other one imports: two pieces that name the same rows in another order would
 * deadlock.
 */
export async function waitForImports(tx: Transaction): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtext('storerank'), hashtext('import'))`
}

/**
 * A statement for each kind and set of columns, because what a row leaves out gets the column's default,
 * which a statement has for all of its rows or none. Ranks are one statement in any case.
 */
async function storePiece(
  tx: Transaction,
  piece: readonly FileRow[],
  tally: Tally,
  { history = '', replace, signal }: ImportOptions,
): Promise<void> {
  await waitForImports(tx)
  const isRank = ({ watch }: FileRow) => watch.table === 'imported_rank'
  const alike = Map.groupBy(piece, (row) =>
    isRank(row) ? '' : [row.watch.table, row.isMentioned, ...row.cells.keys()].join(),
  )
  for (const rows of alike.values()) {
    if (signal?.aborted) return
    if (rows.some(isRank)) {
      await storeHistory(tx, rows, history, tally)
      continue
    }
    let left = rows[0]?.isMentioned ? await withoutKnownApps(tx, rows) : rows
    tally.counts.unchanged += rows.length - left.length
    // What names a watch for the second time waits until the others are stored.
    while (left.length > 0) {
      const same = [...Map.groupBy(left, identityOf).values()]
      const firsts = same.flatMap(([first]) => first ?? [])
      await storeRows(tx, firsts, tally, replace !== undefined)
      left = same.flatMap(([, ...again]) => again)
    }
  }
}

function identityOf({ watch, cells }: FileRow): string {
  return watch.identity.map((name) => cells.get(name) ?? '').join('\u0000')
}

async function storeRows(tx: Transaction, rows: readonly FileRow[], tally: Tally, isNamed: boolean) {
  try {
    const { stored, ids } = await tx.savepoint(async (inner) => ({
      stored: await upsert(inner, rows),
      ids: isNamed ? (await findOrAdd(inner, rows)).map(({ id }) => id) : [],
    }))
    tally.twins.push(...(await readTwins(tx, rows, stored, PROBLEMS_SHOWN - tally.twins.length)))
    const added = stored.filter((row) => row.added).length
    tally.counts.added += added
    tally.counts.changed += stored.length - added
    tally.counts.unchanged += rows.length - stored.length
    tally.name(rows, ids)
  } catch (error) {
    const [first, second] = rows
    if (!isDatabaseError(error) || !ROW_AT_FAULT.test(error.code) || first === undefined) throw error
    if (second === undefined) {
      const { file, line, watch, cells } = first
      tally.refuse({ file, line, subject: cells.get(watch.key) ?? '', reason: explain(error, cells) })
      return
    }
    const half = rows.length >> 1
    await storeRows(tx, rows.slice(0, half), tally, isNamed)
    await storeRows(tx, rows.slice(half), tally, isNamed)
  }
}

/** Without a full stop. The detail of a rule says which row it is, and so does the line. */
function explain({ code, message, detail, hint }: DatabaseError, cells: FileRow['cells']): string {
  const [, missing] = /^null value in column "(\w+)"/.exec(message) ?? []
  const what = missing === undefined ? (explainForm(message, cells) ?? message) : `${missing} is missing`
  const parts = [what, BREAKS_RULE.test(code) ? '' : detail, hint]
  return parts.filter(Boolean).join(' ').replace(/\.$/, '')
}

const FORMS: Readonly<Record<string, string>> = {
  boolean: 'is neither true nor false',
  interval: 'is no length of time such as 12 hours or 7 days',
  integer: 'is no whole number',
  bigint: 'is no whole number',
  smallint: 'is no whole number',
  numeric: 'is no number',
  'double precision': 'is no number',
}

/** Postgres says what it could not read, and not of which column. */
function explainForm(message: string, cells: FileRow['cells']): string | null {
  const [, type = '', value] =
    /^invalid input syntax for type ([a-z ]+): "(.*)"$/s.exec(message) ??
    /^()(?:value )?"(.*)" is out of range for type [a-z ]+$/s.exec(message) ??
    []
  const column = [...cells].find(([, cell]) => cell === value)?.[0]
  const form = type === '' ? 'is too large a number' : FORMS[type]
  if (column === undefined || form === undefined) return null
  const instead = column === 'location_code' && type !== '' ? '; names stand in location_name' : ''
  return `${column} is ${JSON.stringify(value)}, which ${form}${instead}`
}

/**
 * Disables what the files do not name. A channel is of no project. A row that was refused may be one that is
 * there: then nothing is disabled.
 */
async function replaceProject(tx: Transaction, project: string, tally: Tally): Promise<void> {
  if (!tally.projects.has(project)) {
    const meant = didYouMean(project, [...tally.projects])
    throw new ConfigurationError(
      `The files have no row of the project ${JSON.stringify(project)}, so all of it would be ` +
        `disabled.${meant} Nothing was changed.`,
    )
  }
  const { counts, listed, named, unsaid, isStopped } = tally
  if (counts.refusedCount > 0 || isStopped) return
  counts.disabled = 0
  for (const table of [...listed].filter(isOfProject)) {
    const turned = await tx<{ enabled: boolean }[]>`
      update ${sql.identifier(table)} set enabled = not enabled
      where project = ${project} and case when enabled
        then id not in (select unnest(${named.get(table) ?? []}::bigint[]))
        else id in (select unnest(${unsaid.get(table) ?? []}::bigint[])) end
      returning enabled`
    const enabled = turned.filter((row) => row.enabled).length
    counts.enabled += enabled
    counts.disabled += turned.length - enabled
  }
}

/** An import enables nothing that a person has disabled: it is said. */
async function countDisabled(tx: Transaction, { tables, projects, counts }: Tally): Promise<void> {
  for (const table of [...tables].filter(isOfProject)) {
    const rows = await tx`
      select from ${sql.identifier(table)} where project = any(${[...projects]}::text[]) and not enabled`
    counts.stillDisabled += rows.length
  }
}

function isOfProject(table: string): boolean {
  return table !== 'alert_channel' && table !== 'imported_rank'
}

/** Of the rows that were written, those that another one keeps from being followed. */
async function readTwins(
  tx: Transaction,
  [first]: readonly FileRow[],
  stored: readonly { readonly id: number }[],
  most: number,
): Promise<readonly ImportProblem[]> {
  if (most === 0 || stored.length === 0) return []
  return tx<ImportProblem[]>`
    select problem, message, 1 as watches from twin_problem
    where watch_table = ${first?.watch.table ?? ''}
      and watch_id = any(${stored.map(({ id }) => id)}::bigint[])
    limit ${most}`
}

/**
 * The same sentence once for all watches of which it is true. What concerns one slot, and money, is no fault
 * of a file; twins are looked for among the rows of the file alone.
 */
async function readProblems(tx: Transaction, projects: ReadonlySet<string>): Promise<ImportProblem[]> {
  return tx<ImportProblem[]>`
    select problem, message, count(*) as watches from watch_problem
    where project = any(${[...projects]}::text[]) and problem not in ('money', 'dearer_than_budget',
      'last_slot_failed', 'followed_already')
    group by 1, 2 order by 3 desc, 1, 2 limit ${PROBLEMS_SHOWN}`
}
