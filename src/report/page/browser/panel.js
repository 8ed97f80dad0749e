// @ts-check
/**
 * The chart of one keyword, below its row: every app on it, day by day.
 *
 * @import { PageData } from '../data.ts'
 */

import { shortDay } from '../../../text/days.js'
import { drawRanks } from '../chart.js'
import { numberMarks } from '../marks.js'
import { find, make, pen, swatch } from './elements.js'
import { attachReader } from './pointer.js'
import { data, depthWithout, describePoint, gapOf, rankOf } from './ranks.js'

const PANEL_HEIGHT = 316

/** @type {{ row: HTMLElement | null, element: HTMLElement | null, hidden: Set<number> }} */
export const panel = { row: null, element: null, hidden: new Set() }

/** @param {HTMLElement} row @param {number} series */
export function openPanel(row, series) {
  closePanel()
  const cell = /** @type {HTMLTableCellElement} */ (make('td'))
  panel.row = row
  panel.element = make('tr', { class: 'panel' }, [cell])
  find('button.key', row).setAttribute('aria-expanded', 'true')
  row.after(panel.element)
  const [list] = data.series[series] ?? [0]
  fillPanel(cell, list)
  const observer = new ResizeObserver(() => {
    if (cell.isConnected) fillPanel(cell, list)
    else observer.disconnect()
  })
  observer.observe(find('table.keywords'))
}

export function closePanel() {
  if (panel.row !== null) find('button.key', panel.row).setAttribute('aria-expanded', 'false')
  panel.element?.remove()
  panel.row = null
  panel.element = null
}

/** @param {HTMLTableCellElement} cell @param {number} list */
function fillPanel(cell, list) {
  const cells = /** @type {HTMLTableRowElement | null} */ (panel.row)?.cells ?? []
  cell.colSpan = [...cells].filter((each) => each.offsetWidth > 0).length
  const { name, place } = data.lists[list] ?? { name: '', place: '' }
  const all = data.series.filter((series) => series[0] === list)
  const shown = all.filter(([, app]) => !panel.hidden.has(app))
  const label = `Ranks on ${name} (${place})`
  // A list that was not measured was so for all of its apps.
  const gaps = data.days.map((_, day) =>
    gapOf(Math.min(0, ...all.map(([, , points]) => gapPoint(points[day])))),
  )
  const plot = make('div', { class: 'plot', 'data-label': label }, [
    drawPanel(label, { shown, gaps }, cell.clientWidth),
  ])
  const toggles = all.map(([, app, points]) => {
    const toggle = make('button', { type: 'button', 'aria-pressed': String(!panel.hidden.has(app)) }, [
      swatch(`line ${data.apps[app]?.className}`),
      make('bdi', {}, [data.apps[app]?.name ?? '']),
      make('b', {}, [describePoint(points.at(-1) ?? 0)]),
    ])
    toggle.addEventListener('click', () => {
      if (!panel.hidden.delete(app)) panel.hidden.add(app)
      fillPanel(cell, list)
      const nth = all.findIndex((one) => one[1] === app)
      find(`.toggles button:nth-child(${nth + 1})`, cell).focus()
    })
    return toggle
  })
  const figure = make('figure', { class: 'figure' }, [
    make('figcaption', {}, [make('h3', {}, [label]), make('p', {}, [describeList(list)])]),
    make('div', { class: 'toggles', role: 'group', 'aria-label': 'Apps shown' }, toggles),
    plot,
    nameMarks(shown),
    nameGaps(gaps),
    listHolders(list),
    tabulate(shown),
  ])
  cell.replaceChildren(figure)
  attachReader(plot)
}

/** What a narrow table leaves out. @param {number} list */
function describeList(list) {
  const { weight = 1, difficulty = null, opportunity = null } = data.lists[list] ?? {}
  const rated = difficulty === null ? '' : ` · difficulty ${difficulty.toFixed(0)}`
  return `Weight ${weight}${rated}${opportunity === null ? '' : ` · opportunity ${opportunity.toFixed(2)}`}`
}

