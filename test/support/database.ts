/**
 * A database of its own for each test, cloned from a template that was migrated once for the whole
 * run.
 */

import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { moveClock } from './moved-clock.ts'

/** A client of the driver's own, or one of ours: for statements without pieces. */
export interface AnySql {
  <T extends readonly object[] = postgres.Row[]>(
    texts: TemplateStringsArray,
    ...values: readonly (string | number | boolean | Date | null | readonly number[])[]
  ): Promise<postgres.RowList<T>>
  unsafe(text: string): Promise<unknown>
}

/** One test's database. `sql` has up to ten connections; `url` opens more. */
export interface TestDatabase {
  url: string
  sql: postgres.Sql
  /**
   * Closes `sql`. Everybody else is cut off and the database removed meanwhile: the server waits with that
   * for all its sessions, also for those of other tests that wait for something.
   */
  drop(): Promise<void>
}

/** A database with all migrations of the project applied. */
export function createTestDatabase(): Promise<TestDatabase> {
  return createDatabase(environment('TEST_TEMPLATE_DATABASE'))
}

/** A client of the product's own on a database with all migrations applied; closing it drops the database. */
export async function openTestDatabase(): Promise<Database> {
  const { url, drop } = await createTestDatabase()
  const db = openDatabase(url)
  const close = async () => {
    await db.close()
    await drop()
  }
  return { ...db, close }
}

/**
 * A database with nothing in it.
 * @param options further ones of `create database`
 */
export async function createEmptyDatabase(options = ''): Promise<TestDatabase> {
  const database = await createDatabase('template0', options)
  const { TEST_CLOCK_AHEAD_MS } = process.env
  if (TEST_CLOCK_AHEAD_MS !== undefined) await moveClock(database.sql, Number(TEST_CLOCK_AHEAD_MS))
  return database
}

/** What people write, and what comes of it, in an order that foreign keys allow. */
const TABLES = `
  alert_event alert_message alert_rule alert_channel alert_due annotation keyword_watch app_watch
  chart_watch watch_period period_change due_slot charge charged_price task post spend
  api_call job_run account_usage rejected_result ranking app_snapshot review page
  listing target app project money_zone`
  .trim()
  .split(/\s+/)
const REFERENCES = ['location', 'language', 'category']

/**
 * Nothing was ever watched or bought. Row by row: while they are few, truncating takes ten times as long.
 * Without triggers: what they would write is deleted as well.
 */
export async function emptyTables(sql: AnySql): Promise<void> {
  const deletes = TABLES.map((table) => `delete from ${table};`).join('\n')
  await sql.unsafe(
    `set local session_replication_role = replica; ${deletes}
     update ledger set reserved_micros = 0, taken_micros = 0, opened_to = '-infinity'`,
  )
}

/** Places, languages and categories were never heard of. */
export async function emptyReferences(sql: AnySql): Promise<void> {
  await sql.unsafe(REFERENCES.map((table) => `delete from ${table};`).join('\n'))
}

/** What a storerank that is newer than this one leaves behind when it has migrated. */
export async function migrateLater(sql: AnySql): Promise<void> {
  await sql`
    insert into drizzle.__drizzle_migrations (hash, created_at)
    select 'later', max(created_at) + 1 from drizzle.__drizzle_migrations`
}

/** SQL that has a database say that it is a standby, or that it is none. Plans are made anew. */
export const sayStandby = (isStandby: boolean): string => `
  create or replace function pg_catalog.pg_is_in_recovery() returns boolean language sql volatile
    parallel safe return ${isStandby};
  alter table ledger set (fillfactor = 100)`

/** A copy of files takes half of what going through the log does. */
async function createDatabase(template: string, options = ''): Promise<TestDatabase> {
  const name = `${environment('TEST_TEMPLATE_DATABASE')}_${randomBytes(6).toString('hex')}`
  const admin = openAdmin('creates')
  await admin`create database ${admin(name)} template ${admin(template)} strategy file_copy
    ${admin.unsafe(options)}`
  const url = new URL(environment('TEST_DATABASE_URL'))
  url.pathname = `/${name}`
  const sql = postgres(url.href, { max: 10, onnotice: () => undefined })
  return {
    url: url.href,
    sql,
    async drop() {
      await sql.end({ timeout: 5 })
      // What cannot be dropped now goes with the run.
      const admin = openAdmin('drops')
      admin`drop database if exists ${admin(name)} with (force)`.catch(() => undefined)
    },
  }
}

const admins = new Map<string, postgres.Sql>()

/**
 * The process has one session that creates databases, so that none waits for those that are dropped. A
 * session that is not used ends: the process need not wait for it.
 */
function openAdmin(what: 'creates' | 'drops'): postgres.Sql {
  const options = { max: 1, idle_timeout: 1, onnotice: () => undefined }
  const admin = admins.get(what) ?? postgres(environment('TEST_DATABASE_URL'), options)
  admins.set(what, admin)
  return admin
}

function environment(name: string): string {
  const value = process.env[name]
  if (value === undefined) {
    throw new Error(`${name} is not set: this test needs a database, so run it with \`npm test -- <file>\`.`)
  }
  return value
}

/** One column of rows. */
export function column<Row extends object, Name extends keyof Row>(
  rows: readonly Row[],
  name: Name,
): Row[Name][] {
  return rows.map((row) => row[name])
}
