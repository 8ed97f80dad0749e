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
  /** 40101: the store failed, the task is over and charged; a new attempt may work. */
  | 'store_failed'
  /** 401xx and the 402xx that concern neither money nor pace: a person must act on the account. */
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
  40101: 'store_failed',
  40102: 'no_results',
  40200: 'money',
  40202: 'rate_limited',
  40203: 'money',
  40209: 'too_many_at_once',
  40210: 'money',
  40601: 'pending',
  40602: 'pending',
}

/** The class of a general or task status code. */
export function classifyStatus(code: number): StatusClass {
  const single = SINGLE_CODES[code]
  if (single !== undefined) return single
  if (code >= 40100 && code < 40300) return 'account'
  if (code >= 40000 && code < 50000) return 'rejected'
  if (code >= 50000 && code <= 60000) return 'server'
  return 'unknown'
}
