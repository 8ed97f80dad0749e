/**
 * A database to measure on: a distributed one on the cluster of TEST_CITUS_URL, or on the server of
 * TEST_DATABASE_URL, else on a temporary one, durable as in production.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { distribute, migrate } from '../../src/db/migrate.ts'
import { attachEmbedded } from '../../src/embedded/attach.ts'
import { openCluster } from '../../src/embedded/cluster.ts'
import { createCitusDatabase } from '../support/citus.ts'

const ENDS = ['SIGINT', 'SIGTERM'] as const
/** So that `readServerLoad` can count the statements. */
const SETTINGS = {
  shared_preload_libraries: 'pg_stat_statements',
  max_wal_size: '4GB',
}

/**
 * Nothing is left of the database when the work has ended, however it did: on SIGINT and SIGTERM it is broken
 * off.
 */
export async function withDatabase(work: (db: Database) => Promise<void>): Promise<void> {
  const { TEST_DATABASE_URL: givenUrl, TEST_CITUS_URL: citusUrl } = process.env
  const stopping = new AbortController()
  const stop = (signal: NodeJS.Signals) => stopping.abort(new Error(`The bench was ended by ${signal}.`))
  for (const signal of ENDS) process.once(signal, stop)
  const useUrl = async (url: string) => {
    stopping.signal.throwIfAborted()
    await migrate(url)
    const db = openDatabase(url)
    const broken = once(stopping.signal, 'abort').then(() => {
      throw stopping.signal.reason
    })
    await Promise.race([work(db), broken]).finally(() => db.close())
  }
  try {
    if (citusUrl !== undefined) await withCitus(useUrl)
    else await (givenUrl === undefined ? withServer(useUrl) : withGivenServer(givenUrl, useUrl))
  } finally {
    for (const signal of ENDS) process.off(signal, stop)
  }
}

async function withServer(work: (url: string) => Promise<void>): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'storerank-bench-'))
  await chmod(home, 0o755)
  const { folder } = await openCluster(home, SETTINGS)
  const server = await attachEmbedded({ home, database: 'storerank_bench' })
  try {
    await work(server.url)
  } finally {
    await server.dispose()
    await rm(folder, { recursive: true, force: true })
    await rm(home, { recursive: true, force: true })
  }
}

async function withGivenServer(serverUrl: string, work: (url: string) => Promise<void>): Promise<void> {
  const admin = postgres(serverUrl, { max: 1, onnotice: () => {} })
  const name = `storerank_bench_${randomBytes(4).toString('hex')}`
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  try {
    await admin`create database ${admin(name)}`
    await work(url.href)
  } finally {
    await admin`drop database if exists ${admin(name)} with (force)`
    await admin.end()
  }
}

async function withCitus(work: (url: string) => Promise<void>): Promise<void> {
  const database = await createCitusDatabase()
  try {
    await distribute(database.url)
    await work(database.url)
  } finally {
    await database.drop()
  }
}
