/** What a sandbox is made of: all that its calls and its webhooks work on. */

import { Account, Calls } from './account.ts'
import { DEVIATION_NAMES, type Deviation } from './deviations.ts'
import { buildEnvelope, chooseCodes, chooseIds } from './envelope.ts'
import { Faults } from './faults.ts'
import { listOffers } from './offers.ts'
import type { Options } from './options.ts'
import { openAnswers } from './results.ts'
import { Tasks } from './tasks.ts'

/** `hostNow` is the clock of its host, in milliseconds since 1970. */
export const openService = (options: Options, hostNow: () => number) => {
  const deviations: ReadonlySet<Deviation> = new Set(options.asSold ? DEVIATION_NAMES : options.deviations)
  const faults = new Faults(options.seed, options.faults)
  const account = new Account({ ...options, isLimited: !deviations.has('no-limits') })
  return {
    login: options.login,
    /** How long the longest task takes. */
    readyMs: options.readyMs,
    deviations,
    faults,
    account,
    offers: listOffers(deviations, options.htmlOnly),
    answers: openAnswers(options, deviations),
    tasks: new Tasks(options.login, account, options.stateFile),
    calls: new Calls(options),
    envelope: buildEnvelope(chooseCodes(deviations)),
    makeId: chooseIds(deviations),
    /** The clock of the service, in milliseconds since 1970. */
    now: () => faults.clockMs ?? hostNow() + faults.clockOffsetMs,
  }
}
export type Service = ReturnType<typeof openService>
