/** The limits of the service (spec: Limits; docs/service.md: Open points), and their windows. */

/** Tasks in one POST; those beyond it are refused with 40006. */
export const MAX_TASKS_PER_POST = 100
export const MAX_KEYWORD_CHARACTERS = 700
export const MAX_TAG_CHARACTERS = 255
/** Ids in one webhook resend; those beyond it are refused with 40006. */
export const MAX_IDS_PER_RESEND = 100
/** Rows of one ready list, one id list and one list of failed tasks. */
export const MAX_ROWS = 1000
/** The ready list tells of tasks of this many days. */
export const READY_LIST_DAYS = 3
/** Results stay for this many days after completion, by form. */
export const RETENTION_DAYS = { advanced: 30, html: 7 } as const
/** A client that has not answered a webhook by then has failed to take it. */
export const WEBHOOK_TIMEOUT_MS = 10_000
/** Webhooks under way at the same time. */
export const WEBHOOKS_IN_FLIGHT = 64
/** Bytes of a request body: 100 tasks with every field at its limit fit. */
export const MAX_BODY_BYTES = 4_000_000

/** Calls within any 60 seconds, and requests at the same time. */
export type CallLimits = {
  callsPerMinute: number
  readyListsPerMinute: number
  idListsPerMinute: number
  statusPerMinute: number
  requestsInFlight: number
}

export const CALL_LIMITS: CallLimits = {
  callsPerMinute: 2000,
  readyListsPerMinute: 20,
  idListsPerMinute: 10,
  statusPerMinute: 10,
  requestsInFlight: 30,
}

const MINUTE_MS = 60_000

/** Lets at most `limit` calls through within any 60 seconds; refused calls do not count. */
export class CallWindow {
  #timesMs: number[] = []
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  hasRoom(nowMs: number): boolean {
    // A clock that was set back must not close the window until the old time has come again.
    const aheadMs = (this.#timesMs.at(-1) ?? nowMs) - nowMs
    if (aheadMs > 0) this.#timesMs = this.#timesMs.map((timeMs) => timeMs - aheadMs)
    while (this.#timesMs.length > 0 && (this.#timesMs[0] ?? 0) <= nowMs - MINUTE_MS) this.#timesMs.shift()
    return this.#timesMs.length < this.#limit
  }

  take(nowMs: number): void {
    this.#timesMs.push(nowMs)
  }
}
