/** What a person does when the service refuses the account. */

import { classifyStatus } from './status-codes.ts'

/** By the code of the refusal: not every one is about the password. */
const ADVICE: Readonly<Record<number, string>> = {
  40100: 'Check APP_DATA_LOGIN and APP_DATA_PASSWORD.',
  40104: 'The account is not verified yet: finish that with the service.',
  40204: 'The account may not use the App Data API: order it with the service.',
  40207:
    'The account does not allow calls from the address of this machine: add it to the allowed ones, or ' +
    'call from one of them.',
}

/** A sentence for a refusal by its code. */
export function adviseOnRefusal(statusCode: number): string {
  if (classifyStatus(statusCode) === 'money') return 'Check the balance and the cost limits of the account.'
  return ADVICE[statusCode] ?? 'Look at the state of the account with the service.'
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
