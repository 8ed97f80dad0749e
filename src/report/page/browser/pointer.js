// @ts-check
/** Values of a day at the pointer, or by the arrow keys: read from the table of numbers below each chart. */
import { element, swatch } from '../captions.js'
import { data, find, make } from './elements.js'

/** @param {HTMLElement} plot */
export function attachReader(plot) {
  const figure = /** @type {HTMLElement} */ (plot.closest('.figure'))
  const tip = make(element('div', { class: 'tip', 'aria-hidden': 'true' }))
  const last = data.days.length - 1
  const label = `${plot.dataset.label}: the values of a day`
  const attributes = { type: 'range', class: 'reader', min: 0, max: last, value: last, 'aria-label': label }
  const range = /** @type {HTMLInputElement} */ (make(element('input', attributes)))
  const show = () => {
    const table = /** @type {HTMLTableElement} */ (find('.numbers table', figure))
    const row = table.tBodies[0]?.rows[range.valueAsNumber]
    if (row === undefined) return
    const [day = '', ...texts] = [...row.cells].map((cell) => cell.textContent ?? '')
    const values = texts.map((text, n) => {
      const head = /** @type {HTMLElement | undefined} */ (table.tHead?.rows[0]?.cells[n + 1])
      return { name: head?.textContent ?? '', text, className: head?.dataset.class ?? '' }
    })
    const read = [day, ...values.map(({ name, text }) => `${name} ${text}`)]
    range.setAttribute('aria-valuetext', read.join(', '))
    tip.replaceChildren(...[element('b', {}, [day]), ...values.map(drawValue)].map(make))
    placeTip(plot, tip, range.valueAsNumber)
  }
  plot.append(tip, range)
  plot.addEventListener('pointermove', (event) => {
    const day = dayAt(plot, event)
    if (day === null) return hide(plot)
    range.value = String(day)
    show()
  })
  plot.addEventListener('pointerleave', () => hide(plot))
  range.addEventListener('input', show)
  range.addEventListener('focus', show)
  range.addEventListener('blur', () => hide(plot))
}

/** @param {{ name: string, text: string, className: string }} value */
function drawValue({ name, text, className }) {
  const shown = [swatch(className), element('span', {}, [name]), element('i', {}, [text])]
  return element('div', {}, shown)
}

/** The one of the wide and the narrow that is shown. @param {HTMLElement} plot */
function chartOf(plot) {
  const charts = [...plot.querySelectorAll('svg.chart')]
  return /** @type {SVGSVGElement} */ (
    charts.find((chart) => chart.getBoundingClientRect().width > 0) ?? charts[0]
  )
}

/** @param {HTMLElement} plot @param {PointerEvent} event */
function dayAt(plot, event) {
  const chart = chartOf(plot)
  const box = chart.getBoundingClientRect()
  const x = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width
  const day = Math.floor((x - Number(chart.dataset.left)) / Number(chart.dataset.step))
  return day >= 0 && day < data.days.length ? day : null
}

/** @param {HTMLElement} plot @param {HTMLElement} tip @param {number} day */
function placeTip(plot, tip, day) {
  const chart = chartOf(plot)
  const { left: from, step, top, bottom } = chart.dataset
  const x = Number(from) + (day + 0.5) * Number(step)
  chart.querySelector('.cross')?.remove()
  chart.append(make(element('path', { class: 'cross', d: `M${x},${top}V${bottom}` })))
  const share = x / chart.viewBox.baseVal.width
  const box = chart.getBoundingClientRect()
  const outer = plot.getBoundingClientRect()
  tip.classList.add('shown')
  const start = box.left - outer.left + share * box.width
  const width = tip.offsetWidth
  const left = share > 0.5 ? start - width - 12 : Math.min(start + 12, outer.width - width)
  tip.style.left = `${Math.max(0, left)}px`
}

/** @param {HTMLElement} plot */
function hide(plot) {
  find('.tip', plot).classList.remove('shown')
  for (const cross of plot.querySelectorAll('.cross')) cross.remove()
}
