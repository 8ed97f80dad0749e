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
import { openSource } from '../report/export/export.ts'
import { openParquet, PARSERS, valueParser } from '../report/export/parquet.ts'
import { whyNot } from '../trouble.ts'

export interface FileQuery {
  readonly url: string
  /** Gives the same rows in the same order each time. */
  readonly query: string
  readonly signal: AbortSignal
}

/** Writes the rows of a query beside the file, compares, and gives it its name. Returns how many rows. */
export async function writeArchive(file: string, query: FileQuery): Promise<number> {
  // With a dot in front: Spark and pandas, which read a folder, pass over what a killed writer left.
  const draft = join(dirname(file), `.${basename(file)}.${randomBytes(4).toString('hex')}.draft`)
  try {
    await writeDraft(draft, query)
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

async function writeDraft(draft: string, { url, query, signal }: FileQuery): Promise<void> {
  await using source = await openSource(url, query, { signal })
  const parquet = openParquet(source.columns, true)
  await using handle = await open(draft, 'wx', 0o644)
  for await (const batch of source.batches) await handle.writeFile(parquet.add(batch))
  await handle.writeFile(parquet.end())
  await handle.sync()
}

/** The name of a file lasts only when its folder is written too. */
async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r')
  await handle.sync()
}

/**
 * Compares a file with the rows of a query.
 * @returns how many rows, when all of them are the same; else the first difference, as words
 */
export async function compareArchive(file: string, { url, query, signal }: FileQuery) {
  await using source = await openSource(url, query, { signal })
  const parsers = source.columns.map((column) => [column.name, valueParser(column)] as const)
  const stored = readRows(file)
  let rows = 0
  for await (const batch of source.batches) {
    for (const cells of batch) {
      const { value } = await stored.next()
      if (value === undefined) return `it ends after ${rows} rows`
      rows += 1
      const other = parsers.find(
        ([name, parse], n) => !isDeepStrictEqual(parse(cells[n] ?? null), value[name] ?? null),
      )
      if (other !== undefined) return `row ${rows} has another ${other[0]}`
    }
  }
  const { done } = await stored.next()
  return done ? rows : `it has more than ${rows} rows`
}

/** The rows of a file, one row group in memory at a time. */
async function* readRows(file: string): AsyncGenerator<Record<string, unknown>, undefined> {
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
    yield* rows
    rowStart = rowEnd
  }
}

function explain(file: string, error: unknown): unknown {
  const { syscall } = error as NodeJS.ErrnoException
  if (syscall === undefined) return error
  return new ConfigurationError(`${file} cannot be written: ${whyNot(error)}.`, { cause: error })
}
