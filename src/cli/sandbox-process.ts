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

const LOGIN = { login: 'sandbox', password: 'sandbox' }
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
const PROGRAM = fileURLToPath(new URL(`../sandbox/main${extname(import.meta.filename)}`, import.meta.url))

/** What a sandbox writes into its announce file, and says of itself at `GET /`. */
const Announcement = z.object({ url: z.url(), instance: z.string(), pid: z.int() })

/** An attached sandbox. `dispose` lets go of it; it goes on for others, and leaves when it is idle. */
type AttachedSandbox = { url: string; login: string; password: string; dispose(): Promise<void> }

/**
 * The files of an account of the sandbox, without their ending. That of the embedded database has no name;
 * each database of one's own has one by its installation, so that none sees what another one bought.
 */
function filesOf(home: string, account: string | null): string {
  return join(home, account === null ? 'sandbox' : `sandbox-${account}`)
}

/**
 * The URL that this account announces, if that very sandbox answers: the port may be another's by now.
 * @param pid of the process that has to be it
 */
async function findRunning(files: string, pid?: number): Promise<string | undefined> {
  try {
    const announced = Announcement.parse(JSON.parse(readFileSync(`${files}.json`, 'utf8')))
    if (pid !== undefined && announced.pid !== pid) return undefined
    const response = await fetch(announced.url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) })
    const { instance } = Announcement.pick({ instance: true }).parse(await response.json())
    return instance === announced.instance ? announced.url : undefined
  } catch {
    return undefined
  }
}

/** @param options those of a sandbox and its process (src/sandbox/main.ts) */
function spawnSandbox(files: string, options: object): ChildProcess {
  const log = openSync(`${files}.log`, 'a', 0o600)
  try {
    // Without our environment: it outlives us, and DATABASE_URL, POSTBACK_URL and the account are none of its
    // business.
    const child = spawn(process.execPath, [PROGRAM], { detached: true, env: {}, stdio: ['pipe', log, log] })
    // A child that dies before it reads is noticed by its exit code.
    child.stdin?.on('error', () => {})
    child.on('error', () => {})
    child.stdin?.end(JSON.stringify({ ...LOGIN, announceFile: `${files}.json`, ...options }))
    child.unref()
    return child
  } finally {
    closeSync(log)
  }
}

/** The last error of its log, by its code where it has one. */
function explainFailure(files: string): UnavailableError {
  const tail = readFileSync(`${files}.log`, 'utf8').slice(-LOG_TAIL_CHARACTERS)
  const said = tail.match(/^\w*Error: .*$/gm)?.at(-1) ?? ''
  const [code] = /\bE[A-Z]{3,}\b/.exec(said) ?? []
  const why = whyNot(Object.assign(new Error(said.replace(/^\w*Error: |\.$/g, '')), { code }))
  const reason = said === '' ? 'it did not say why' : why
  return new UnavailableError(`The sandbox does not start: ${reason}. Its log: ${files}.log.`)
}

function hasEnded({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null
}

/** Starts sandboxes until one of them, of ours or of a neighbour who was faster, answers. */
async function startOne(files: string, idleExitMs: number): Promise<string> {
  const deadlineMs = performance.now() + START_WITHIN_MS
  let child: ChildProcess | undefined
  while (performance.now() < deadlineMs) {
    const url = await findRunning(files)
    if (url) return url
    child ??= spawnSandbox(files, { port: USUAL_PORT, stateFile: `${files}.jsonl`, idleExitMs })
    await delay(LOOK_EVERY_MS)
    if (child.exitCode === EXIT_IN_USE) child = undefined
    else if (hasEnded(child)) break
  }
  throw explainFailure(files)
}

/**
 * Attaches to the sandbox of a home folder, starting it when none runs, and keeps it from leaving until
 * `dispose`.
 * @param options.account null: that of the embedded database
 * @param options.idleExitMs how long it stays after its last request
 * @param options.onStart called when none runs, so that one is started, which takes a second or two
 * @throws UnavailableError with the reason when it does not start
 */
export async function attachSandbox({
  home,
  account = null,
  idleExitMs = IDLE_EXIT_MS,
  onStart = () => {},
}: {
  home: string
  account?: string | null
  idleExitMs?: number
  onStart?: () => void
}): Promise<AttachedSandbox> {
  const folder = resolve(home)
  await makeFolder(folder)
  const files = filesOf(folder, account)
  const running = await findRunning(files)
  if (running === undefined) onStart()
  const url = running ?? (await startOne(files, idleExitMs))
  const presence = setInterval(() => void findRunning(files), idleExitMs / 3).unref()
  return { url, ...LOGIN, dispose: async () => clearInterval(presence) }
}

/**
 * Starts a sandbox of its own, which no other command shares, and which keeps its account in memory. It ends
 * with `dispose`, or by itself when nothing was asked of it for a while.
 * @throws UnavailableError with the reason when it does not start
 */
export async function startPrivateSandbox(home: string, options: OptionsInput): Promise<AttachedSandbox> {
  const files = filesOf(home, null)
  const child = spawnSandbox(files, { ...options, idleExitMs: PRIVATE_IDLE_EXIT_MS })
  const ended = once(child, 'close')
  const deadlineMs = performance.now() + START_WITHIN_MS
  const dispose = async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(`${files}.json`, { force: true })
  }
  while (performance.now() < deadlineMs && !hasEnded(child)) {
    const url = await findRunning(files, child.pid)
    if (url) return { url, ...LOGIN, dispose }
    await delay(LOOK_EVERY_MS)
  }
  child.kill('SIGKILL')
  throw explainFailure(files)
}
