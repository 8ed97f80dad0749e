// @ts-check
/**
 * Elements of the page, and what it holds. Text becomes text nodes alone, so that a keyword or a title can be
 * nothing else.
 *
 * @import { PageData } from '../data.ts'
 * @import { Drawn } from '../drawing.ts'
 */

const SVG_TAGS = ['svg', 'title', 'path', 'rect', 'text']

/** @param {Drawn} drawn */
export function make({ tag, attributes, children }) {
  const isSvg = SVG_TAGS.includes(tag)
  const made = isSvg
    ? document.createElementNS('http://www.w3.org/2000/svg', tag)
    : document.createElement(tag)
  const node = /** @type {HTMLElement} */ (made)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value))
  node.append(...children.map((child) => (typeof child === 'string' ? child : make(child))))
  return node
}

/** @type {(selector: string, within?: ParentNode) => HTMLElement} */
export const find = (selector, within = document) =>
  /** @type {HTMLElement} */ (within.querySelector(selector))

/** @type {(selector: string) => HTMLElement[]} */
export const findAll = (selector) =>
  [...document.querySelectorAll(selector)].map((each) => /** @type {HTMLElement} */ (each))

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
