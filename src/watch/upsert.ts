/** The statements of an import: many rows of a file at once, each found again by the watch's own identity. */
import type { Transaction } from '../db/database.ts'
import { type Statement, sql } from '../db/sql.ts'
import { LISTS } from './kinds.ts'
import { splitList } from './spellings.ts'
import type { FileRow } from './understand.ts'

type TableRow = Pick<FileRow, 'watch' | 'cells'>

interface Written {
  readonly id: number
  readonly added: boolean
}

/** Rows of one kind and the same columns. Returns those that were added or changed. */
export function upsert(tx: Transaction, rows: readonly TableRow[]): Promise<readonly Written[]> {
  return insert(tx, rows, ({ watch, cells }) => {
    const given = watch.settings.filter((name) => cells.has(name))
    const of = (row: 'w' | 'excluded') => sql.identifiers(given.map((name) => `${row}.${name}`))
    if (given.length === 0) return sql`do nothing`
    return sql`
      do update set (${sql.identifiers(given)}) = row (${of('excluded')})
      where row (${of('w')}) is distinct from row (${of('excluded')})`
  })
}

/**
 * Such rows, added where they are not there. Those that are there are written once more as they are, because
 * only the table itself knows in which form it keeps a keyword.
 */
export function findOrAdd(tx: Transaction, rows: readonly TableRow[]): Promise<readonly Written[]> {
  return insert(tx, rows, ({ watch: { key } }) => {
    return sql`do update set ${sql.identifier(key)} = w.${sql.identifier(key)}`
  })
}

async function insert(tx: Transaction, rows: readonly TableRow[], onConflict: (row: TableRow) => Statement) {
  const [first] = rows
  if (first === undefined) return []
  const columns = sql.identifiers([...first.cells.keys()])
  const table = sql.identifier(first.watch.table)
  const values = rows.map(({ cells }) =>
    Object.fromEntries(
      [...cells].map(([name, cell]) => [name, LISTS.includes(name) ? splitList(cell) : cell]),
    ),
  )
  return tx<Written[]>`
    insert into ${table} as w (${columns})
    select ${columns} from json_populate_recordset(null::${table}, ${JSON.stringify(values)}::text::json)
    on conflict (${first.watch.unique}) ${onConflict(first)}
    returning id, xmax = 0 as added`
}

/** Those of the apps of which their project has no row, in whatever place. */
export async function withoutKnownApps<Row extends TableRow>(tx: Transaction, rows: readonly Row[]) {
  const cells = (name: string) => rows.map((row) => row.cells.get(name) ?? '')
  const known = await tx<{ n: number }[]>`
    select i.n::int from unnest(${cells('project')}::text[], ${cells('store')}::text[],
      ${cells('app_id')}::text[]) with ordinality i (project, store, app_id, n)
    where exists (select from app_watch a
      where (a.project, a.store, a.app_id) = (i.project, i.store, i.app_id))`
  const numbers = new Set(known.map(({ n }) => n - 1))
  return rows.filter((_, index) => !numbers.has(index))
}
