/**
 * The watches, or the rules and channels of alerts, as a CSV file that `importWatches` reads: brought in
 * where they came from, it changes nothing.
 */
import { stringify } from 'csv-stringify/sync'
import type { Database, Session } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import { fileColumnsOf, LISTS, WATCHES, type Watch } from './kinds.ts'
import { escapeFormula } from './spellings.ts'

const ROWS_AT_ONCE = 1000
/** A reader that pauses for longer loses the session. */
const IDLE_MS = 600_000

type WatchRow = Readonly<Record<string, string | null>>

/**
 * Only columns that some watch there is has, so that a watchlist of keywords has none of apps.
 * @param of WATCHES or ALERTS
 */
export async function openWatchExport(
  { openSession }: Pick<Database, 'openSession'>,
  of: readonly Watch[] = WATCHES,
) {
  const session = openSession(IDLE_MS)
  const kinds: Watch[] = []
  for (const kind of of) {
    const [row] = await session<
      { some: boolean }[]
    >`select exists (select from ${sql.identifier(kind.table)}) as some`
    if (row?.some) kinds.push(kind)
  }
  const columns = [...new Set((kinds.length === 0 ? of.slice(0, 1) : kinds).flatMap(fileColumnsOf))]
  let rows = 0
  const chunks = async function* () {
    yield stringify([columns])
    for (const kind of kinds) {
      for await (const batch of readWatches(session, kind)) {
        rows += batch.length
        yield stringify(
          batch.map((row) => columns.map((name) => toCell(name, row[name] ?? null))),
          // An import takes what is quoted as it is, and trims the rest.
          { quoted_match: /^\s|\s$/ },
        )
      }
    }
  }
  return { chunks: chunks(), rows: () => rows, close: () => session.end() }
}

function readWatches(session: Session, kind: Watch): AsyncIterable<readonly WatchRow[]> {
  const columns = fileColumnsOf(kind).map((name) => {
    // As JSON, where no tag can be taken for two.
    if (LISTS.includes(name)) return sql`to_jsonb(${sql.identifier(name)})::text as ${sql.identifier(name)}`
    return sql`${sql.identifier(name === kind.subject ? kind.key : name)}::text as ${sql.identifier(name)}`
  })
  const list = sql.join(columns, ', ')
  return session.readInBatches<WatchRow>(
    sql`select ${list} from ${sql.identifier(kind.table)} order by ${sql.identifier(kind.identity[0])}, id`,
    ROWS_AT_ONCE,
  )
}

function toCell(name: string, value: string | null): string {
  if (value === null || (LISTS.includes(name) && value === '[]')) return ''
  return LISTS.includes(name) ? value : escapeFormula(value)
}
