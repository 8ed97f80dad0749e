/**
 * The gate through which a runner's client makes its free calls. All calls of the runner ask the window in
 * common turns: one statement ends the calls that are over and takes permits for those that wait, in the
 * order in which they came. So a call costs a fraction of a statement and of a commit, and a runner waits
 * once at the lock of the window.
 */
import pLimit from 'p-limit'
import type { CallGate, CallKind, CallOutcome, CallPermit } from '../service/transport.ts'
import {
  type Call,
  type CallWindowOptions,
  type EndedCall,
  LONGEST_SLEEP_MS,
  type PermitsAnswer,
  PLACE_WAIT_MS,
  permitValidMs,
  startBefore,
  takePermits,
  waitForPermit,
} from './call-window.ts'
import type { Database } from './database.ts'

/** Kinds with a limit of their own: a call that waits for it must not keep others waiting. */
const LIMITED_KINDS: ReadonlySet<CallKind> = new Set(['tasks_ready', 'id_list', 'status'])
/** How long a call waits for others to ask with, while some are in flight. */
const BATCH_WAIT_MS = 60
/** So large a share of the calls that may be in flight is enough to ask for: the others go on meanwhile. */
const FULL_BATCH_SHARE = 4 / 5
/** Where very many may be in flight, so many are enough. */
const FULL_BATCH_CALLS = 24
/**
 * The window opens for one call after the other. So long it opens for several, which ask together: 0.1 % of
 * its 60.5 s.
 */
const WINDOW_PAUSE_MS = 60
/** How long the end of a call may go unwritten, when no other call asks. */
const END_PAUSE_MS = 80

/** @param signal stops the gate: what waits is rejected with its reason, and no permit is taken any more */
export function createCallGate(db: Database, options: CallWindowOptions, signal: AbortSignal): CallGate {
  // They share a connection, and a permit's time counts from when its question is sent.
  const oneByOne = pLimit(1)
  const askWindow: AskWindow = (calls, ended) =>
    oneByOne(async () => {
      const askedMs = performance.now()
      const validMs = permitValidMs(db)
      const answer = await takePermits(db.permits, calls, ended, options, validMs)
      const startBeforeMs = startBefore(askedMs, performance.now(), answer.givenAfterMs, validMs)
      return { ...answer, startBeforeMs }
    })
  const turns = new PermitBatcher(askWindow, options, signal)
  const askAlone = async (call: Call): Promise<CallPermit> => {
    for (;;) {
      signal.throwIfAborted()
      const { callIds, waitMs, startBeforeMs } = await askWindow([call], [])
      const [callId] = callIds
      if (callId !== undefined) return turns.permitOf(callId, startBeforeMs)
      await waitForPermit(waitMs ?? LONGEST_SLEEP_MS, signal)
    }
  }
  return {
    open: (kind, path) => (LIMITED_KINDS.has(kind) ? askAlone({ kind, path }) : turns.ask({ kind, path })),
  }
}

type AskWindow = (
  calls: readonly Call[],
  ended: readonly EndedCall[],
) => Promise<Pick<PermitsAnswer, 'callIds' | 'waitMs'> & { readonly startBeforeMs: number }>

interface Waiting extends Call {
  readonly sinceMs: number
  readonly resolve: (permit: CallPermit) => void
  readonly reject: (error: unknown) => void
}

interface Ending {
  readonly call: EndedCall
  readonly sinceMs: number
  readonly written: () => void
}

class PermitBatcher {
  readonly #askWindow: AskWindow
  readonly #options: CallWindowOptions
  readonly #signal: AbortSignal
  readonly #enough: number
  #waiting: Waiting[] = []
  #ending: Ending[] = []
  #inFlight = 0
  #isAsking = false
  /** Until when the window has no permit: `performance.now()`. */
  #closedUntilMs = 0
  /** What it is closed for is a place in flight, which the end of a call may free. */
  #waitsForPlace = false
  #timer: NodeJS.Timeout | undefined

