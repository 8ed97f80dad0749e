// @ts-check
/**
 * Elements as data, and those that stand around a chart: its legend, the numbers above its days and what they
 * mean, and its values as a table, from which the page's script reads them too.
 *
 * @import { Drawn, Mark } from './drawing.ts'
 */
import { shortDay } from '../../text/days.js'

/** @type {(tag: string, attributes?: Drawn['attributes'], children?: Drawn['children']) => Drawn} */
export const element = (tag, attributes = {}, children = []) => ({ tag, attributes, children })

/** A table, or a list, that scrolls. @type {(label: string, content: Drawn, className?: string) => Drawn} */
export const scrolling = (label, content, className = 'scroll') =>
  element('div', { class: className, tabindex: 0, role: 'region', 'aria-label': label }, [content])

/** The head of a column. @type {(content: Drawn | string, attributes?: Drawn['attributes']) => Drawn} */
export const drawHead = (content, attributes = {}) =>
  element('th', { scope: 'col', ...attributes }, [content])

/** @type {(heads: readonly Drawn[], rows: readonly Drawn[], attributes?: Drawn['attributes']) => Drawn} */
export const drawTable = (heads, rows, attributes = {}) =>
  element('table', attributes, [element('thead', {}, [element('tr', {}, heads)]), element('tbody', {}, rows)])

/** @param {string} className `line own0`, `bar budget` */
export function swatch(className) {
  const shape = className.startsWith('bar')
    ? element('rect', { class: className, x: 5, width: 14, height: 12, rx: 2 })
    : element('path', { class: className, d: 'M1,6H23' })
  return element('svg', { class: 'swatch', viewBox: '0 0 24 12', 'aria-hidden': 'true' }, [shape])
}

/** @param {readonly { name: string, className: string }[]} entries of classes as swatches have them */
export function drawLegend(entries) {
  const items = entries.map(({ name, className }) => element('li', {}, [swatch(className), name]))
  return element('ul', { class: 'legend' }, items)
}

const LONGEST_TEXT = 160

/** Days with releases and notes, from 1, in the colour of the app. @param {readonly Mark[]} marks */
export function numberMarks(marks) {
  const days = [...Map.groupBy(marks, ({ day }) => day)].sort(([a], [b]) => a - b)
  return days.map(([day, ofDay], n) => {
    const classes = new Set(ofDay.map(({ className }) => className)).difference(new Set(['note']))
    const [first = 'note', ...others] = classes
    const texts = ofDay.map(({ text }) => {
      const letters = [...text]
      return letters.length > LONGEST_TEXT ? `${letters.slice(0, LONGEST_TEXT - 1).join('')}…` : text
    })
    return { number: n + 1, day, className: others.length === 0 ? first : 'note', texts }
  })
}

/** @typedef {ReturnType<typeof placeMarks>[number]} PlacedMark */

const DIGIT_WIDTH = 7
const ROOM = 2
export const NUMBER_HEIGHT = 15

/**
 * The numbers in as many rows as they need not to run into each other, the lowest first.
 * @param {readonly Mark[]} marks
 * @param {(day: number) => number} xAt
 */
export function placeMarks(marks, xAt) {
  /** @type {number[]} */
  const ends = []
  return numberMarks(marks).map((mark) => {
    const x = xAt(mark.day)
    const width = NUMBER_HEIGHT + (String(mark.number).length - 1) * DIGIT_WIDTH
    const free = ends.findIndex((end) => end <= x - width / 2)
    const row = free === -1 ? ends.length : free
    ends[row] = x + width / 2 + ROOM
    return { ...mark, x, width, row }
  })
}

/** @param {readonly Mark[]} marks @param {readonly string[]} days */
export function drawMarkTexts(marks, days) {
  const entries = numberMarks(marks).map(({ number, day, className, texts }) => {
    const time = element('time', { datetime: days[day] ?? '' }, [shortDay(days[day] ?? '')])
    return element('li', {}, [
      element('b', { class: `number ${className}` }, [element('i', {}, [String(number)])]),
      element('span', {}, [time, ` ${texts.join('; ')}`]),
    ])
  })
  return element('ul', { class: 'marks' }, entries)
}

/**
 * @param {string} label
 * @param {readonly string[]} days as they are read
 * @param {readonly { name: string, className: string, texts: readonly string[] }[]} columns of classes as
 *   swatches have them, empty for what is not drawn
 * @param {readonly Mark[]} marks
 */
export function drawNumbers(label, days, columns, marks) {
  const heads = columns.map(({ name, className }) => drawHead(name, { 'data-class': className }))
  const rows = days.map((day, n) => {
    const notes = marks.filter((mark) => mark.day === n).map(({ text }) => element('em', {}, [` ${text}`]))
    const cells = columns.map(({ texts }) => element('td', {}, [texts[n] ?? '–']))
    return element('tr', {}, [element('th', { scope: 'row' }, [day, ...notes]), ...cells])
  })
  return element('details', { class: 'numbers' }, [
    element('summary', {}, ['Numbers']),
    scrolling(`Numbers: ${label}`, drawTable([drawHead('Day'), ...heads], rows)),
  ])
}