/** Who is first to tenth on the last day. @param {number} list */
function listHolders(list) {
  const holders = data.lists[list]?.holders ?? []
  if (holders.length === 0) return ''
  const rows = holders.map(showHolder)
  const { paid = [] } = data.lists[list] ?? {}
  const advertised = paid.length === 0 ? [] : [make('p', {}, [`Advertised here: ${paid.join(', ')}.`])]
  const heads = ['Rank', 'App', 'Day before', 'Votes'].map((name) => make('th', { scope: 'col' }, [name]))
  return make('div', { class: 'holders' }, [
    make('h4', {}, ['Who is 1st to 10th']),
    make('table', {}, [make('thead', {}, [make('tr', {}, heads)]), make('tbody', {}, rows)]),
    ...advertised,
  ])
}

/** @param {PageData['lists'][number]['holders'][number]} holder */
function showHolder([rank, name, app, before, votes]) {
  const followed = data.apps[app]
  const key = followed === undefined ? [] : [swatch(`line ${followed.className}`)]
  const role = followed === undefined ? [] : [make('small', {}, [followed.isOwn ? 'own' : 'competitor'])]
  return make('tr', { class: followed === undefined ? '' : 'followed' }, [
    make('td', {}, [String(rank)]),
    make('th', { scope: 'row' }, [
      ...key,
      make('bdi', {}, [followed?.name ?? data.names[name] ?? '']),
      ...role,
    ]),
    make('td', {}, [before === 0 ? 'not ranked' : String(before ?? '–')]),
    make('td', {}, [votes?.toLocaleString('en-US') ?? '–']),
  ])
}

/** @typedef {PageData['gaps'][number] | null} Gap */

/** The point, if it is a gap. @param {number | undefined} point */
function gapPoint(point = 0) {
  return gapOf(point) === null ? 0 : point
}

/** What the colours of the bands mean, as far as there are any. @param {readonly Gap[]} gaps */
function nameGaps(gaps) {
  const there = data.gaps.filter((gap) => gaps.includes(gap))
  const entries = there.map(({ name, className }) =>
    make('li', {}, [swatch(`bar ${className}`), `not measured: ${name}`]),
  )
  return make('ul', { class: 'legend' }, entries)
}

/**
 * @param {string} label @param {{ shown: PageData['series'], gaps: readonly Gap[] }} what @param {number}
 * width
 */
function drawPanel(label, { shown, gaps }, width) {
  const lines = shown.map(([, app, points]) => ({
    className: data.apps[app]?.className ?? '',
    values: points.map(rankOf),
    absent: points.map((point) => depthWithout(point) !== null),
  }))
  const bands = gaps.map((gap) => gap?.className ?? null)
  const depths = shown.flatMap(([, , points]) => points.map(depthWithout).filter((depth) => depth !== null))
  const frame = {
    label,
    days: data.days,
    width: Math.max(300, width - 24),
    height: PANEL_HEIGHT,
    marks: marksOf(shown),
    bands,
  }
  return drawRanks(pen, frame, lines, depths.length === 0 ? '' : `> ${Math.min(...depths)}`)
}

/** @param {PageData['series']} shown */
function marksOf(shown) {
  return data.marks.filter(({ app }) => app === null || shown.some((series) => series[1] === app))
}

/** What the numbers above the days mean. @param {PageData['series']} shown */
function nameMarks(shown) {
  const entries = numberMarks(marksOf(shown)).map(({ number, day, className, texts }) =>
    make('li', {}, [
      make('b', { class: `number ${className}` }, [make('i', {}, [String(number)])]),
      make('span', {}, [make('time', {}, [shortDay(data.days[day] ?? '')]), ` ${texts.join('; ')}`]),
    ]),
  )
  return make('ul', { class: 'marks' }, entries)
}

/** @param {PageData['series']} shown */
function tabulate(shown) {
  const heads = shown.map(([, app]) =>
    make('th', { scope: 'col', 'data-class': `line ${data.apps[app]?.className}` }, [
      data.apps[app]?.name ?? '',
    ]),
  )
  const lines = data.dayNames.map((day, n) => {
    const notes = marksOf(shown)
      .filter((mark) => mark.day === n)
      .map(({ text }) => make('em', {}, [` ${text}`]))
    return make('tr', {}, [
      make('th', { scope: 'row' }, [day, ...notes]),
      ...shown.map(([, , points]) => make('td', {}, [describePoint(points[n] ?? 0)])),
    ])
  })
  const scroll = make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Numbers' }, [
    make('table', {}, [
      make('thead', {}, [make('tr', {}, [make('th', { scope: 'col' }, ['Day']), ...heads])]),
      make('tbody', {}, lines),
    ]),
  ])
  return make('details', { class: 'numbers' }, [make('summary', {}, ['Numbers']), scroll])
}
