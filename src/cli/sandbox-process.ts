/**
 * The default sandbox: one detached process per home folder and account. The first command starts it, others
 * attach to it, and it ends by itself when no command has used it for a while. After it was killed the next
 * command starts another.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { extname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { UnavailableError } from '../errors.ts'
import { makeFolder } from '../make-folder.ts'
import type { OptionsInput } from '../sandbox/options.ts'
import { whyNot } from '../trouble.ts'

const LOGIN = 'sandbox'
const PASSWORD = 'sandbox'
/** Tried first, so that the address is usually the same; when it is in use, another one is taken. */
const USUAL_PORT = 7817
const IDLE_EXIT_MS = 600_000
/** When its command was killed. */
const PRIVATE_IDLE_EXIT_MS = 60_000
/** A slow machine needs two seconds from nothing. */
const START_WITHIN_MS = 30_000
const LOOK_EVERY_MS = 50
const PROBE_TIMEOUT_MS = 2000
/** Exit code of a sandbox that found the state file locked: another one is starting, running or ending. */
const EXIT_IN_USE = 75
const LOG_TAIL_CHARACTERS = 2000

/** The same suffix as this file: `.ts` in a checkout, `.js` in a package. */
const PROGRAM = fileURLToPath(
  new URL(`../sandbox/main${extname(fileURLToPath(import.meta.url))}`, import.meta.url),
)

/** What a sandbox writes into its announce file, and says of itself at `GET /`. */
const Announcement = z.object({ url: z.url(), instance: z.string(), pid: z.int() })
const Greeting = z.object({ instance: z.string() })

/** An attached sandbox. `dispose` lets go of it; it goes on for others, and leaves when it is idle. */
export type AttachedSandbox = { url: string; login: string; password: string; dispose(): Promise<void> }

/**
 * An account of the sandbox, by the files of it without their ending. That of the embedded database has no
 * name; each database of one's own has one by its installation, so that none sees what another one bought.
 */
type Books = string
const booksOf = (home: string, account: string | null): Books =>
  join(home, account === null ? 'sandbox' : `sandbox-${account}`)

const announceFile = (books: Books): string => `${books}.json`
const logFile = (books: Books): string => `${books}.log`

const readAnnouncement = (books: Books): z.output<typeof Announcement> | undefined => {
  try {
    return Announcement.parse(JSON.parse(readFileSync(announceFile(books), 'utf8')))
  } catch {
    return undefined
  }
}

/** The URL that this account announces, if that very sandbox answers: the port may be another's by now. */
const findRunning = async (books: Books): Promise<string | undefined> => {
  const announced = readAnnouncement(books)
  if (!announced) return undefined
  try {
    const response = await fetch(announced.url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) })
    const { instance } = Greeting.parse(await response.json())
    return instance === announced.instance ? announced.url : undefined
  } catch {
    return undefined
  }
}

/** @param options those of a sandbox and its process (src/sandbox/main.ts) */
const spawnSandbox = (books: Books, options: object): ChildProcess => {
  const log = openSync(logFile(books), 'a', 0o600)
  try {
    // Without our environment: it outlives us, and DATABASE_URL, POSTBACK_URL and the account are none of its
    // business.
    const child = spawn(process.execPath, [PROGRAM], { detached: true, env: {}, stdio: ['pipe', log, log] })
    // A child that dies before it reads is noticed by its exit code.
    child.stdin?.on('error', () => {})
    child.on('error', () => {})
    child.stdin?.end(
      JSON.stringify({ login: LOGIN, password: PASSWORD, announceFile: announceFile(books), ...options }),
    )
    child.unref()
    return child
  } finally {
    closeSync(log)
  }
}

/** The last error of its log, by its code where it has one. */
const explainFailure = (books: Books): UnavailableError => {
  const file = logFile(books)
  const said =
    readFileSync(file, 'utf8')
      .slice(-LOG_TAIL_CHARACTERS)
      .match(/^\w*Error: .*$/gm)
      ?.at(-1) ?? ''
  const [code] = /\bE[A-Z]{3,}\b/.exec(said) ?? []
  const why = whyNot(Object.assign(new Error(said.replace(/^\w*Error: |\.$/g, '')), { code }))
  const reason = said === '' ? 'it did not say why' : why
  return new UnavailableError(`The sandbox does not start: ${reason}. Its log: ${file}.`)
}

/** Starts sandboxes until one of them, of ours or of a neighbour who was faster, answers. */
const startOne = async (books: Books, idleExitMs: number): Promise<string> => {
  const deadlineMs = performance.now() + START_WITHIN_MS
  let child: ChildProcess | undefined
  while (performance.now() < deadlineMs) {
    const url = await findRunning(books)
    if (url) return url
    child ??= spawnSandbox(books, { port: USUAL_PORT, stateFile: `${books}.jsonl`, idleExitMs })
    await delay(LOOK_EVERY_MS)
    if (child.exitCode === EXIT_IN_USE) child = undefined
    else if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) {
      throw explainFailure(books)
    }
  }
  throw explainFailure(books)
}

/**
 * Attaches to the sandbox of a home folder, starting it when none runs, and keeps it from leaving until
 * `dispose`. `idleExitMs` is how long it stays after its last request. Throws UnavailableError with the
 * reason when it does not start.
 */
export const attachSandbox = async ({
  home,
  account = null,
  idleExitMs = IDLE_EXIT_MS,
  onStart = () => {},
}: {
  home: string
  /** Null: that of the embedded database. */
  account?: string | null
  idleExitMs?: number
  /** Called when none runs, so that one is started, which takes a second or two. */
  onStart?: () => void
}): Promise<AttachedSandbox> => {
  const folder = resolve(home)
  await makeFolder(folder)
  const books = booksOf(folder, account)
  const running = await findRunning(books)
  if (running === undefined) onStart()
  const url = running ?? (await startOne(books, idleExitMs))
  const presence = setInterval(() => void findRunning(books), idleExitMs / 3)
  presence.unref()
  return { url, login: LOGIN, password: PASSWORD, dispose: async () => clearInterval(presence) }
}

/**
 * Starts a sandbox of its own, which no other command shares, and which keeps its account in memory. It ends
 * with `dispose`, or by itself when nothing was asked of it for a while. Throws UnavailableError with the
 * reason when it does not start.
 */
export const startPrivateSandbox = async (home: string, options: OptionsInput): Promise<AttachedSandbox> => {
  const books = booksOf(home, null)
  const child = spawnSandbox(books, { ...options, idleExitMs: PRIVATE_IDLE_EXIT_MS })
  const ended = once(child, 'close')
  const deadlineMs = performance.now() + START_WITHIN_MS
  const dispose = async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(announceFile(books), { force: true })
  }
  while (performance.now() < deadlineMs && child.exitCode === null && child.signalCode === null) {
    const url = readAnnouncement(books)?.pid === child.pid ? await findRunning(books) : undefined
    if (url) return { url, login: LOGIN, password: PASSWORD, dispose }
    await delay(LOOK_EVERY_MS)
  }
  child.kill('SIGKILL')
  throw explainFailure(books)
}
