// @ts-check
/**
 * What the last measurement of a day says of an app, as one number: its rank from 1; that it was not within a
 * depth, as `notInTop` writes it; `NOTHING_DUE`; a rank beyond `IMPORTED` that another tool gave for a day on
 * which nothing was due; or why a day has no measurement at all, as `GAP_POINTS` writes it.
 *
 * @typedef {number} Point
 * @import { ByGap } from '../text/gaps.js'
 */
import { GAP_NAMES, GAPS } from '../text/gaps.js'

export const NOTHING_DUE = 0
/** @type {ByGap<Point>} */
export const GAP_POINTS = { budget: -1, failed: -2, missed: -3, html_only: -4, pending: -5 }
const NOT_IN_TOP = -1000
export const IMPORTED = 10_000

/** Measured, and not among the first `depth`. @param {number} depth */
export const notInTop = (depth) => NOT_IN_TOP - depth

/** How deep it was looked for in vain; null when the point says something else. @param {Point} point */
export const depthWithout = (point) => (point <= NOT_IN_TOP ? NOT_IN_TOP - point : null)

/** @param {Point} point */
export const isRanked = (point) => point > 0 && point < IMPORTED

/** @param {Point} point */
export const isMeasured = (point) => isRanked(point) || point <= NOT_IN_TOP

/** The rank, whoever measured it; null when the point says something else. @param {Point} point */
export const rankOf = (point) => (point > 0 ? point % IMPORTED : null)

/** Why there is no measurement; null where there is one, or nothing was due. @param {Point} point */
export const gapOf = (point) => GAPS.find((gap) => GAP_POINTS[gap] === point) ?? null

/** `12`; `12, imported`; `> 100`; the name of a gap; `–` when nothing was due. @param {Point} point */
export function formatPoint(point) {
  const rank = rankOf(point)
  if (rank !== null) return isRanked(point) ? String(rank) : `${rank}, imported`
  const depth = depthWithout(point)
  if (depth !== null) return `> ${depth}`
  const gap = gapOf(point)
  return gap === null ? '–' : GAP_NAMES[gap]
}
