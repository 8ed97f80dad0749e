// @ts-check
/**
 * The table of keywords, sorted and filtered, its trends drawn as they come into sight.
 *
 * @import { PageRow } from '../data.ts'
 */
import { drawSpark } from '../chart.js'
import { find, findAll, make, pen } from './elements.js'
import { closePanel, openPanel, panel } from './panel.js'
import { data, rankOf } from './ranks.js'
import { isInScope, prepareScope } from './scope.js'

const ROWS_SHOWN = 50
const SPARK = { width: 96, height: 22 }

const rows = new Map(data.rows.map((row) => [row, find(`#k${row.series}`)]))
const rowOf = new Map([...rows].map(([row, element]) => [element, row]))
const filters = /** @type {HTMLFormElement} */ (find('#filters'))
const body = find('table.keywords tbody')
const table = { key: 'latest', isDown: false, showsAll: false }

/** @param {PageRow} row @param {string} key */
function sortValue(row, key) {
  const [list] = data.series[row.series] ?? [0]
  if (key === 'name') return data.lists[list]?.name ?? ''
  if (key === 'best') return row.best
  if (key === 'latest') return row.latest
  if (key === 'weight' || key === 'difficulty' || key === 'opportunity')
    return data.lists[list]?.[key] ?? null
  return row.changes[['d1', 'd7', 'd30'].indexOf(key)] ?? null
}

/** What has no value is last, whichever way. @param {PageRow} a @param {PageRow} b */
function compare(a, b) {
  const [one, other] = [sortValue(a, table.key), sortValue(b, table.key)]
  if (one === null || other === null) return Number(one === null) - Number(other === null)
  const order = typeof one === 'string' ? one.localeCompare(String(other)) : one - Number(other)
  return table.isDown ? -order : order
}

function sortRows() {
  closePanel()
  body.append(...[...rows].toSorted(([a], [b]) => compare(a, b)).map(([, element]) => element))
  for (const head of findAll('table.keywords th[data-key]')) {
    const isSorted = head.dataset.key === table.key
    if (isSorted) head.setAttribute('aria-sort', table.isDown ? 'descending' : 'ascending')
    else head.removeAttribute('aria-sort')
  }
  filterRows()
}

/** @type {Record<string, (row: PageRow) => boolean>} */
const STATES = {
  up: ({ changes }) => (changes[1] ?? 0) > 0,
  down: ({ changes }) => (changes[1] ?? 0) < 0,
  top: ({ state, latest }) => state === 'ranked' && (latest ?? 0) <= 10,
  near: ({ state, latest }) => state === 'ranked' && (latest ?? 0) >= 4 && (latest ?? 0) <= 20,
  absent: ({ state }) => state === 'absent',
  gap: ({ state }) => state === 'gap',
}

/** @param {PageRow} row @param {FormData} wanted */
function isWanted(row, wanted) {
  const [list, app] = data.series[row.series] ?? [0, 0]
  const { name = '' } = data.lists[list] ?? {}
  const is = (/** @type {string} */ field, /** @type {(value: string) => boolean} */ holds) => {
    const value = String(wanted.get(field) ?? '')
    return value === '' || holds(value)
  }
  return (
    is('text', (text) => name.toLowerCase().includes(text.trim().toLowerCase())) &&
    is('app', (value) => value === String(app)) &&
    is('state', (value) => STATES[value]?.(row) ?? true) &&
    isInScope(list)
  )
}

function filterRows() {
  const wanted = new FormData(filters)
  let count = 0
  for (const element of body.querySelectorAll('tr[id]')) {
    const row = rowOf.get(/** @type {HTMLElement} */ (element))
    const fits = row !== undefined && isWanted(row, wanted)
    if (fits) count += 1
    element.toggleAttribute('hidden', !fits || (count > ROWS_SHOWN && !table.showsAll))
  }
  if (panel.row?.hidden) closePanel()
  const shown = table.showsAll ? count : Math.min(count, ROWS_SHOWN)
  find('#shown').textContent =
    count < rows.size || shown === count
      ? `${count} of ${rows.size} keywords`
      : `${shown} of ${count} keywords`
  find('#show-all').hidden = shown === count
}

export function prepareTable() {
  for (const head of findAll('table.keywords th[data-key]')) {
    const button = make('button', { type: 'button' }, [head.textContent ?? ''])
    button.addEventListener('click', () => {
      const isSame = table.key === head.dataset.key
      table.isDown = isSame ? !table.isDown : /^([dw]|opp)/.test(head.dataset.key ?? '')
      table.key = head.dataset.key ?? ''
      sortRows()
    })
    head.replaceChildren(button)
  }
  for (const [row, element] of rows) {
    const name = find('.key', element)
    const button = make('button', { type: 'button', class: 'key', 'aria-expanded': 'false' }, [
      name.textContent ?? '',
    ])
    button.addEventListener('click', () =>
      panel.row === element ? closePanel() : openPanel(element, row.series),
    )
    name.replaceWith(button)
  }
  find('#show-all').addEventListener('click', () => {
    table.showsAll = true
    filterRows()
  })
  filters.addEventListener('input', filterRows)
  prepareScope(filterRows)
  filters.addEventListener('submit', (event) => event.preventDefault())
  filters.hidden = rows.size === 0
  sortRows()
}

/** @param {HTMLElement} element */
function drawTrend(element) {
  const cell = find('td.trend', element)
  const [, , points] = data.series[rowOf.get(element)?.series ?? -1] ?? [0, 0, []]
  if (cell.childElementCount === 0) cell.append(drawSpark(pen, points.map(rankOf), SPARK))
}

export function watchTrends() {
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue
      observer.unobserve(target)
      drawTrend(/** @type {HTMLElement} */ (target))
    }
  })
  for (const element of rows.values()) observer.observe(element)
  window.addEventListener('beforeprint', () => {
    for (const element of rows.values()) if (!element.hidden) drawTrend(element)
  })
}
