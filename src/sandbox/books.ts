/**
 * The account's books: an append-only file of JSON lines, one writer at a time. A last line torn by a crash
 * is cut off, because its call was never answered.
 */

import { appendFileSync, closeSync, existsSync, ftruncateSync, openSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Priority, Store, TaskFunction } from './offers.ts'

/** The webhooks of a task, named as the parameters that ask for them. */
export const HOOKS = ['pingback_url', 'postback_url'] as const
export type Hook = (typeof HOOKS)[number]

/** A webhook that did not arrive; `httpCode` is 0 when nothing was answered. */
export type DeliveryFailure = {
  atMs: number
  url: string
  httpCode: number
  httpTimeMs: number
  response: string
  message: string
}

/**
 * A task as it was posted; `parameters` are those of the request, untouched. What it will find is known by
 * then, because rankings are a function of the day: `results`, `refundMicros` and `failure` count from
 * `doneAtMs` on.
 */
export type PostedTask = {
  id: string
  store: Store
  /** The search in listings is no task, but is charged and listed as one that is done at once. */
  function: TaskFunction | 'app_listings'
  subject: string
  category?: string | undefined
  ageRating?: string | undefined
  sortBy?: string | undefined
  rating?: number | undefined
  locationCode: number
  languageCode: string
  depth: number
  priority: Priority
  postedAtMs: number
  doneAtMs: number
  costMicros: number
  results: number
  refundMicros: number
  failure?: 40101 | 40103 | 40501
  /** A failure that no envelope counts as an error. */
  isSilent?: boolean
  parameters: Record<string, unknown>
}

/**
 * One line. The tasks of one POST share a line, so that a torn one loses all of them or none; `login` has
 * posted them. `sent` is the end of a webhook, with its failure if it failed; `resent` makes a task's
 * webhooks due again.
 */
export type Entry =
  | { kind: 'posted'; login: string; tasks: readonly PostedTask[] }
  | { kind: 'fetched'; id: string }
  | { kind: 'sent'; id: string; hook: Hook; failure?: DeliveryFailure }
  | { kind: 'resent'; id: string }

export type Books = ReturnType<typeof openBooks>

/** Another process has the state file. */
export class StateInUseError extends Error {}

/** SQLite's result code for a lock that another process holds. */
const SQLITE_BUSY = 5

/** Takes a lock that the operating system drops with its process: SQLite's. Returns what gives it back. */
const takeLock = (file: string): (() => void) => {
  let database: DatabaseSync
  try {
    database = new DatabaseSync(file, { timeout: 0 })
  } catch (cause) {
    const why = 'its folder has to be there, and writable for us'
    throw new Error(`${file} cannot be opened: ${why}.`, { cause })
  }
  try {
    database.exec('pragma journal_mode = memory; begin exclusive')
  } catch (cause) {
    database.close()
    if ((cause as { errcode?: number }).errcode !== SQLITE_BUSY) throw cause
    throw new StateInUseError(`Another sandbox is using ${file}.`, { cause })
  }
  return () => database.close()
}

/** Replays the entries, and returns the length of the file without a torn end. */
const replayFile = (file: string, replay: (entry: Entry) => void): number => {
  const bytes = readFileSync(file)
  let start = 0
  for (let end = bytes.indexOf('\n'); end !== -1; end = bytes.indexOf('\n', start)) {
    let entry: Entry
    try {
      entry = JSON.parse(bytes.toString('utf8', start, end))
    } catch (cause) {
      throw new Error(`${file} is damaged at byte ${start}: mend or remove it.`, { cause })
    }
    replay(entry)
    start = end + 1
  }
  return start
}

/**
 * Opens the books, after giving every entry of the file to `replay`; without a file they are forgotten with
 * the process. Throws StateInUseError when they are open elsewhere, and on a bad line in the middle.
 */
export const openBooks = (file: string | undefined, replay: (entry: Entry) => void) => {
  if (file === undefined) return { append: (_entry: Entry) => {}, close: () => {} }
  const unlock = takeLock(`${file}.lock`)
  const length = existsSync(file) ? replayFile(file, replay) : 0
  const descriptor = openSync(file, 'a', 0o600)
  ftruncateSync(descriptor, length)
  return {
    /** Adds an entry to the file; returns when the operating system has it. */
    append: (entry: Entry) => appendFileSync(descriptor, `${JSON.stringify(entry)}\n`),
    close: () => {
      closeSync(descriptor)
      unlock()
    },
  }
}
