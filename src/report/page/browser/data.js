// @ts-check
/**
 * What the page holds, unpacked.
 *
 * @import { PageData } from '../data.ts'
 */
import { find } from './elements.js'

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
