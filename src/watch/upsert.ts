/** The statements of an import: many rows of a file at once, each found again by the watch's own identity. */
import type { Transaction } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { FileRow } from './fit-rows.ts'
import { LISTS } from './kinds.ts'
import { splitList } from './spellings.ts'

/** Rows of one kind and the same columns. Returns those that were added or changed. */
export async function upsert(
  tx: Transaction,
  rows: readonly FileRow[],
): Promise<readonly { id: number; added: boolean }[]> {
  const [first] = rows
  if (first === undefined) return []
  const { table, unique, settings } = first.watch
  const given = settings.filter((name) => first.cells.has(name))
  const of = (row: 'w' | 'excluded') => sql.identifiers(given.map((name) => `${row}.${name}`))
  const update = sql`
    do update set (${sql.identifiers(given)}) = row (${of('excluded')})
    where row (${of('w')}) is distinct from row (${of('excluded')})`
  return tx<{ id: number; added: boolean }[]>`
    insert into ${sql.identifier(table)} as w ${valuesOf(rows)}
    on conflict (${unique}) ${given.length === 0 ? sql`do nothing` : update}
    returning id, xmax = 0 as added`
}

/**
 * The ids of rows that are there: written once more as they are, because only the table itself knows in which
 * form it keeps a keyword.
 */
export async function findIds(tx: Transaction, rows: readonly FileRow[]): Promise<number[]> {
  const [first] = rows
  if (first === undefined) return []
  const { table, unique, key } = first.watch
  const found = await tx<{ id: number }[]>`
    insert into ${sql.identifier(table)} as w ${valuesOf(rows)}
    on conflict (${unique}) do update set ${sql.identifier(key)} = w.${sql.identifier(key)} returning id`
  return found.map(({ id }) => id)
}

function valuesOf(rows: readonly FileRow[]) {
  const [first] = rows
  const given = [...(first?.cells.keys() ?? [])]
  const table = first?.watch.table ?? ''
  // Without it a trigger would give each row the same, at a tenth of what the whole row costs.
  const isWithoutDepth = table === 'keyword_watch' && !given.includes('depth')
  const columns = isWithoutDepth ? [...given, 'depth'] : given
  const values = rows.map(({ cells }) =>
    Object.fromEntries(
      [...cells].map(([name, cell]) => [name, LISTS.includes(name) ? splitList(cell) : cell]),
    ),
  )
  return sql`
    (${sql.identifiers(columns)})
    select ${sql.identifiers(given)} ${isWithoutDepth ? sql`, default_depth(store)` : sql``}
    from json_populate_recordset(null::${sql.identifier(table)}, ${JSON.stringify(values)}::text::json)`
}

/** Those of the apps of which their project has no row, in whatever place. */
export async function withoutKnownApps(tx: Transaction, rows: readonly FileRow[]): Promise<FileRow[]> {
  const cells = (name: string) => rows.map((row) => row.cells.get(name) ?? '')
  const known = await tx<{ n: number }[]>`
    select i.n::int from unnest(${cells('project')}::text[], ${cells('store')}::text[],
      ${cells('app_id')}::text[]) with ordinality i (project, store, app_id, n)
    where exists (select from app_watch a
      where (a.project, a.store, a.app_id) = (i.project, i.store, i.app_id))`
  const numbers = new Set(known.map(({ n }) => n - 1))
  return rows.filter((_, index) => !numbers.has(index))
}
