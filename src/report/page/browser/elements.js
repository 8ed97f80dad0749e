// @ts-check
/**
 * Elements of the page. Text becomes text nodes alone, so that a keyword or a title can be nothing else.
 *
 * @import { Attributes, Pen } from '../drawing.ts'
 */

const SVG_TAGS = ['svg', 'title', 'path', 'rect', 'text']

/** @type {Pen<Element>} */
export const pen = {
  // @ts-expect-error: d3 stands in the page as a script of its own
  ...globalThis.d3,
  element(tag, attributes, children = []) {
    const isSvg = SVG_TAGS.includes(tag)
    const node = isSvg
      ? document.createElementNS('http://www.w3.org/2000/svg', tag)
      : document.createElement(tag)
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value))
    node.append(...children)
    return node
  },
}

/** @type {(tag: string, attributes?: Attributes, children?: readonly (Element | string)[]) => HTMLElement} */
export const make = (tag, attributes = {}, children = []) =>
  /** @type {HTMLElement} */ (pen.element(tag, attributes, children))

/** @type {(selector: string, within?: ParentNode) => HTMLElement} */
export const find = (selector, within = document) =>
  /** @type {HTMLElement} */ (within.querySelector(selector))

/** @type {(selector: string) => HTMLElement[]} */
export const findAll = (selector) =>
  [...document.querySelectorAll(selector)].map((each) => /** @type {HTMLElement} */ (each))

/** @param {string} className */
export function swatch(className) {
  const shape = className.startsWith('bar')
    ? make('rect', { class: className, x: 5, width: 14, height: 12, rx: 2 })
    : make('path', { class: className, d: 'M1,6H23' })
  return make('svg', { class: 'swatch', viewBox: '0 0 24 12', 'aria-hidden': 'true' }, [shape])
}
