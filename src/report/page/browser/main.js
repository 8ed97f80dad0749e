// @ts-check
/** Begins where the page is read: before that it stands by itself. */
import { findAll } from './elements.js'
import { prepareMatrix } from './matrix.js'
import { openPanel, panel } from './panel.js'
import { attachReader } from './pointer.js'
import { prepareTable, watchTrends } from './table.js'

/** A link to a keyword opens its chart. */
function followHash() {
  const row = /^#k\d+$/.test(location.hash) ? document.querySelector(location.hash) : null
  if (!(row instanceof HTMLElement)) return
  row.hidden = false
  if (panel.row !== row) openPanel(row, Number(row.id.slice(1)))
  row.scrollIntoView({ block: 'start' })
}

document.documentElement.classList.add('scripted')
if (document.querySelector('#keywords') !== null) {
  prepareTable()
  watchTrends()
}
prepareMatrix()
for (const plot of findAll('.plot')) attachReader(plot)
window.addEventListener('hashchange', followHash)
followHash()
document.documentElement.classList.add('ready')
