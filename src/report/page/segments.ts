/** The own apps by country and by tag, and what is in both stores. */
import { formatCount, formatDifference, formatPercent } from '../../text/words.ts'
import type { Report, Segment } from '../model.ts'
import { nameApp } from '../summary.ts'
import { html, type Markup, NOTHING } from './markup.ts'
import { showTable, toneOf } from './table.ts'

export function showSegments(report: Report): Markup {
  if (report.segments.length === 0) return NOTHING
  const heads = ['Keywords', { text: 'App' }, 'Visibility', 'In 7 days', 'Compared on', 'In the top 10']
  const rows = report.segments.map((segment) => showSegment(report, segment))
  return html`<h3>By country and tag</h3>
<p class="lead">Average rank: of the keywords on which it ranks. Gained most: the competitor whose visibility
rose most in 30 days, in points.</p>
${showTable('Parts of the watchlist', 'segments', [...heads, 'Average rank', { text: 'Gained most' }], rows)}`
}

function showSegment(report: Report, segment: Segment) {
  const { kind, name, app, visibility, inTop, measured, due, change, compared, average, rival } = segment
  return [
    kind === 'tag' ? `#${name}` : name,
    nameApp(report, app),
    formatPercent(visibility),
    { shown: change === null ? '–' : formatDifference(change), as: toneOf(change, 0.05) },
    `${formatCount(compared ?? 0)} of ${formatCount(due)}`,
    inTop === null ? '–' : `${formatCount(inTop)} of ${formatCount(measured)}`,
    average === null ? '–' : average.toFixed(1),
    rival === null ? '–' : html`<bdi>${rival.name}</bdi> ${formatDifference(rival.change)}`,
  ]
}

export function showProducts({ products }: Report): Markup {
  if (products.length === 0) return NOTHING
  const show = (rank: number | null) => (rank === null ? 'not in top' : rank)
  const rows = products.map(({ product, keyword, place, ios, android }) => [
    html`<bdi>${keyword}</bdi><small>${place}</small>`,
    product,
    show(ios),
    show(android),
  ])
  return html`<h3>In both stores</h3>
<p class="lead">Apps of both stores with one label, on the keywords on which these differ most.</p>
${showTable('Products in both stores', 'segments', ['Keyword', { text: 'Product' }, 'iOS', 'Android'], rows)}`
}
