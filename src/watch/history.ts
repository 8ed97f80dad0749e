/**
 * Ranks that another tool measured, as rows of imported_rank: by list, app and day. Nothing is bought for
 * them, and nothing counts them as measured.
 */
import type { Transaction } from '../db/database.ts'
import { dayOf, rankOf } from './spellings.ts'
import type { Tally } from './tally.ts'
import type { FileRow } from './understand.ts'

interface Given {
  readonly n: number
  readonly [column: string]: string | number
}

/** Without a rank the tool did not find the app: nothing is kept of it. */
const NOT_RANKED = /^(\D*|[>≥]\s*\d+|\d+\s*\+|0)$/

/** Of what is in the rows twice the last one counts. */
export async function storeHistory(tx: Transaction, rows: readonly FileRow[], source: string, tally: Tally) {
  const given = rows.flatMap((row, n): Given[] => {
    const { cells } = row
    const rank = cells.get('rank') ?? ''
    const reason = refusalOf(cells)
    if (reason !== null) refuse(row, reason, tally)
    else if (rankOf(rank) === null) tally.counts.unranked += 1
    else return [{ source, ...Object.fromEntries(cells), n, rank: rankOf(rank) ?? 0 }]
    return []
  })
  const known = await store(tx, given)
  for (const { n, location, app, project } of known) {
    const row = rows[n]
    if (row === undefined || (location !== null && app !== null)) continue
    const where = `the place is not known yet: \`storerank run\` loads the places of the store`
    const who = `the project ${project} has no such app: add it by \`storerank watch\` or an import`
    refuse(row, location === null ? where : who, tally)
  }
  const [{ stored = 0, added = 0, changed = 0 } = {}] = known
  tally.counts.added += added
  tally.counts.changed += changed
  tally.counts.unchanged += stored - added - changed
}

function refuse({ file, line, cells }: FileRow, reason: string, tally: Tally): void {
  tally.refuse({ file, line, subject: cells.get('keyword') ?? '', reason })
}

function refusalOf(cells: ReadonlyMap<string, string>): string | null {
  const said = (name: string) => JSON.stringify(cells.get(name) ?? '')
  for (const name of ['project', 'store', 'language_code', 'app_id']) {
    if (!cells.has(name)) return `${name} is missing`
  }
  if (dayOf(cells.get('day') ?? '') === null) return `day is ${said('day')}, and is written like 2026-03-01`
  const rank = cells.get('rank') ?? ''
  if (rankOf(rank) === null && !NOT_RANKED.test(rank)) return `rank is ${said('rank')}, which is no rank`
  return null
}

interface Known {
  readonly n: number
  readonly project: string
  readonly location: number | null
  readonly app: number | null
  /** Of all rows: those with place and app, and what became of them. */
  readonly stored: number
  readonly added: number
  readonly changed: number
}

/** An app may be named by its id, its label or its title. What is in the rows twice is stored once. */
async function store(tx: Transaction, given: readonly Given[]): Promise<readonly Known[]> {
  return tx<Known[]>`
    with known as (
      select g.*, coalesce(g.location_code, (
          select l.code from location l
          where l.store = g.store and lower(l.name collate "C") = lower(g.location_name collate "C")
          order by l.code limit 1
        ))::integer as location,
        (select a.app from project_app a
          where a.project = g.project and a.store = g.store
            and (a.app_id = g.app_id or lower(a.label) = lower(g.app_id) or lower(a.title) = lower(g.app_id))
          order by a.app_id = g.app_id desc limit 1) as app
      from json_to_recordset(${JSON.stringify(given)}::text::json) g (n integer, project text, store text,
        keyword text, location_code bigint, location_name text, language_code text, app_id text, day date,
        rank smallint, source text)
    ), list as (
      select l.*, keyword_target(l.store, l.keyword, l.location, l.language_code) as target_id
      from (select distinct store, clean_text(keyword) as keyword, location, language_code
        from known where location is not null and app is not null) l
    ), stored as (
      insert into imported_rank as i (project, target_id, app, day, source, rank)
      select distinct on (k.project, l.target_id, k.app, k.day, k.source)
        k.project, l.target_id, k.app, k.day, k.source, k.rank
      from known k
      join list l on (l.store, l.keyword, l.location, l.language_code)
        = (k.store, clean_text(k.keyword), k.location, k.language_code)
      where k.app is not null
      order by 1, 2, 3, 4, 5, k.n desc
      on conflict (project, target_id, app, day, source) do update set rank = excluded.rank
        where i.rank <> excluded.rank
      returning xmax = 0 as added
    )
    select k.n, k.project, k.location, k.app,
      count(*) filter (where k.location is not null and k.app is not null) over () as stored,
      s.added, s.changed
    from known k
    cross join (
      select count(*) filter (where added) as added, count(*) filter (where not added) as changed from stored
    ) s
    order by k.n`
}
