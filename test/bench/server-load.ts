/** What a PostgreSQL on this machine has used: CPU of all its processes, and statements. Linux only. */
import { readdir, readFile } from 'node:fs/promises'
import type { Database } from '../../src/db/database.ts'
import { oneRow } from '../../src/db/one-row.ts'

export interface ServerLoad {
  /** Of all processes of the server, those that have ended included. */
  readonly cpuMs: number
  /** Of this database, BEGIN and COMMIT included; NaN where pg_stat_statements is not loaded. */
  readonly statements: number
  readonly tempBytes: number
}

/** Linux counts the CPU of a process in hundredths of a second. */
const TICK_MS = 10

/** Reads it now; differences of two readings are what was used between them. */
export async function readServerLoad(db: Database): Promise<ServerLoad> {
  const row = oneRow(
    await db.sql<{ pid: number; isCounted: boolean; tempBytes: number }[]>`
    select pg_backend_pid() as pid,
      current_setting('shared_preload_libraries') like '%pg_stat_statements%' as "isCounted",
      (select temp_bytes from pg_stat_database where datname = current_database()) as "tempBytes"`,
  )
  const statements = row.isCounted ? await countStatements(db) : Number.NaN
  return { cpuMs: await readCpuMs(row.pid), statements, tempBytes: row.tempBytes }
}

/** What a piece of work takes: of the server, of this process, and of the clock. */
export interface Cost extends ServerLoad {
  readonly nodeMs: number
  readonly seconds: number
}

export async function measureCost(db: Database, work: () => Promise<unknown>): Promise<Cost> {
  const before = await readServerLoad(db)
  const cpu = process.cpuUsage()
  const startedMs = performance.now()
  await work()
  const seconds = (performance.now() - startedMs) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const after = await readServerLoad(db)
  return {
    seconds,
    nodeMs: (user + system) / 1000,
    cpuMs: after.cpuMs - before.cpuMs,
    statements: after.statements - before.statements,
    tempBytes: after.tempBytes - before.tempBytes,
  }
}

async function countStatements(db: Database): Promise<number> {
  await db.sql`create extension if not exists pg_stat_statements schema public`
  const [row] = await db.sql<{ calls: number }[]>`
    select coalesce(sum(calls), 0)::bigint as calls from pg_stat_statements
    where dbid = (select oid from pg_database where datname = current_database())`
  return row?.calls ?? 0
}

/**
 * Fields of /proc/<pid>/stat behind the name: [1] is the parent, [11] to [14] are user and system time, own
 * and of ended children.
 */
async function readStat(pid: number | string): Promise<string[]> {
  return (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ').at(-1)?.split(' ') ?? []
}

const ticks = (stat: readonly string[], from: number) => Number(stat[from]) + Number(stat[from + 1])

/** CPU that a process has used. */
export async function readProcessCpuMs(pid: number): Promise<number> {
  return ticks(await readStat(pid), 11) * TICK_MS
}

/** CPU of a session's process, which Linux counts in nanoseconds; NaN where it is not on this machine. */
export async function readSessionCpuMs(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => 'NaN')
  return Number(text.split(' ')[0]) / 1_000_000
}

/** The postmaster, its living children and those that have ended. */
async function readCpuMs(backend: number): Promise<number> {
  const postmaster = (await readStat(backend))[1] ?? ''
  const own = await readStat(postmaster)
  let total = ticks(own, 11) + ticks(own, 13)
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    // One that has ended meanwhile counts from the next reading on, by its parent.
    const stat = await readStat(name).catch(() => [])
    if (stat[1] === postmaster) total += ticks(stat, 11)
  }
  return total * TICK_MS
}
