/** What a person does when the service refuses the account. */

import { classifyStatus } from './status-codes.ts'

const NOT_VERIFIED = 40104
const ADDRESS_NOT_ALLOWED = 40207

/** A sentence for a refusal by its code: not every one is about the password. */
export function adviseOnRefusal(statusCode: number): string {
  if (statusCode === NOT_VERIFIED) return 'The account is not verified yet: finish that with the service.'
  if (statusCode === ADDRESS_NOT_ALLOWED) {
    return 'The account does not allow calls from the address of this machine: add it to the allowed ones, or call from one of them.'
  }
  if (classifyStatus(statusCode) === 'money') return 'Check the balance and the cost limits of the account.'
  if (statusCode >= 40200) return 'Look at the state of the account with the service.'
  return 'Check APP_DATA_LOGIN and APP_DATA_PASSWORD.'
}
