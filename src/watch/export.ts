/**
 * The watches, or the rules and channels of alerts, as a CSV file that `importWatches` reads: brought in
 * where they came from, it changes nothing.
 */
import { stringify } from 'csv-stringify/sync'
import type { Database } from '../db/database.ts'
import { escapeFormula } from './cells.ts'
import { fileColumnsOf, WATCHES, type Watch } from './kinds.ts'

const ROWS_AT_ONCE = 1000
/** A reader that pauses for longer loses the session. */
const IDLE_MS = 600_000

/** A watch as text by column; null where it says nothing. */
type WatchRow = Readonly<Record<string, string | null>>

export interface WatchExport {
  readonly chunks: AsyncIterable<string>
  /** Counts up while the chunks are read. */
  rows(): number
  close(): Promise<void>
}

/**
 * Only columns that some watch there is has, so that a watchlist of keywords has none of apps.
 * @param of WATCHES or ALERTS
 */
export async function openWatchExport(
  { openSession }: Pick<Database, 'openSession'>,
  of: readonly Watch[] = WATCHES,
): Promise<WatchExport> {
  const sql = openSession(IDLE_MS)
  const kinds: Watch[] = []
  for (const kind of of) {
    const [row] = await sql<{ some: boolean }[]>`select exists (select from ${sql(kind.table)}) as some`
    if (row?.some) kinds.push(kind)
  }
  const columns = [...new Set((kinds.length === 0 ? of.slice(0, 1) : kinds).flatMap(fileColumnsOf))]
  let rows = 0
  const chunks = async function* () {
    yield stringify([columns])
    for (const kind of kinds) {
      for await (const batch of readWatches(sql, kind)) {
        rows += batch.length
        yield stringify(
          batch.map((row) => columns.map((name) => toCell(name, row[name] ?? null))),
          // An import takes what is quoted as it is, and trims the rest.
          { quoted_match: /^\s|\s$/ },
        )
      }
    }
  }
  return { chunks: chunks(), rows: () => rows, close: () => sql.end({ timeout: 1 }) }
}

function readWatches(sql: Database['sql'], kind: Watch): AsyncIterable<readonly WatchRow[]> {
  const columns = fileColumnsOf(kind).map((name) => {
    // As JSON, where no tag can be taken for two.
    if (name === 'tags') return sql`to_jsonb(tags)::text as tags`
    return sql`${sql(name === kind.subject ? kind.key : name)}::text as ${sql(name)}`
  })
  const list = columns.flatMap((column, n) => (n === 0 ? [column] : [sql`,`, column]))
  return sql<WatchRow[]>`select ${list} from ${sql(kind.table)} order by ${sql(kind.identity[0])}, id`.cursor(
    ROWS_AT_ONCE,
  )
}

function toCell(name: string, value: string | null): string {
  if (value === null || (name === 'tags' && value === '[]')) return ''
  return name === 'tags' ? value : escapeFormula(value)
}
