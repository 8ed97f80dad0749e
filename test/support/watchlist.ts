/** One project's watches and history, written by a single session whose business time the test sets. */
import postgres from 'postgres'
import { createTestDatabase, emptyReferences, emptyTables } from './database.ts'

type Fields = Record<string, unknown>

export interface Watchlist {
  /** One connection, so that what is set stays set. */
  sql: postgres.Sql
  /** Of the database. */
  url: string
  /** Everything from here on happens at this instant. */
  setNow(instant: string): Promise<void>
  /** So it is for every session that begins from now on. */
  setNowForAll(instant: string): Promise<void>
  /** @returns the id of a keyword_watch row; by default `yoga`, in the United States, daily */
  addKeyword(fields?: Fields): Promise<number>
  /** @returns the id of an app_watch row; by default the iOS app 1001 */
  addApp(fields?: Fields): Promise<number>
  /** @returns the id of a chart_watch row; by default `topselling_free`, in the United States, daily */
  addChart(fields?: Fields): Promise<number>
  /**
   * Stores what a search for the keyword, or the chart of the collection, had in this slot, the best app
   * first.
   */
  capture(subject: string, slot: string, appIds: string[], fields?: Fields): Promise<void>
  /** Stores why there is no measurement of the keyword or collection in this slot. */
  leaveGap(subject: string, slot: string, gap: string, reason?: string): Promise<void>
  /**
   * Stores what the page of the app, or that of its reviews, said in this slot; `gap` in the fields stores a
   * gap instead.
   */
  describeApp(appId: string, slot: string, fields: Fields, of?: 'app_info' | 'app_reviews'): Promise<void>
  /** What a question says as lines, in order: of each row what is not null, with spaces between. */
  ask(columns: string, from: string): Promise<string[]>
  /** Nothing was ever watched, and no place was heard of. */
  clear(): Promise<void>
  drop(): Promise<void>
}

export const KEYWORD_WATCH = {
  project: 'fitness',
  store: 'ios_store',
  keyword: 'yoga',
  location_code: 2840,
  language_code: 'en',
}

export const APP_WATCH = { project: 'fitness', store: 'ios_store', app_id: '1001' }

export const CHART_WATCH = {
  project: 'fitness',
  collection: 'topselling_free',
  location_code: 2840,
  language_code: 'en',
}

/** What is stored as a ranking. */
const RANKED = ['app_searches', 'app_list']

export async function createWatchlist(): Promise<Watchlist> {
  const database = await createTestDatabase()
  const sql = postgres(database.url, {
    max: 1,
    onnotice: () => undefined,
    connection: { TimeZone: 'UTC' },
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
  })
  return {
    sql,
    url: database.url,
    async setNow(instant) {
      await sql`select set_config('storerank.now', ${instant}, false)`
    },
    async setNowForAll(instant) {
      const name = new URL(database.url).pathname.slice(1)
      await sql.unsafe(`alter database ${name} set storerank.now = '${instant}'`)
    },
    addKeyword: (fields = {}) => insertWatch(sql, 'keyword_watch', { ...KEYWORD_WATCH, ...fields }),
    addApp: (fields = {}) => insertWatch(sql, 'app_watch', { ...APP_WATCH, ...fields }),
    addChart: (fields = {}) => insertWatch(sql, 'chart_watch', { ...CHART_WATCH, ...fields }),
    ...historyWriters(sql),
    async ask(columns, from) {
      const rows = await sql.unsafe(`select concat_ws(' ', ${columns}) as line from ${from} order by 1`)
      return rows.map(({ line }) => line)
    },
    async clear() {
      await emptyTables(sql)
      await emptyReferences(sql)
    },
    async drop() {
      await sql.end()
      await database.drop()
    },
  }
}

function historyWriters(sql: postgres.Sql): Pick<Watchlist, 'capture' | 'leaveGap' | 'describeApp'> {
  return {
    async capture(subject, slot, appIds, fields = {}) {
      const target = await targetOf(sql, RANKED, subject, slot)
      await sql`insert into app (store, app_id) select distinct ${target.store}::text, n.app_id
        from unnest(${appIds}::text[]) n (app_id)
        where not exists (select from app a where a.store = ${target.store} and a.app_id = n.app_id)`
      const [row] = await sql`
        select array(
          select a.id from unnest(${appIds}::text[]) with ordinality i (app_id, n)
          join app a on a.store = ${target.store} and a.app_id = i.app_id order by i.n
        ) as ids`
      const captured = { captured_at: slot, depth: 100, app_ids: row?.ids, ...fields }
      await sql`insert into ranking ${sql({ target_id: target.id, slot, ...captured })}`
      await sql`select note_alert_due(array[${target.id}::int], array[${slot}::timestamptz], null)`
    },
    async leaveGap(subject, slot, gap, reason) {
      const target = await targetOf(sql, RANKED, subject, slot)
      await sql`
        select store_gaps(array[${target.id}::int], array[${slot}::timestamptz], array[${gap}],
          array[${reason ?? null}::text])`
    },
    async describeApp(appId, slot, fields, of = 'app_info') {
      const target = await targetOf(sql, [of], appId, slot)
      const captured = 'gap' in fields ? {} : { captured_at: slot, found: true }
      await sql`insert into app_snapshot ${sql({ target_id: target.id, slot, ...captured, ...fields })}`
    },
  }
}

/** The only target on this subject; makes the partition of the slot. */
async function targetOf(sql: postgres.Sql, of: readonly string[], subject: string, slot: string) {
  await sql`select ensure_history_partitions(${slot}, ${slot})`
  const [target] = await sql<
    { id: number; store: string }[]
  >`select id, store from target where function = any(${of}) and subject = ${subject}`
  if (target === undefined) throw new Error(`Nothing watches ${subject}.`)
  return target
}

async function insertWatch(sql: postgres.Sql, table: string, fields: Fields): Promise<number> {
  const [row] = await sql`insert into ${sql(table)} ${sql(fields)} returning id`
  return row?.id
}
