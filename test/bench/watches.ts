/**
 * How long one statement takes over many watches, triggers and periods included, and the question what is
 * wrong with them; how much CPU the server uses, and how much memory the process of the session has at most:
 * `npm run bench:watches`, or `npm run bench:watches -- 10000` for one size. TEST_DATABASE_URL is the server,
 * else a temporary one.
 */
import { readFile } from 'node:fs/promises'
import process from 'node:process'
import type { Database, SqlRunner } from '../../src/db/database.ts'
import { type Bar, printBars } from './bars.ts'
import { withDatabase } from './database.ts'
import { readServerLoad } from './server-load.ts'

const SIZES = [10_000, 100_000, 1_000_000]
const PROJECTS = 10

const INSERT = (count: number) => `
  insert into keyword_watch (project, store, keyword, location_code, language_code)
  select 'project ' || n % ${PROJECTS}, 'ios_store', 'keyword ' || n, 2840, 'en'
    from generate_series(1, ${count}) n`

const STATEMENTS: readonly (readonly [what: string, text: (count: number) => string])[] = [
  ['insert', INSERT],
  ['watch_problem', () => 'select from watch_problem'],
  ['insert, all there', (count) => `${INSERT(count)} on conflict do nothing`],
  ['priority', () => 'update keyword_watch set priority = 2'],
  ['note', () => "update keyword_watch set note = 'why'"],
  ['disable', () => 'update keyword_watch set enabled = false'],
  ['enable', () => 'update keyword_watch set enabled = true'],
  ['delete', () => 'delete from keyword_watch'],
]

/** Returns the CPU of an inserted watch in µs. */
async function measure(db: Database, count: number): Promise<number> {
  let insertUs = 0
  // One session for all of a size: a person's.
  const sql = db.openSession(3_600_000)
  try {
    // A project without any app is a problem of its own.
    await sql`
      insert into app_watch (project, store, app_id)
      select 'project ' || n, 'ios_store', '1480010017' from generate_series(0, ${PROJECTS - 1}::int) n
        on conflict do nothing`
    for (const [what, text] of STATEMENTS) {
      const before = await readServerLoad(db)
      const from = performance.now()
      await sql.unsafe(text(count))
      const seconds = (performance.now() - from) / 1000
      const { cpuMs } = await readServerLoad(db)
      const rowUs = ((cpuMs - before.cpuMs) * 1000) / count
      if (what === 'insert') insertUs = rowUs
      process.stdout.write(
        `${String(count).padStart(9)} ${what.padEnd(18)} ${seconds.toFixed(2).padStart(8)} s ${`${rowUs.toFixed(0)} µs`.padStart(8)} of CPU a row ${await peakMemory(sql)}\n`,
      )
    }
    await sql`truncate watch_period, target cascade`
    return insertUs
  } finally {
    await sql.end()
  }
}

/**
 * What the process of the session took at most beside the memory that all share, where the server runs on
 * this machine.
 */
async function peakMemory(sql: SqlRunner): Promise<string> {
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const status = await readFile(`/proc/${row?.pid}/status`, 'utf8').catch(() => '')
  const kilobytes = Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN)
  return Number.isNaN(kilobytes) ? '' : `${(kilobytes / 1024).toFixed(0).padStart(5)} MiB`
}

const chosen = process.argv.slice(2).map(Number)
await withDatabase(async (db) => {
  const bars: Bar[] = []
  for (const size of chosen.length === 0 ? SIZES : chosen) {
    const value = await measure(db, size)
    bars.push({ what: `insert of a watch, of ${size.toLocaleString('en')}`, value, unit: 'µs', atMost: 60 })
  }
  printBars('CPU of PostgreSQL', bars)
})
