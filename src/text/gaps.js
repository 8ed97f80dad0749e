// @ts-check
/** Why a measurement that was due is not there, in the words of the history. */
export const GAPS = /** @type {const} */ (['budget', 'failed', 'missed', 'html_only', 'pending'])

/** @typedef {(typeof GAPS)[number]} Gap */
/** @template Value @typedef {Readonly<Record<Gap, Value>>} ByGap */

/** @template Value @param {(gap: Gap) => Value} of @returns {ByGap<Value>} */
export function byGap(of) {
  return /** @type {Record<Gap, Value>} */ (Object.fromEntries(GAPS.map((gap) => [gap, of(gap)])))
}

/** @type {ByGap<string>} */
export const GAP_NAMES = {
  budget: 'budget',
  failed: 'failed',
  missed: 'missed',
  html_only: 'page only',
  pending: 'pending',
}

/** @type {ByGap<string>} */
export const GAP_MEANINGS = {
  budget: 'The budget was used up first.',
  failed: 'The service or the store gave no result.',
  missed: 'Nothing asked for it in time.',
  html_only: 'Measured, but given as a page without ranks.',
  pending: 'Not closed yet: the result may still come.',
}
