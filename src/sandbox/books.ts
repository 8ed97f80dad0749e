/**
 * The account's books: an append-only file of JSON lines, one writer at a time. What was flushed survives the
 * process; a last line torn by a crash is cut off, because its call was never answered.
 */

import { closeSync, existsSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { takeLock } from './lock.ts'
import type { Store, TaskFunction } from './offers.ts'

/**
 * The webhooks of a task, named as the parameters that ask for them and as the failed-task list names them.
 */
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
  priority: 1 | 2
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

export type Books = {
  /**
   * Adds an entry, which reaches the file with the next flush, at the latest when the current work yields.
   */
  append(entry: Entry): void
  /** Puts everything appended into the file; returns when the operating system has it. */
  flush(): void
  close(): void
}

const NEWLINE = 10

/**
 * Replays the entries, and returns the length of the file without a torn end. Throws on a bad line in the
 * middle.
 */
const replayFile = (file: string, replay: (entry: Entry) => void): number => {
  const bytes = readFileSync(file)
  let start = 0
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
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
 * Opens the books in a file, after giving every entry to `replay`. Throws StateInUseError when they are open
 * elsewhere.
 */
const openFile = (file: string, replay: (entry: Entry) => void): Books => {
  const unlock = takeLock(`${file}.lock`)
  const length = existsSync(file) ? replayFile(file, replay) : 0
  const descriptor = openSync(file, 'a', 0o600)
  ftruncateSync(descriptor, length)
  let pending: string[] = []
  const flush = () => {
    if (pending.length === 0) return
    const bytes = Buffer.from(pending.join(''))
    pending = []
    for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written)
  }
  return {
    append: (entry) => {
      if (pending.length === 0) setImmediate(flush)
      pending.push(`${JSON.stringify(entry)}\n`)
    },
    flush,
    close: () => {
      flush()
      closeSync(descriptor)
      unlock()
    },
  }
}

const inMemory: Books = { append: () => {}, flush: () => {}, close: () => {} }

/** Opens the books; without a file they are forgotten with the process. */
export const openBooks = (file: string | undefined, replay: (entry: Entry) => void): Books =>
  file === undefined ? inMemory : openFile(file, replay)
