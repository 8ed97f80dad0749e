/**
 * The folder of a demo: an embedded server of its own. A demo is made in a draft database, which takes the
 * place of the last one when it is whole; one that is interrupted leaves nothing behind.
 */
import { existsSync, readdirSync } from 'node:fs'
import { realpath, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { openDatabase, type SqlRunner } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import { attachEmbedded, type EmbeddedServer } from '../embedded/attach.ts'
import { ConfigurationError } from '../errors.ts'
import { makeFolder } from '../make-folder.ts'
import { whyNot } from '../trouble.ts'
import { SANDBOX_DATABASE } from './database-session.ts'

export interface DemoFolder {
  readonly folder: string
  /** The draft: empty, not migrated. */
  readonly url: string
  /** Whether an earlier demo was interrupted here, and what it had left is removed. */
  readonly wasInterrupted: boolean
  /** The draft becomes the demo. No session may use either. */
  finish(): Promise<void>
  /** Leaves the folder and removes what was not finished, with the folder if it was new. Never throws. */
  close(): Promise<void>
}

/** Only a folder with this file is taken for the folder of a demo. */
const MARKER = 'demo.json'
const DRAFT_DATABASE = 'storerank_draft'
const IDLE_MS = 3_600_000

/**
 * @throws ConfigurationError when the folder cannot be written or holds something else than a demo, another
 *   demo is made in it, or somebody uses its database
 */
export async function openDemoFolder(folder: string): Promise<DemoFolder> {
  const isNew = await claim(folder)
  let server: EmbeddedServer | undefined
  const remove = async (drop: boolean) => {
    await server?.dispose()
    if (drop) await removeFolder(folder)
  }
  try {
    server = await attachEmbedded({ home: folder, database: 'postgres' })
    return await openDraft(folder, server, (isFinished) => remove(isNew && !isFinished))
  } catch (error) {
    await remove(isNew)
    throw error
  }
}

/** Makes the folder, and says whether that is new. */
async function claim(folder: string): Promise<boolean> {
  try {
    const isNew = requireOwn(folder)
    await makeFolder(folder)
    await writeFile(join(folder, MARKER), `${JSON.stringify({ is: 'a demo of storerank' })}\n`)
    return isNew
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof ConfigurationError || code === undefined) throw error
    throw new ConfigurationError(
      `${show(folder)} cannot be the folder of a demo: ${whyNot(error)}. Give another one with --folder.`,
      { cause: error },
    )
  }
}

/** Whether the folder has yet to be made. */
function requireOwn(folder: string): boolean {
  const entries = existsSync(folder) ? readdirSync(folder) : []
  if (entries.length === 0) return true
  if (entries.includes(MARKER)) return false
  throw new ConfigurationError(
    `${show(folder)} holds something else than a demo, which is left alone: give an empty folder, or ` +
      'one that is not there yet, with --folder.',
  )
}

async function openDraft(
  folder: string,
  server: EmbeddedServer,
  leave: (isFinished: boolean) => Promise<void>,
): Promise<DemoFolder> {
  const admin = openDatabase(server.url, { name: 'storerank demo', maxConnections: 1 })
  const session = admin.openSession(IDLE_MS)
  let isFinished = false
  const close = async () => {
    if (!isFinished) await dropDatabase(session, DRAFT_DATABASE).catch(() => {})
    await session.end()
    await admin.close()
  }
  try {
    await requireFree(session, folder)
    const wasInterrupted = await dropDatabase(session, DRAFT_DATABASE)
    await session`create database ${sql.identifier(DRAFT_DATABASE)}`
    const url = new URL(server.url)
    url.pathname = `/${DRAFT_DATABASE}`
    return {
      folder,
      url: url.href,
      wasInterrupted,
      finish: async () => {
        await requireUnused(session, folder)
        const last = sql.identifier(SANDBOX_DATABASE)
        await session`drop database if exists ${last}`
        await session`alter database ${sql.identifier(DRAFT_DATABASE)} rename to ${last}`
        isFinished = true
      },
      close: async () => {
        await close().catch(() => {})
        await leave(isFinished).catch(() => {})
      },
    }
  } catch (error) {
    await session.end()
    await admin.close()
    throw error
  }
}

/** The lock lasts as long as the session. */
async function requireFree(session: SqlRunner, folder: string): Promise<void> {
  const [lock] = await session<{ isOurs: boolean }[]>`
    select pg_try_advisory_lock(hashtext('storerank'), hashtext('demo')) as "isOurs"`
  if (!lock?.isOurs) {
    throw new ConfigurationError(
      `Another demo is being made in ${show(folder)}: wait for it, or give another folder with --folder.`,
    )
  }
  await requireUnused(session, folder)
}

async function requireUnused(session: SqlRunner, folder: string): Promise<void> {
  const users = await session<{ name: string }[]>`
    select distinct coalesce(nullif(application_name, ''), 'a program without a name') as name
      from pg_stat_activity
    where datname = ${SANDBOX_DATABASE} and pid <> pg_backend_pid() and backend_type = 'client backend'`
  if (users.length === 0) return
  const names = users.map(({ name }) => name).join(', ')
  throw new ConfigurationError(
    `The demo in ${show(folder)} is in use by ${names}: end that, or give another folder with --folder.`,
  )
}

/** Whether it was there. */
async function dropDatabase(session: SqlRunner, name: string): Promise<boolean> {
  const there = await session`select from pg_database where datname = ${name}`
  if (there.length > 0) await session`drop database if exists ${sql.identifier(name)} with (force)`
  return there.length > 0
}

/** For root the server may live elsewhere, behind a link. */
async function removeFolder(folder: string): Promise<void> {
  const cluster = await realpath(join(folder, 'postgres')).catch(() => null)
  for (const path of [cluster, folder]) {
    if (path !== null) await rm(path, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** As short as a person would type it. */
export function show(path: string): string {
  const near = relative(process.cwd(), path)
  return near === '' || near.startsWith('..') || near.length + 1 === path.length ? path : near
}
