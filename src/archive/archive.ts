/**
 * Whole months of the history as Parquet files, one of each table and month, which say without the database
 * what they are of. A month may be dropped from the database once its file was compared with it.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import { inPiece } from '../db/pieces.ts'
import { sql } from '../db/sql.ts'
import { ConfigurationError } from '../errors.ts'
import { listPartitions, type Partition } from '../history/retention.ts'
import { makeFolder } from '../make-folder.ts'
import { sweepDrafts } from '../report/write-file.ts'
import { compareArchive, writeArchive } from './file.ts'

export interface ArchiveOptions {
  /** Months that end by then. */
  readonly before: Date
  readonly folder: string
  /** Drops each month once its file is verified. */
  readonly drops: boolean
  readonly signal: AbortSignal
}

export interface Archived {
  readonly file: string
  readonly rows: number
  /** False: it was there already, and is the same. */
  readonly isNew: boolean
  readonly isDropped: boolean
}

/** The numbers of apps first: they are pruned with the rankings of their month. */
const TABLES = ['app_numbers', 'ranking', 'app_snapshot'] as const
type Month = Omit<Partition, 'table'> & { readonly table: (typeof TABLES)[number] }
/** Results are awaited for 32 days. */
const CLOSED_AFTER_DAYS = 33

/**
 * Archives month by month, the oldest first. It may be broken off at any moment, and run again.
 * @throws ConfigurationError when a month may still change, when one that is to be dropped is still needed,
 *   and when a file stands there that differs
 */
export async function* archiveMonths(db: Database, options: ArchiveOptions): AsyncGenerator<Archived> {
  const months = (await Promise.all(TABLES.map((table) => listMonths(db.sql, table))))
    .flat()
    .filter(({ ends }) => ends.getTime() <= options.before.getTime())
    .sort(
      (a, b) => a.begins.getTime() - b.begins.getTime() || TABLES.indexOf(a.table) - TABLES.indexOf(b.table),
    )
  await refuseUnfinished(db, months, options.drops)
  await requireFolder(options.folder)
  await sweepDrafts(options.folder, Date.now())
  for (const month of months) {
    options.signal.throwIfAborted()
    const file = join(options.folder, `${month.table}-${monthOf(month.begins)}.parquet`)
    const query = { url: db.url, query: QUERIES[month.table](month), signal: options.signal }
    const isNew = !existsSync(file)
    const rows = isNew ? await writeArchive(file, query) : await compareArchive(file, query)
    if (typeof rows === 'string')
      throw new ConfigurationError(
        `${file} stands there and is not what the database has: ${rows}. Nothing was changed. Move it ` +
          'away, or archive to another folder.',
      )
    if (options.drops)
      await inPiece(db, 'Dropping a month of the history', (tx) => dropMonth(tx, month, rows))
    yield { file, rows, isNew, isDropped: options.drops }
  }
}

async function listMonths(db: SqlRunner, table: Month['table']): Promise<Month[]> {
  if (table !== 'app_numbers') return (await listPartitions(db, table)).map((month) => ({ ...month, table }))
  return db<Month[]>`
    select 'app_numbers' as table, 'app_numbers' as name, m.begins at time zone 'UTC' as begins,
      (m.begins + interval '1 month') at time zone 'UTC' as ends
    from (select distinct date_trunc('month', day::timestamp) as begins from app_numbers) m`
}

async function requireFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder)
  } catch (error) {
    const { message } = error as Error
    throw new ConfigurationError(`The folder ${folder} cannot be used: ${message}.`, { cause: error })
  }
}

/**
 * A month is final when everything that was due in it is in the history; it is needed while a task of it is
 * there.
 */
