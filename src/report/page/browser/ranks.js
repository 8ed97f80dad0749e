// @ts-check
/**
 * The ranks that the page holds, unpacked.
 *
 * @import { PageData } from '../data.ts'
 */
import { find } from './elements.js'

const NOT_IN_TOP = -1000
/** Beyond it stand ranks that another tool gave. */
const IMPORTED = 10_000

export const data = await unpack(find('#data').textContent ?? '')

/** @param {string} text @returns {Promise<PageData>} */
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  /** @type {PageData} */
  const packed = await new Response(stream).json()
  const series = packed.series.map(([list, app, steps]) => {
    let point = 0
    return /** @type {const} */ ([list, app, steps.map((step) => (point += step))])
  })
  return { ...packed, series }
}

/** @param {number} point */
export function rankOf(point) {
  return point > 0 ? point % IMPORTED : null
}

/** How deep it was looked for in vain. @param {number} point */
export function depthWithout(point) {
  return point <= NOT_IN_TOP ? NOT_IN_TOP - point : null
}

/** @param {number} point */
export function gapOf(point) {
  return data.gaps.find((gap) => gap.point === point) ?? null
}

/** @param {number} point */
export function describePoint(point) {
  if (point > IMPORTED) return `${point % IMPORTED}, imported`
  if (point > 0) return String(point)
  const depth = depthWithout(point)
  return depth === null ? (gapOf(point)?.name ?? '–') : `> ${depth}`
}