  constructor(askWindow: AskWindow, options: CallWindowOptions, signal: AbortSignal) {
    this.#askWindow = askWindow
    this.#options = options
    this.#signal = signal
    const share = Math.floor(options.maxConcurrentRequests * FULL_BATCH_SHARE)
    this.#enough = Math.max(1, Math.min(share, FULL_BATCH_CALLS))
    signal.addEventListener('abort', () => this.#rejectAll(signal.reason))
  }

  ask(call: Call): Promise<CallPermit> {
    return new Promise((resolve, reject) => {
      if (this.#signal.aborted) return reject(this.#signal.reason)
      this.#waiting.push({ ...call, sinceMs: performance.now(), resolve, reject })
      this.#schedule()
    })
  }

  /** A permit that was given; its end is written with the next turn. */
  permitOf(callId: number, startBeforeMs: number): CallPermit {
    this.#inFlight += 1
    return { startBeforeMs, end: (outcome) => this.#end(callId, outcome) }
  }

  #end(callId: number, outcome: CallOutcome): Promise<void> {
    this.#inFlight -= 1
    if (this.#waitsForPlace) this.#closedUntilMs = 0
    return new Promise((written) => {
      this.#ending.push({ call: { callId, ...outcome }, sinceMs: performance.now(), written })
      this.#schedule()
    })
  }

  /** Takes a turn now, or when the first reason for one has come. */
  #schedule(): void {
    if (this.#isAsking) return
    clearTimeout(this.#timer)
    const atMs = Math.min(
      this.#askAtMs(),
      (this.#ending[0]?.sinceMs ?? Number.POSITIVE_INFINITY) + END_PAUSE_MS,
    )
    if (atMs === Number.POSITIVE_INFINITY) return
    const waitMs = atMs - performance.now()
    if (waitMs <= 0) void this.#takeTurn()
    else this.#timer = setTimeout(() => void this.#takeTurn(), Math.ceil(waitMs))
  }

  /**
   * When those that wait ask: at once when they are many, or when no call is in flight whose end would bring
   * more.
   */
  #askAtMs(): number {
    const [first] = this.#waiting
    if (first === undefined) return Number.POSITIVE_INFINITY
    const isEnough = this.#inFlight === 0 || this.#waiting.length >= this.#enough
    return Math.max(this.#closedUntilMs, isEnough ? 0 : first.sinceMs + BATCH_WAIT_MS)
  }

  async #takeTurn(): Promise<void> {
    this.#isAsking = true
    const ending = this.#ending.splice(0)
    const ended = ending.map(({ call }) => call)
    const isOpen = performance.now() >= this.#closedUntilMs && !this.#signal.aborted
    const asking = isOpen ? this.#waiting.splice(0, this.#options.maxConcurrentRequests) : []
    try {
      if (asking.length + ended.length > 0) await this.#askFor(asking, ended)
    } catch (error) {
      for (const { reject } of asking) reject(error)
    }
    // What could not be written is free by its deadline.
    for (const { written } of ending) written()
    this.#isAsking = false
    this.#schedule()
  }

  async #askFor(asking: Waiting[], ended: readonly EndedCall[]): Promise<void> {
    const { callIds, waitMs, startBeforeMs } = await this.#askWindow(asking, ended)
    for (const callId of callIds) asking.shift()?.resolve(this.permitOf(callId, startBeforeMs))
    if (this.#signal.aborted) throw this.#signal.reason
    this.#waiting.unshift(...asking)
    if (waitMs === null) return
    this.#waitsForPlace = waitMs === PLACE_WAIT_MS
    const pauseMs = this.#waitsForPlace
      ? waitMs
      : Math.max(WINDOW_PAUSE_MS, Math.min(waitMs, LONGEST_SLEEP_MS))
    this.#closedUntilMs = performance.now() + pauseMs
  }

  #rejectAll(reason: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(reason)
  }
}