async function refuseUnfinished(db: Database, months: readonly Month[], drops: boolean): Promise<void> {
  const ends = months.at(-1)?.ends
  if (ends === undefined) return
  const [row] = await db.sql<{ limit: Date; open: Date | null; tasks: Date | null }[]>`
    select date_trunc('month', storerank_now() - make_interval(days => ${CLOSED_AFTER_DAYS}), 'UTC') as limit,
      least(
        (select min(slot) from reserving_task where slot < ${ends}),
        (select min(slot) from task where attempt > 0 and state = 'posted' and slot < ${ends}),
        (select min(slot) from due_slot where slot < ${ends}),
        (select min(from_slot) from period_change where from_slot < ${ends}),
        (select opened_to from ledger where opened_to > '-infinity' and opened_to < ${ends})
      ) as open,
      (select min(slot) from task where slot < ${ends}) as tasks`
  if (row === undefined) return
  const { limit, open, tasks } = row
  if (ends.getTime() > limit.getTime())
    throw new ConfigurationError(
      `Results of the month before ${monthOf(ends)} may still come. Archive what is before ` +
        `${monthOf(limit)}-01.`,
    )
  if (open !== null)
    throw new ConfigurationError(
      `Slots of ${monthOf(open)} are not closed yet. Run \`storerank run\`, or archive what is before ` +
        `${monthOf(open)}-01.`,
    )
  if (drops && tasks !== null)
    throw new ConfigurationError(
      `Tasks of ${monthOf(tasks)} are still there, and looked up in the history: they are kept for 90 days ` +
        'after their end, until the next housekeeping. Without --drop the month can be archived; with it, ' +
        `what is before ${monthOf(tasks)}-01.`,
    )
}

const monthOf = (at: Date) => at.toISOString().slice(0, 7)

/**
 * Under the lock of the table nothing can have come since it was compared: rows of the history are added and
 * never changed.
 */
async function dropMonth(tx: Transaction, month: Month, rows: number): Promise<void> {
  const { table, name, begins, ends } = month
  if (table === 'app_numbers') return deleteNumbers(tx, month, rows)
  // As readers lock them, and DROP TABLE would: the table first.
  await tx`lock table only ${sql.identifier(table)} in access exclusive mode`
  await tx`lock table ${sql.identifier(name)} in access exclusive mode`
  const [found] = await tx<{ rows: number; tasks: boolean }[]>`
    select (select count(*) from ${sql.identifier(name)}) as rows,
      exists (select 1 from task where slot >= ${begins} and slot < ${ends}) as tasks`
  if (found?.rows !== rows || found.tasks) throw changed(name)
  await tx`drop table ${sql.identifier(name)}`
}

async function deleteNumbers(tx: Transaction, { name, begins, ends }: Month, rows: number): Promise<void> {
  const [gone] = await tx<{ rows: number }[]>`
    with gone as (
      delete from app_numbers where day >= (${begins} at time zone 'UTC')::date
        and day < (${ends} at time zone 'UTC')::date
      returning apps
    )
    select coalesce(sum(cardinality(apps)), 0)::int as rows from gone`
  if (gone?.rows !== rows) throw changed(name)
}

const changed = (name: string) =>
  new ConfigurationError(`${name} has changed since it was archived, and was not dropped. Run it again.`)

const TARGET = 't.store, t.function, t.subject, t.category, t.location_code, t.language_code'

const QUERIES: Readonly<Record<Month['table'], (month: Month) => string>> = {
  app_numbers: ({ begins, ends }) => `
    select day, store, app_id, location_code, votes, rating, price, currency from app_number
    where day >= '${begins.toISOString().slice(0, 10)}' and day < '${ends.toISOString().slice(0, 10)}'
    order by day, location_code, store, app_id, written`,
  ranking: ({ begins, ends }) => `
    select h.slot, h.target_id, ${TARGET}, h.captured_at, h.gap, h.reason, h.depth, h.results_count,
      case when h.gap is null then t.check_url end as check_url, case when h.app_ids is not null then array(
        select a.app_id from unnest(h.app_ids) with ordinality i (id, place) left join app a on a.id = i.id
          order by i.place
      ) end as app_ids, h.absolute, case when h.paid_ids is not null then array(
        select a.app_id from unnest(h.paid_ids) with ordinality i (id, place) left join app a on a.id = i.id
          order by i.place
      ) end as paid_app_ids, h.paid_places
    from ranking_row h left join target t on t.id = h.target_id
    where h.slot >= '${begins.toISOString()}' and h.slot < '${ends.toISOString()}'
    order by h.slot, h.target_id`,
  app_snapshot: ({ name }) => `
    select h.slot, h.target_id, ${TARGET}, h.captured_at, h.gap, h.reason, a.app_id, h.found, h.rating,
      h.votes_count, h.reviews_count, h.price_micros, h.currency, h.is_free, h.version, h.minimum_os_version,
      h.size, h.main_category, h.installs_count, h.released_at, h.updated_at,
      case when h.gap is null then t.check_url end as check_url, l.title, l.description, l.update_notes,
      l.icon, l.images, l.details
    from ${name} h left join target t on t.id = h.target_id left join app a on a.id = h.app
      left join listing l on l.hash = h.listing_hash
    order by h.slot, h.target_id`,
}
