/** The own apps by country and by tag, and what is in both stores. */
import { formatCount, formatDifference, formatPercent } from '../../text/words.ts'
import type { ProductRank, Report, Segment } from '../model.ts'
import { nameApp } from '../summary.ts'
import { html, type Markup, NOTHING } from './markup.ts'

export function showSegments(report: Report): Markup {
  if (report.segments.length === 0) return NOTHING
  const rows = report.segments.map((segment) => showSegment(report, segment))
  return html`<h3>By country and tag</h3>
<div class="scroll" tabindex="0" role="region" aria-label="Parts of the watchlist">
<table class="texts segments"><thead><tr><th scope="col">Keywords</th><th scope="col" class="text">App</th>
<th scope="col">Visibility</th><th scope="col">In 7 days</th><th scope="col">Compared on</th>
<th scope="col">In the top 10</th></tr></thead><tbody>${rows}</tbody></table></div>`
}

function showSegment(report: Report, segment: Segment): Markup {
  const { kind, name, app, visibility, inTop, measured, due, change, compared } = segment
  const tone = change === null || Math.abs(change) < 0.05 ? '' : change > 0 ? 'good' : 'bad'
  return html`<tr><th scope="row">${kind === 'tag' ? `#${name}` : name}</th>
<td class="text">${nameApp(report, app)}</td><td data-head="visibility">${formatPercent(visibility)}</td>
<td data-head="in 7 days" class="${tone}">${change === null ? '–' : formatDifference(change)}</td>
<td data-head="compared on">${formatCount(compared ?? 0)} of ${formatCount(due)}</td>
<td data-head="in the top 10">${
    inTop === null ? '–' : `${formatCount(inTop)} of ${formatCount(measured)}`
  }</td></tr>`
}

export function showProducts({ products }: Report): Markup {
  if (products.length === 0) return NOTHING
  const rows = products.map(showProduct)
  return html`<h3>In both stores</h3>
<p class="lead">Apps of both stores with one label, on the keywords on which these differ most.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Products in both stores">
<table class="texts segments"><thead><tr><th scope="col">Keyword</th><th scope="col" class="text">Product</th>
<th scope="col">iOS</th><th scope="col">Android</th></tr></thead><tbody>${rows}</tbody></table></div>`
}

function showProduct({ product, keyword, place, ios, android }: ProductRank): Markup {
  const show = (rank: number | null) => (rank === null ? 'not in top' : String(rank))
  return html`<tr><th scope="row"><bdi>${keyword}</bdi><small>${place}</small></th>
<td class="text">${product}</td>
<td data-head="iOS">${show(ios)}</td><td data-head="Android">${show(android)}</td></tr>`
}
