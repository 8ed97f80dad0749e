// @ts-check
/**
 * The chart of one keyword, below its row: every app on it, day by day.
 *
 * @import { PageData } from '../data.ts'
 */
import { GAP_NAMES, GAPS } from '../../../text/gaps.js'
import { depthWithout, formatPoint, gapOf, rankOf } from '../../points.js'
import { drawHead, drawLegend, drawMarkTexts, drawNumbers, drawTable, element, swatch } from '../captions.js'
import { drawRanks } from '../chart.js'
import { data, find, make } from './elements.js'
import { attachReader } from './pointer.js'

const PANEL_HEIGHT = 316

/** @type {{ row: HTMLElement | null, cell: HTMLTableCellElement | null, list: number,
 *   pageWidth: number, hidden: Set<number> }} */
export const panel = { row: null, cell: null, list: 0, pageWidth: 0, hidden: new Set() }

/** @param {HTMLElement} row @param {number} series */
export function openPanel(row, series) {
  closePanel()
  const cell = /** @type {HTMLTableCellElement} */ (make(element('td')))
  const [list] = data.series[series] ?? [0]
  Object.assign(panel, { row, cell, list })
  const panelRow = make(element('tr', { class: 'panel' }))
  panelRow.append(cell)
  find('button.key', row).setAttribute('aria-expanded', 'true')
  row.after(panelRow)
  fillPanel()
  cell.addEventListener('click', ({ target }) => {
    const toggle = /** @type {Element} */ (target).closest('.toggles button')
    if (!(toggle instanceof HTMLElement)) return
    const app = Number(toggle.dataset.app)
    if (!panel.hidden.delete(app)) panel.hidden.add(app)
    fillPanel()
    find(`.toggles [data-app="${app}"]`, cell).focus()
  })
}

export function closePanel() {
  if (panel.row !== null) find('button.key', panel.row).setAttribute('aria-expanded', 'false')
  panel.cell?.parentElement?.remove()
  Object.assign(panel, { row: null, cell: null })
}

/** What a person has opened in it stays open while the page is as wide. */
export function fitPanel() {
  if (innerWidth !== panel.pageWidth) fillPanel()
}

function fillPanel() {
  const { row, cell, list } = panel
  if (row === null || cell === null) return
  panel.pageWidth = innerWidth
  cell.colSpan = [...row.children].filter((each) => /** @type {HTMLElement} */ (each).offsetWidth > 0).length
  // Without what stands in it, which may be wider than the page is now.
  cell.replaceChildren()
  cell.append(make(drawPanel(list, cell.clientWidth)))
  attachReader(find('.plot', cell))
}

/** @param {number} list @param {number} width */
function drawPanel(list, width) {
  const { name, place } = data.lists[list] ?? { name: '', place: '' }
  const all = data.series.filter((series) => series[0] === list)
  const shown = all.filter(([, app]) => !panel.hidden.has(app))
  const marks = data.marks.filter(({ app }) => app === null || shown.some((series) => series[1] === app))
  const label = `Ranks on ${name} (${place})`
  // A list that was not measured was so for all of its apps.
  const bands = data.days.map((_, day) => {
    const gaps = all.map(([, , points]) => gapOf(points[day] ?? 0))
    return gaps.find((gap) => gap !== null) ?? null
  })
  const depths = shown.flatMap(([, , points]) => points.map(depthWithout).filter((depth) => depth !== null))
  const size = { width: Math.max(300, width - 24), height: PANEL_HEIGHT }
  const chart = drawRanks(
    { label, days: data.days, ...size, marks, bands },
    shown.map(([, app, points]) => ({
      className: data.apps[app]?.className ?? '',
      values: points.map(rankOf),
      absent: points.map((point) => depthWithout(point) !== null),
    })),
    depths.length === 0 ? '' : `> ${Math.min(...depths)}`,
  )
  const caption = [element('h3', {}, [label]), element('p', {}, [describeList(list)])]
  const gaps = GAPS.filter((gap) => bands.includes(gap))
  const columns = shown.map(([, app, points]) => ({ ...named(app), texts: points.map(formatPoint) }))
  return element('figure', { class: 'figure' }, [
    element('figcaption', {}, caption),
    element('div', { class: 'toggles', role: 'group', 'aria-label': 'Apps shown' }, all.map(drawToggle)),
    element('div', { class: 'plot', 'data-label': label }, [chart]),
    drawMarkTexts(marks, data.days),
    drawLegend(gaps.map((gap) => ({ name: `not measured: ${GAP_NAMES[gap]}`, className: `bar ${gap}` }))),
    ...drawHolders(list),
    drawNumbers(label, data.dayNames, columns, marks),
  ])
}

/** An app and the class of its line. @param {number} app */
function named(app) {
  const { name = '', className = '' } = data.apps[app] ?? {}
  return { name, className: `line ${className}` }
}

/** @param {PageData['series'][number]} series */
function drawToggle([, app, points]) {
  const { name, className } = named(app)
  const state = { 'data-app': app, 'aria-pressed': String(!panel.hidden.has(app)) }
  const latest = element('b', {}, [formatPoint(points.at(-1) ?? 0)])
  return element('button', { type: 'button', ...state }, [
    ...[swatch(className), element('bdi', {}, [name]), latest],
  ])
}

/** What a narrow table leaves out. @param {number} list */
function describeList(list) {
  const { weight = 1, difficulty = null, opportunity = null } = data.lists[list] ?? {}
  const rated = difficulty === null ? '' : ` · difficulty ${difficulty.toFixed(0)}`
  return `Weight ${weight}${rated}${opportunity === null ? '' : ` · opportunity ${opportunity.toFixed(2)}`}`
}

/** Who is first to tenth on the last day. @param {number} list */
function drawHolders(list) {
  const { holders = [], paid = [] } = data.lists[list] ?? {}
  if (holders.length === 0) return []
  const heads = ['Rank', 'App', 'Day before', 'Votes'].map((name) => drawHead(name))
  const advertised = paid.length === 0 ? [] : [element('p', {}, [`Advertised here: ${paid.join(', ')}.`])]
  const title = element('h4', {}, ['Who is 1st to 10th'])
  return [
    element('div', { class: 'holders' }, [title, drawTable(heads, holders.map(drawHolder)), ...advertised]),
  ]
}

/** @param {PageData['lists'][number]['holders'][number]} holder */
function drawHolder([rank, name, app, before, votes]) {
  const followed = data.apps[app]
  const shown = element('bdi', {}, [followed?.name ?? data.names[name] ?? ''])
  const role = element('small', {}, [followed?.isOwn ? 'own' : 'competitor'])
  const about = followed === undefined ? [shown] : [swatch(named(app).className), shown, role]
  return element('tr', { class: followed === undefined ? '' : 'followed' }, [
    element('td', {}, [String(rank)]),
    element('th', { scope: 'row' }, about),
    element('td', {}, [before === 0 ? 'not ranked' : String(before ?? '–')]),
    element('td', {}, [votes?.toLocaleString('en-US') ?? '–']),
  ])
}
