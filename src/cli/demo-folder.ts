/**
 * The folder of a demo: an embedded server of its own. A demo is made in a draft database, which takes the
 * place of the last one when it is whole; one that is interrupted leaves nothing behind.
 */
import { existsSync, readdirSync } from 'node:fs'
import { realpath, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { SqlRunner } from '../db/database.ts'
import { openSession } from '../db/session.ts'
import { sql } from '../db/sql.ts'
import { attachEmbedded } from '../embedded/attach.ts'
import { ConfigurationError } from '../errors.ts'
import { makeFolder } from '../make-folder.ts'
import { whyNot } from '../trouble.ts'
import { SANDBOX_DATABASE } from './database-session.ts'

/** Only a folder with this file is taken for the folder of a demo. */
const MARKER = 'demo.json'
const DRAFT_DATABASE = 'storerank_draft'
const [DRAFT, LAST] = [sql.identifier(DRAFT_DATABASE), sql.identifier(SANDBOX_DATABASE)]

/**
 * Makes a demo.
 * @param make gets the URL of the draft, which is empty and not migrated, and whether an earlier demo was
 *   interrupted here, of which nothing is left; no session may use the draft when it has ended
 */
export async function makeInFolder<Result>(
  folder: string,
  make: (url: string, wasInterrupted: boolean) => Promise<Result>,
): Promise<Result> {
  const isNew = await claim(folder)
  let isFinished = false
  try {
    const server = await attachEmbedded({ home: folder, database: 'postgres' })
    const session = openSession(server.url, { name: 'storerank demo' })
    try {
      await requireFree(session, folder)
      const wasInterrupted = await dropDraft(session)
      await session`create database ${DRAFT}`
      const url = new URL(server.url)
      url.pathname = `/${DRAFT_DATABASE}`
      try {
        const result = await make(url.href, wasInterrupted)
        await requireUnused(session, folder)
        await session`drop database if exists ${LAST}`
        await session`alter database ${DRAFT} rename to ${LAST}`
        isFinished = true
        return result
      } finally {
        if (!isFinished) await dropDraft(session).catch(() => {})
      }
    } finally {
      await session.end()
      await server.dispose()
    }
  } finally {
    if (isNew && !isFinished) await removeFolder(folder).catch(() => {})
  }
}

/** Makes the folder, and says whether that is new. */
async function claim(folder: string): Promise<boolean> {
  try {
    const entries = existsSync(folder) ? readdirSync(folder) : []
    if (entries.length > 0 && !entries.includes(MARKER))
      throw new ConfigurationError(
        `${show(folder)} holds something else than a demo, which is left alone: give an empty folder, or ` +
          'one that is not there yet, with --folder.',
      )
    await makeFolder(folder)
    await writeFile(join(folder, MARKER), `${JSON.stringify({ is: 'a demo of storerank' })}\n`)
    return entries.length === 0
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof ConfigurationError || code === undefined) throw error
    throw new ConfigurationError(
      `${show(folder)} cannot be the folder of a demo: ${whyNot(error)}. Give another one with --folder.`,
      { cause: error },
    )
  }
}

/** The lock lasts as long as the session. */
async function requireFree(session: SqlRunner, folder: string): Promise<void> {
  const [lock] = await session<{ isOurs: boolean }[]>`
    select pg_try_advisory_lock(hashtext('storerank'), hashtext('demo')) as "isOurs"`
  if (!lock?.isOurs)
    throw new ConfigurationError(
      `Another demo is being made in ${show(folder)}: wait for it, or give another folder with --folder.`,
    )
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
async function dropDraft(session: SqlRunner): Promise<boolean> {
  const there = await session`select from pg_database where datname = ${DRAFT_DATABASE}`
  if (there.length > 0) await session`drop database if exists ${DRAFT} with (force)`
  return there.length > 0
}

/** For root the server may live elsewhere, behind a link. */
async function removeFolder(folder: string): Promise<void> {
  const cluster = await realpath(join(folder, 'postgres')).catch(() => folder)
  for (const path of [cluster, folder]) await rm(path, { recursive: true, force: true, maxRetries: 5 })
}

/** As short as a person would type it. */
export function show(path: string): string {
  const near = relative(process.cwd(), path)
  return near === '' || near.startsWith('..') || near.length + 1 === path.length ? path : near
}
