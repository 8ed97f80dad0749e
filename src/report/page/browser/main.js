// @ts-check
/** Begins where the page is read: before that it stands by itself. */
import { formatPoint } from '../../points.js'
import { drawHead, drawTable, element, scrolling } from '../captions.js'
import { data, findAll, make } from './elements.js'
import { fitPanel, openPanel, panel } from './panel.js'
import { attachReader } from './pointer.js'
import { applyScope, drawTrend, prepareTable } from './table.js'

/** A link to a keyword opens its chart. */
function followHash() {
  const row = /^#k\d+$/.test(location.hash) ? document.querySelector(location.hash) : null
  if (!(row instanceof HTMLElement)) return
  row.hidden = false
  drawTrend(row)
  if (panel.row !== row) openPanel(row, Number(row.id.slice(1)))
  row.scrollIntoView({ block: 'start' })
}

/** Every followed app on every keyword on the last day, as a table that is made when it is opened. */
function prepareMatrix() {
  const details = document.querySelector('#matrix')
  details?.addEventListener('toggle', () => {
    if (details.childElementCount > 1) return
    details.append(make(scrolling('Ranks of all apps', drawMatrix())))
    if (document.querySelector('#filters') !== null) applyScope()
  })
}

function drawMatrix() {
  const points = new Map(data.series.map(([list, app, all]) => [`${list} ${app}`, all.at(-1) ?? 0]))
  const name = (/** @type {string} */ text) => element('bdi', {}, [text])
  const heads = ['Keyword or chart', ...data.apps.map((app) => name(app.name))]
  const rows = data.lists.map((of, list) => {
    const cells = data.apps.map((_, app) => {
      const point = points.get(`${list} ${app}`)
      return element('td', {}, [point === undefined ? '' : formatPoint(point)])
    })
    const about = [name(of.name), element('small', {}, [of.place])]
    return element('tr', {}, [element('th', { scope: 'row', 'data-list': list }, about), ...cells])
  })
  return drawTable(
    heads.map((head) => drawHead(head)),
    rows,
    { class: 'matrix' },
  )
}

document.documentElement.classList.add('scripted')
if (document.querySelector('#keywords') !== null) prepareTable()
prepareMatrix()
for (const plot of findAll('.plot')) attachReader(plot)
window.addEventListener('hashchange', followHash)
window.addEventListener('resize', fitPanel)
followHash()
document.documentElement.classList.add('ready')
