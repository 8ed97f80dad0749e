/**
 * The errors of storerank, one class by what the caller does next. Messages are sentences for a person:
 * what happened, to which row or field, which rule, what to do. Secrets never stand in them.
 */

/** Every error that storerank throws on purpose. `code` is stable and may be matched; `message` may not. */
export abstract class StorerankError extends Error {
  abstract readonly code: string
  override get name(): string {
    return this.constructor.name
  }
}

/** A setting, an argument or the environment is wrong: mend it and start again (exit code 2). */
export class ConfigurationError extends StorerankError {
  readonly code = 'configuration'
}

/** The service refuses the account: credentials, verification, money. Stop posting, tell a person. */
export class AccountError extends StorerankError {
  readonly code: 'account' | 'account_money'
  constructor(message: string, code: 'account' | 'account_money' = 'account', options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Too many calls: go on after `retryAfterMs`. Nothing was done. */
export class RateLimitedError extends StorerankError {
  readonly code = 'rate_limited'
  readonly retryAfterMs: number
  constructor(message: string, retryAfterMs: number, options?: ErrorOptions) {
    super(message, options)
    this.retryAfterMs = retryAfterMs
  }
}

/** The service understood the request and refuses it for good: the same request will fail again. */
export class RejectedError extends StorerankError {
  readonly code = 'rejected'
  readonly statusCode: number
  constructor(message: string, statusCode: number, options?: ErrorOptions) {
    super(message, options)
    this.statusCode = statusCode
  }
}

/** The service or the network cannot answer now: a repeat is free and may work later. */
export class UnavailableError extends StorerankError {
  readonly code = 'unavailable'
}

/** The answer came, but it breaks the contract; `path` names the field. */
export class UnreadableError extends StorerankError {
  readonly code = 'unreadable'
  readonly path: string
  constructor(message: string, path: string, options?: ErrorOptions) {
    super(message, options)
    this.path = path
  }
}

/** The proxy of HTTPS_PROXY cannot be reached, so that nothing was said to the other side. */
export class ProxyError extends StorerankError {
  readonly code = 'proxy'
}

/** Another runner has taken over what this one had claimed: decide nothing any more. */
export class LeaseLostError extends StorerankError {
  readonly code = 'lease_lost'
}
