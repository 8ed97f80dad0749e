// @ts-check
/**
 * What stands around a chart: its legend, what the numbers above its days mean, and its values as a table,
 * from which the page's script reads them too.
 *
 * @import { Drawn, Mark } from './drawing.ts'
 */
import { shortDay } from '../../text/days.js'
import { element } from './element.js'
import { numberMarks } from './marks.js'

/** A table, or a list, that scrolls. @type {(label: string, content: Drawn, className?: string) => Drawn} */
export const scrolling = (label, content, className = 'scroll') =>
  element('div', { class: className, tabindex: 0, role: 'region', 'aria-label': label }, [content])

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
  const heads = columns.map(({ name, className }) =>
    element('th', { scope: 'col', 'data-class': className }, [name]),
  )
  const rows = days.map((day, n) => {
    const notes = marks.filter((mark) => mark.day === n).map(({ text }) => element('em', {}, [` ${text}`]))
    const cells = columns.map(({ texts }) => element('td', {}, [texts[n] ?? '–']))
    return element('tr', {}, [element('th', { scope: 'row' }, [day, ...notes]), ...cells])
  })
  const table = element('table', {}, [
    element('thead', {}, [element('tr', {}, [element('th', { scope: 'col' }, ['Day']), ...heads])]),
    element('tbody', {}, rows),
  ])
  return element('details', { class: 'numbers' }, [
    element('summary', {}, ['Numbers']),
    scrolling(`Numbers: ${label}`, table),
  ])
}
