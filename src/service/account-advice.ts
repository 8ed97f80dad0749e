/** What a person does when the service refuses the account. */

import { classifyStatus } from './status-codes.ts'

const WRONG_LOGIN = 40100
const NOT_VERIFIED = 40104
const NO_SUBSCRIPTION = 40204
const ADDRESS_NOT_ALLOWED = 40207

/** A sentence for a refusal by its code: not every one is about the password. */
export function adviseOnRefusal(statusCode: number): string {
  if (statusCode === NOT_VERIFIED) return 'The account is not verified yet: finish that with the service.'
  if (statusCode === ADDRESS_NOT_ALLOWED) {
    return (
      'The account does not allow calls from the address of this machine: add it to the allowed ones, or ' +
      'call from one of them.'
    )
  }
  if (statusCode === NO_SUBSCRIPTION)
    return 'The account may not use the App Data API: order it with the service.'
  if (classifyStatus(statusCode) === 'money') return 'Check the balance and the cost limits of the account.'
  return statusCode === WRONG_LOGIN
    ? 'Check APP_DATA_LOGIN and APP_DATA_PASSWORD.'
    : 'Look at the state of the account with the service.'
}

/** The limits on duplicate tasks, by hour and by day, that a person sets in the account. */
const DUPLICATE_LIMITS = [40205, 40206]

/**
 * What the service said of one task that it refused for good, with what to do where it does not say so
 * itself.
 */
export function explainTaskRefusal(statusCode: number, message: string): string {
  return DUPLICATE_LIMITS.includes(statusCode)
    ? `${message} The account limits how often the same task may be posted: raise that limit there, or ` +
        'measure less often.'
    : message
}
