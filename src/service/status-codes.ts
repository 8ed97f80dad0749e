/** Classes of the service's status codes, by what the caller does next (docs/service.md: Codes by class). */

export type StatusClass =
  /** 20000: done. */
  | 'ok'
  /** 20100: the task exists and is paid for. */
  | 'created'
  /** 40601, 40602: not ready yet. */
  | 'pending'
  /** 40102: a measurement of nothing. */
  | 'no_results'
  /** 40101, 40103: the store failed, the task is over and charged; a new attempt may work. */
  | 'store_failed'
  /**
   * 40100, 40104, 40201, 40204, 40207, and of a call any other 401xx and 402xx: a person must act on the
   * account.
   */
  | 'account'
  /** 40200, 40203, 40210: no money, or a cost limit. */
  | 'money'
  /** 40202: too many calls in this minute. */
  | 'rate_limited'
  /** 40209: too many requests at once. */
  | 'too_many_at_once'
  /** 4xxxx otherwise: the caller's fault, final for that task. */
  | 'rejected'
  /** 5xxxx: the server's trouble, later it may work. */
  | 'server'
  /** Anything else: outside the contract. */
  | 'unknown'

const SINGLE_CODES: Readonly<Record<number, StatusClass>> = {
  20000: 'ok',
  20100: 'created',
  40100: 'account',
  40101: 'store_failed',
  40102: 'no_results',
  40103: 'store_failed',
  40104: 'account',
  40200: 'money',
  40201: 'account',
  40202: 'rate_limited',
  40203: 'money',
  40204: 'account',
  40207: 'account',
  40209: 'too_many_at_once',
  40210: 'money',
  40601: 'pending',
  40602: 'pending',
}

/**
 * The class of the code of one task. A 401xx or 402xx that is not listed is about that task alone, such as
 * the limits on duplicate tasks (40205, 40206): it says nothing of the account, and the next task may do
 * well.
 */
export function classifyStatus(code: number): StatusClass {
  const single = SINGLE_CODES[code]
  if (single !== undefined) return single
  if (code >= 40000 && code < 50000) return 'rejected'
  if (code >= 50000 && code <= 60000) return 'server'
  return 'unknown'
}

/**
 * The class of the code of a whole call, as it stands above its tasks: any other 401xx and 402xx is about the
 * account.
 */
export function classifyCall(code: number): StatusClass {
  const isListed = SINGLE_CODES[code] !== undefined
  return !isListed && code >= 40100 && code < 40300 ? 'account' : classifyStatus(code)
}

/** Whether a code is known by itself, and not by its range alone. */
export function isSingleCode(code: number): boolean {
  return SINGLE_CODES[code] !== undefined
}
