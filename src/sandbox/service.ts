/** What a sandbox is made of: all that its calls and its webhooks work on. */

import type { Account } from './account.ts'
import type { Calls } from './calls.ts'
import type { Deviations } from './deviations.ts'
import type { Envelope } from './envelope.ts'
import type { Faults } from './faults.ts'
import type { MakeId } from './ids.ts'
import type { Offer } from './offers.ts'
import type { Answers } from './results.ts'
import type { Tasks } from './tasks.ts'

export type Service = {
  login: string
  /** How long the longest task takes. */
  readyMs: number
  offers: readonly Offer[]
  answers: Answers
  account: Account
  tasks: Tasks
  calls: Calls
  faults: Faults
  deviations: Deviations
  envelope: Envelope
  makeId: MakeId
  /** The clock of the service, in milliseconds since 1970. */
  now(): number
}

/** The service at the address that a caller wrote: lists show it. */
export type CalledService = Service & { origin: string }
