/** The service's status codes by what the caller does next (docs/service.md: Codes by class). */

/** The codes that are known by themselves; others are sorted by their range. */
const CLASSES = {
  /** Done. */
  ok: [20000],
  /** The task exists and is paid for. */
  created: [20100],
  /** Not ready yet. */
  pending: [40601, 40602],
  /** A measurement of nothing. */
  no_results: [40102],
  /** The store failed, the task is over and charged; a new attempt may work. */
  store_failed: [40101, 40103],
  /** A person must act on the account. */
  account: [40100, 40104, 40201, 40204, 40207],
  /** No money, or a cost limit. */
  money: [40200, 40203, 40210],
  /** Too many calls in this minute. */
  rate_limited: [40202],
  too_many_at_once: [40209],
} as const

/** `rejected`: the caller's fault, final for that task; `server`: passes; `unknown`: outside the contract. */
export type StatusClass = keyof typeof CLASSES | 'rejected' | 'server' | 'unknown'

const BY_CODE: ReadonlyMap<number, StatusClass> = new Map(
  Object.entries(CLASSES).flatMap(([name, codes]) => codes.map((code) => [code, name as StatusClass])),
)

/**
 * Of one task. An unlisted 401xx or 402xx is about it alone, such as the limits on duplicate tasks (40205).
 */
export function classifyStatus(code: number): StatusClass {
  const single = BY_CODE.get(code)
  if (single !== undefined) return single
  if (code >= 40000 && code < 50000) return 'rejected'
  return code >= 50000 && code <= 60000 ? 'server' : 'unknown'
}

/** Of what stands above the tasks of a call: any other 401xx and 402xx is about the account. */
export function classifyCall(code: number): StatusClass {
  return !isSingleCode(code) && code >= 40100 && code < 40300 ? 'account' : classifyStatus(code)
}

/** Whether a code is known by itself, and not by its range alone. */
export function isSingleCode(code: number): boolean {
  return BY_CODE.has(code)
}

/** What a person does, by the code of the refusal: not every one is about the password. */
const ADVICE: Readonly<Record<number, string>> = {
  40100: 'Check APP_DATA_LOGIN and APP_DATA_PASSWORD.',
  40104: 'The account is not verified yet: finish that with the service.',
  40204: 'The account may not use the App Data API: order it with the service.',
  40207:
    'The account does not allow calls from the address of this machine: add it to the allowed ones, or ' +
    'call from one of them.',
}

/** A sentence about what to do when the service refuses the account. */
export function adviseOnRefusal(statusCode: number): string {
  if (classifyStatus(statusCode) === 'money') return 'Check the balance and the cost limits of the account.'
  return ADVICE[statusCode] ?? 'Look at the state of the account with the service.'
}

/** The limits on duplicate tasks, by hour and by day, that a person sets in the account. */
const DUPLICATE_LIMITS = [40205, 40206]

/** What the service said of a task that it refused for good, with what to do where it does not say so. */
export function explainTaskRefusal(statusCode: number, message: string): string {
  return DUPLICATE_LIMITS.includes(statusCode)
    ? `${message} The account limits how often the same task may be posted: raise that limit there, or ` +
        'measure less often.'
    : message
}
