/**
 * A Parquet file of one month, whole or not at all. It is read back and compared with the database, value by
 * value, before it gets its name; a file that stands there already is compared likewise, and never written
 * over.
 */
import { randomBytes } from 'node:crypto'
import { link, open, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { asyncBufferFromFile, type FileMetaData, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { ConfigurationError } from '../errors.ts'
import { PARSERS, ParquetFile, type Value, valueParser } from '../report/export/parquet.ts'
import { openSource, type Source } from '../report/export/source.ts'
import { whyNot } from '../trouble.ts'

export interface FileQuery {
  readonly url: string
  /** Gives the same rows in the same order each time. */
  readonly query: string
  readonly signal: AbortSignal
}

const LISTS = { lists: true }

/** Writes the rows of a query beside the file, compares, and gives it its name. Returns how many rows. */
export async function writeArchive(file: string, query: FileQuery): Promise<number> {
  // With a dot in front: Spark and pandas, which read a folder, pass over what a killed writer left.
  const draft = join(dirname(file), `.${basename(file)}.${randomBytes(4).toString('hex')}.draft`)
  try {
    await withSource(query, (source) => writeDraft(draft, source))
    const rows = await compareArchive(draft, query)
    if (typeof rows === 'string') throw new Error(`${file} was not written as the database has it: ${rows}.`)
    // Fails where the name is taken; a rename would not.
    await link(draft, file)
    await syncFolder(dirname(file))
    return rows
  } catch (error) {
    throw explain(file, error)
  } finally {
    await rm(draft, { force: true }).catch(() => {})
  }
}

async function writeDraft(draft: string, { columns, batches }: Source): Promise<void> {
  const parquet = new ParquetFile(columns, LISTS)
  const handle = await open(draft, 'wx', 0o644)
  try {
    for await (const batch of batches) await handle.writeFile(parquet.add(batch))
    await handle.writeFile(parquet.end())
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** The name of a file lasts only when its folder is written too. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Compares a file with the rows of a query.
 * @returns how many rows, when all of them are the same; else the first difference, as words
 */
export async function compareArchive(file: string, query: FileQuery): Promise<number | string> {
  return withSource(query, async ({ columns, batches }) => {
    const stored = readRows(
      file,
      columns.map(({ name }) => name),
    )
    const parsers = columns.map((column) => valueParser(column, LISTS))
    let rows = 0
    for await (const batch of batches) {
      for (const cells of batch) {
        const { value } = await stored.next()
        if (value === undefined) return `it ends after ${rows} rows`
        rows += 1
        const column = cells.findIndex((cell, n) => !isDeepStrictEqual(parsers[n]?.(cell), value[n]))
        if (column >= 0) return `row ${rows} has another ${columns[column]?.name}`
      }
    }
    const { done } = await stored.next()
    return done ? rows : `it has more than ${rows} rows`
  })
}

/** The rows of a file, one row group in memory at a time. */
async function* readRows(
  file: string,
  names: readonly string[],
): AsyncGenerator<(Value | null)[], undefined> {
  const buffer = await asyncBufferFromFile(file)
  let metadata: FileMetaData
  try {
    metadata = await parquetMetadataAsync(buffer)
  } catch (error) {
    throw new ConfigurationError(`${file} is no Parquet file: ${(error as Error).message}.`, { cause: error })
  }
  let rowStart = 0
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows)
    const rows = await parquetReadObjects({ file: buffer, metadata, rowStart, rowEnd, parsers: PARSERS })
    for (const row of rows) yield names.map((name) => (row[name] === undefined ? null : row[name]))
    rowStart = rowEnd
  }
}

async function withSource<T>(query: FileQuery, work: (source: Source) => Promise<T>): Promise<T> {
  const source = await openSource(query.url, query.query, { isJson: false, signal: query.signal })
  try {
    return await work(source)
  } finally {
    await source.close()
  }
}

function explain(file: string, error: unknown): unknown {
  const { syscall } = error as NodeJS.ErrnoException
  if (syscall === undefined) return error
  return new ConfigurationError(`${file} cannot be written: ${whyNot(error)}.`, { cause: error })
}
