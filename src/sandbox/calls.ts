/** Counts calls: the windows that refuse them, and the statistics that user_data shows. */

import { Tally } from './account.ts'
import type { Options } from './options.ts'
import { DAY_MS, MINUTE_MS } from './timestamp.ts'

/** Lets at most `limit` calls through within any 60 seconds; refused calls do not count. */
export class CallWindow {
  #timesMs: number[] = []
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  hasRoom(nowMs: number): boolean {
    // A clock that was set back must not close the window until the old time has come again.
    const aheadMs = Math.max(0, (this.#timesMs.at(-1) ?? nowMs) - nowMs)
    if (aheadMs > 0) this.#timesMs = this.#timesMs.map((timeMs) => timeMs - aheadMs)
    while ((this.#timesMs[0] ?? nowMs) <= nowMs - MINUTE_MS) this.#timesMs.shift()
    return this.#timesMs.length < this.#limit
  }

  take(nowMs: number): void {
    this.#timesMs.push(nowMs)
  }
}

/** The limits of calls: that over everything, and those of single endpoints. */
export type WindowName = 'calls' | 'readyLists' | 'idLists' | 'status'

export class Calls {
  readonly limits: Options
  readonly perDay = new Tally(DAY_MS)
  readonly perMinute = new Tally(MINUTE_MS)
  readonly #windows = new Map<WindowName, CallWindow>()
  #inFlight = 0

  constructor(limits: Options) {
    this.limits = limits
  }

  /** Begins a request; false when too many are in flight. Whatever it says, `leave` must follow. */
  enter(): boolean {
    this.#inFlight += 1
    return this.#inFlight <= this.limits.requestsInFlight
  }

  leave(): void {
    this.#inFlight -= 1
  }

  /** Counts a call under a name such as `app_info/task_post`; false when a limit refuses it. */
  admit(name: string, ownWindow: WindowName, nowMs: number): boolean {
    const windows = [...new Set<WindowName>(['calls', ownWindow])].map((each) => this.#windowOf(each))
    if (!windows.every((window) => window.hasRoom(nowMs))) return false
    for (const window of windows) window.take(nowMs)
    this.perDay.add(name, 1, nowMs)
    this.perMinute.add(name, 1, nowMs)
    return true
  }

  #windowOf(name: WindowName): CallWindow {
    const window = this.#windows.get(name) ?? new CallWindow(this.limits[`${name}PerMinute`])
    this.#windows.set(name, window)
    return window
  }
}

/** What a route says of itself: its name in the statistics, and the limit that it has beside that of all. */
export type CountedRoute = { countAs: string; window?: WindowName | undefined }
