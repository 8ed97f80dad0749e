// @ts-check
/**
 * The table of keywords, sorted and filtered, the trends of what is shown drawn; and the country and the tag
 * that are chosen above the page, without which no keyword is shown anywhere.
 *
 * @import { PageData } from '../data.ts'
 * @typedef {PageData['rows'][number]} Row
 */
import { rankOf } from '../../points.js'
import { element } from '../captions.js'
import { drawSpark } from '../chart.js'
import { data, find, findAll, make } from './elements.js'
import { closePanel, openPanel, panel } from './panel.js'

const ROWS_SHOWN = 50

const rows = new Map(data.rows.map((row) => [find(`#k${row.series}`), row]))
const filters = /** @type {HTMLFormElement} */ (find('#filters'))
const body = find('table.keywords tbody')
const table = { key: /** @type {keyof Row} */ ('latest'), isDown: false, showsAll: false }

/** What is chosen of a field of the filters; empty for all. @param {string} field */
function chosen(field) {
  return String(new FormData(filters).get(field) ?? '')
}

/** Whether a list is of what is chosen. @param {number} list */
function isInScope(list) {
  const { place = '', tags = [] } = data.lists[list] ?? {}
  const [onlyPlace, onlyTag] = [chosen('place'), chosen('tag')]
  return (onlyPlace === '' || onlyPlace === place) && (onlyTag === '' || tags.includes(onlyTag))
}

/** Hides each item and row that is about another keyword. */
export function applyScope() {
  for (const element of findAll('[data-list]')) {
    element.closest('li, tr')?.toggleAttribute('hidden', !isInScope(Number(element.dataset.list)))
  }
  for (const note of findAll('#scoped')) note.hidden = chosen('place') + chosen('tag') === ''
}

/** What has no value is last, whichever way. @param {Row} a @param {Row} b */
function compare(a, b) {
  const [one, other] = [a[table.key], b[table.key]]
  if (one === null || other === null) return Number(one === null) - Number(other === null)
  const order = typeof one === 'string' ? one.localeCompare(String(other)) : one - Number(other)
  return table.isDown ? -order : order
}

function sortRows() {
  closePanel()
  body.append(...[...rows].toSorted(([, a], [, b]) => compare(a, b)).map(([element]) => element))
  for (const head of findAll('table.keywords th[data-key]')) {
    const isSorted = head.dataset.key === table.key
    if (isSorted) head.setAttribute('aria-sort', table.isDown ? 'descending' : 'ascending')
    else head.removeAttribute('aria-sort')
  }
  filterRows()
}

/** @type {Record<string, (row: Row) => boolean>} */
const STATES = {
  up: ({ d7 }) => (d7 ?? 0) > 0,
  down: ({ d7 }) => (d7 ?? 0) < 0,
  top: ({ state, latest }) => state === 'ranked' && (latest ?? 0) <= 10,
  near: ({ state, latest }) => state === 'ranked' && (latest ?? 0) >= 4 && (latest ?? 0) <= 20,
  absent: ({ state }) => state === 'absent',
  gap: ({ state }) => state === 'gap',
}

/** @param {Row} row */
function isWanted(row) {
  const [list, app] = data.series[row.series] ?? [0, 0]
  return (
    data.lists[list]?.name.toLowerCase().includes(chosen('text').trim().toLowerCase()) &&
    ['', String(app)].includes(chosen('app')) &&
    (STATES[chosen('state')]?.(row) ?? true) &&
    isInScope(list)
  )
}

/** @param {HTMLElement} row */
export function drawTrend(row) {
  const cell = find('td.trend', row)
  const [, , points] = data.series[rows.get(row)?.series ?? -1] ?? [0, 0, []]
  if (cell.childElementCount === 0) cell.append(make(drawSpark(points.map(rankOf))))
}

function filterRows() {
  let count = 0
  for (const element of findAll('table.keywords tr[id]')) {
    const row = rows.get(element)
    const fits = row !== undefined && isWanted(row)
    if (fits) count += 1
    element.hidden = !fits || (count > ROWS_SHOWN && !table.showsAll)
    if (!element.hidden) drawTrend(element)
  }
  if (panel.row?.hidden) closePanel()
  const shown = table.showsAll ? count : Math.min(count, ROWS_SHOWN)
  const ofAll = count < rows.size || shown === count
  find('#shown').textContent = `${ofAll ? count : shown} of ${ofAll ? rows.size : count} keywords`
  find('#show-all').hidden = shown === count
}

/** @param {HTMLElement} head */
function sortByClick(head) {
  const button = make(element('button', { type: 'button' }, [head.textContent ?? '']))
  const key = /** @type {keyof Row} */ (head.dataset.key)
  button.addEventListener('click', () => {
    table.isDown = table.key === key ? !table.isDown : /^([dw]|opp)/.test(key)
    table.key = key
    sortRows()
  })
  head.replaceChildren(button)
}

/** @param {HTMLElement} row @param {number} series */
function openByClick(row, series) {
  const name = find('.key', row)
  const attributes = { type: 'button', class: 'key', 'aria-expanded': 'false' }
  const button = make(element('button', attributes, [name.textContent ?? '']))
  button.addEventListener('click', () => (panel.row === row ? closePanel() : openPanel(row, series)))
  name.replaceWith(button)
}

export function prepareTable() {
  findAll('table.keywords th[data-key]').forEach(sortByClick)
  for (const [element, { series }] of rows) openByClick(element, series)
  find('#show-all').addEventListener('click', () => {
    table.showsAll = true
    filterRows()
  })
  filters.addEventListener('submit', (event) => event.preventDefault())
  // What is chosen above the page is of the same form.
  for (const field of [filters, ...findAll('.scope select')]) {
    field.addEventListener('input', () => {
      applyScope()
      filterRows()
    })
  }
  filters.hidden = rows.size === 0
  applyScope()
  sortRows()
}
