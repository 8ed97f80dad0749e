/** Counts calls: the windows that refuse them, and the statistics that user_data shows. */

import { type CallLimits, CallWindow } from './limits.ts'
import { Tally } from './tally.ts'
import { DAY_MS } from './timestamp.ts'

const MINUTE_MS = 60_000

/** Which limit of its own an endpoint has, beside the one over everything. */
export type WindowName = 'readyLists' | 'idLists' | 'status'

export class Calls {
  readonly limits: CallLimits
  readonly perDay = new Tally(DAY_MS)
  readonly perMinute = new Tally(MINUTE_MS)
  readonly #all: CallWindow
  readonly #own: Record<WindowName, CallWindow>
  #inFlight = 0

  constructor(limits: CallLimits) {
    this.limits = limits
    this.#all = new CallWindow(limits.callsPerMinute)
    this.#own = {
      readyLists: new CallWindow(limits.readyListsPerMinute),
      idLists: new CallWindow(limits.idListsPerMinute),
      status: new CallWindow(limits.statusPerMinute),
    }
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
  admit(name: string, windowName: WindowName | undefined, nowMs: number): boolean {
    const windows = windowName ? [this.#all, this.#own[windowName]] : [this.#all]
    if (!windows.every((window) => window.hasRoom(nowMs))) return false
    for (const window of windows) window.take(nowMs)
    this.perDay.add(name, 1, nowMs)
    this.perMinute.add(name, 1, nowMs)
    return true
  }
}
