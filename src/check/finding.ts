/** What a check found out about one assumption. */

/** It is as the specification says; it is otherwise; or nobody can tell without buying. */
export type Verdict = 'holds' | 'differs' | 'unknown'

export interface Finding {
  /** The assumption, in a few words. */
  readonly about: string
  readonly verdict: Verdict
  /**
   * One or two sentences. Of what differs also what storerank does about it. No login, keyword or app stands
   * in them.
   */
  readonly says: string
  /** Whether a person has to act before anything can be bought. */
  readonly isObstacle: boolean
}

export function holds(about: string, says: string): Finding {
  return { about, verdict: 'holds', says, isObstacle: false }
}

/** @param instead what storerank does about it, as a sentence */
export function differs(about: string, says: string, instead: string): Finding {
  return { about, verdict: 'differs', says: `${says} ${instead}`, isObstacle: false }
}

export function unknown(about: string, says: string): Finding {
  return { about, verdict: 'unknown', says, isObstacle: false }
}

/** @param remedy what to do, as a sentence */
export function obstacle(about: string, says: string, remedy: string): Finding {
  return { about, verdict: 'differs', says: `${says} ${remedy}`, isObstacle: true }
}
