/** Copies of a database, as a backup or the server makes them. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from './database.ts'

const execute = promisify(execFile)

/** The folder of the programs of this server's own version; null where they are not installed. */
export async function findPrograms({ sql }: TestDatabase): Promise<string | null> {
  const [row] = await sql<
    { major: number }[]
  >`select current_setting('server_version_num')::int / 10000 as major`
  const folder = `/usr/lib/postgresql/${row?.major}/bin`
  return existsSync(join(folder, 'pg_dump')) ? folder : null
}

/**
 * A backup that is restored at once: by pg_dump and psql where they are of the server's version, else as a
 * copy within the server.
 */
export async function restoreCopy(original: TestDatabase): Promise<TestDatabase> {
  const programs = await findPrograms(original)
  if (programs === null) return cloneDatabase(original)
  const target = await createEmptyDatabase()
  const file = join(await mkdtemp(join(tmpdir(), 'backup-')), 'backup.sql')
  await execute(join(programs, 'pg_dump'), ['--dbname', original.url, '--no-owner', '--file', file])
  await execute(join(programs, 'psql'), [
    '--quiet',
    '--dbname',
    target.url,
    '--set',
    'ON_ERROR_STOP=1',
    '--file',
    file,
  ])
  await rm(dirname(file), { recursive: true })
  return target
}

/** A copy that the server makes of another database of its own. */
async function cloneDatabase(original: TestDatabase): Promise<TestDatabase> {
  const target = await createTestDatabase()
  const nameOf = (database: TestDatabase) => new URL(database.url).pathname.slice(1)
  const admin = postgres(process.env.TEST_DATABASE_URL ?? '', { max: 1, onnotice: () => undefined })
  try {
    const [from, to] = [nameOf(original), nameOf(target)]
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname in ${admin([from, to])}`
    await admin`drop database ${admin(to)} with (force)`
    await admin`create database ${admin(to)} template ${admin(from)}`
  } finally {
    await admin.end()
  }
  return target
}
