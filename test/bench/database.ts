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

/** So that `readServerLoad` can count the statements. */
const SETTINGS = { shared_preload_libraries: 'pg_stat_statements', max_wal_size: '4GB' }

const ended = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => ended.abort(new Error(`The bench was ended by ${signal}.`)))

/** Whether SIGINT or SIGTERM came. */
export const isEnded = () => ended.signal.aborted

interface Place {
  readonly url: string
  remove(): Promise<unknown>
}

/** Nothing is left of the database when the work has ended, however it did: a signal breaks it off. */
export async function withDatabase<Result>(work: (db: Database) => Promise<Result>): Promise<Result> {
  const place = await makePlace()
  try {
    ended.signal.throwIfAborted()
    await migrate(place.url)
    const db = openDatabase(place.url)
    const broken = once(ended.signal, 'abort').then(() => Promise.reject(ended.signal.reason))
    return await Promise.race([work(db), broken]).finally(() => db.close())
  } finally {
    await place.remove()
  }
}

async function makePlace(): Promise<Place> {
  if (process.env.TEST_CITUS_URL !== undefined) {
    const { url, drop } = await createCitusDatabase()
    await distribute(url)
    return { url, remove: drop }
  }
  const { TEST_DATABASE_URL: serverUrl } = process.env
  return serverUrl === undefined ? startServer() : createDatabase(serverUrl)
}

async function startServer(): Promise<Place> {
  const home = await mkdtemp(join(tmpdir(), 'storerank-bench-'))
  await chmod(home, 0o755)
  const { folder } = await openCluster(home, SETTINGS)
  const server = await attachEmbedded({ home, database: 'storerank_bench' })
  const remove = async () => {
    await server.dispose()
    await rm(folder, { recursive: true, force: true })
    await rm(home, { recursive: true, force: true })
  }
  return { url: server.url, remove }
}

async function createDatabase(serverUrl: string): Promise<Place> {
  const admin = postgres(serverUrl, { max: 1, onnotice: () => {} })
  const name = `storerank_bench_${randomBytes(4).toString('hex')}`
  await admin.unsafe(`create database ${name}`)
  const remove = async () => {
    await admin.unsafe(`drop database if exists ${name} with (force)`)
    await admin.end()
  }
  return { url: Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href, remove }
}
