/** What a PostgreSQL on this machine has used: CPU of all its processes, and statements. Linux only. */
import { readdir, readFile } from 'node:fs/promises'
import type { Database } from '../../src/db/database.ts'

export interface ServerLoad {
  /** Of all processes of the server, those that have ended included. */
  readonly cpuMs: number
  /** Of this database, BEGIN and COMMIT included; null where pg_stat_statements is not loaded. */
  readonly statements: number | null
  readonly tempBytes: number
}

/** Linux counts the CPU of a process in hundredths of a second. */
const TICK_MS = 10
const PAGE_BYTES = 4096

/** Reads it now; differences of two readings are what was used between them. */
export async function readServerLoad(db: Database): Promise<ServerLoad> {
  const [row] = await db.sql<{ pid: number; isCounted: boolean; tempBytes: number }[]>`
    select pg_backend_pid() as pid,
      current_setting('shared_preload_libraries') like '%pg_stat_statements%' as "isCounted",
      (select temp_bytes from pg_stat_database where datname = current_database()) as "tempBytes"`
  if (row === undefined) throw new Error('A select without a table returned no row.')
  const statements = row.isCounted ? await countStatements(db) : null
  return { cpuMs: await readCpuMs(row.pid), statements, tempBytes: row.tempBytes }
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
async function readStat(pid: number): Promise<string[]> {
  return (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ').at(-1)?.split(' ') ?? []
}

const ticks = (stat: readonly string[], from: number) => Number(stat[from]) + Number(stat[from + 1])

/** CPU that processes have used, those of them that have ended left out. */
export async function readProcessCpuMs(pids: readonly number[]): Promise<number> {
  let total = 0
  for (const pid of pids) total += ticks(await readStat(pid), 11)
  return total * TICK_MS
}

/** The memory of a process that is resident now. */
export async function readRssBytes(pid: number): Promise<number> {
  const [, pages = '0'] = (await readFile(`/proc/${pid}/statm`, 'utf8')).split(' ')
  return Number(pages) * PAGE_BYTES
}

/** The postmaster, and those of all its processes that live. */
export async function listServerPids(db: Database): Promise<readonly [number, ...number[]]> {
  const [row] = await db.sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  return listPidsOf(row?.pid ?? 0)
}

async function listPidsOf(backend: number): Promise<[number, ...number[]]> {
  const postmaster = Number((await readStat(backend))[1])
  const children: number[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = await readStat(Number(name)).catch(() => [])
    if (Number(stat[1]) === postmaster) children.push(Number(name))
  }
  return [postmaster, ...children]
}

async function readCpuMs(backend: number): Promise<number> {
  const [postmaster, ...children] = await listPidsOf(backend)
  const own = await readStat(postmaster)
  let total = ticks(own, 11) + ticks(own, 13)
  for (const pid of children) {
    // One that has ended meanwhile counts from the next reading on, by its parent.
    const stat = await readStat(pid).catch(() => null)
    if (stat !== null) total += ticks(stat, 11)
  }
  return total * TICK_MS
}
