/** Who holds the keywords: apps that the project does not follow, and every followed app on every keyword. */
import { countOf, formatCount, STORE_NAMES } from '../../text/words.ts'
import { type Report, TOP } from '../model.ts'
import { nameList } from '../summary.ts'
import { showNothing } from './figure.ts'
import { html, type Markup, NOTHING } from './markup.ts'

/** Lists whose first places are named: those that weigh most. */
const LISTS_SHOWN = 20
const PLACES_SHOWN = 3

/** Nothing where nobody advertises, which includes a service that tells of no advertisements. */
function showAdvertisers({ advertisers }: Report): Markup {
  if (advertisers.length === 0) return NOTHING
  const rows = advertisers.map(
    ({ store, name, isWatched, keywords, days, brands, examples }) =>
      html`<tr><th scope="row"><bdi>${name}</bdi><small>${STORE_NAMES[store]}
${isWatched ? ' · competitor' : ''}</small></th>
<td data-head="keywords">${formatCount(keywords)}</td><td data-head="days">${formatCount(days)}</td>
<td class="text" data-head="on your brand">${brands.join(', ') || '–'}</td>
<td class="text" data-head="for example">${examples.join(', ')}</td></tr>`,
  )
  return html`<h3>Who advertises on your keywords</h3>
<p class="lead">Of the last 30 days. Your brand: keywords with the tag brand,
  or with the name of your app.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Who advertises">
<table class="texts holders advertisers"><thead><tr><th scope="col">App</th><th scope="col">Keywords</th>
<th scope="col">Days</th><th scope="col" class="text">On your brand</th>
<th scope="col" class="text">For example</th></tr></thead><tbody>${rows}</tbody></table></div>`
}

export function showHolders(report: Report): Markup {
  const { unwatched } = report
  const rows = unwatched.map(
    ({ store, name, keywords, measured, before, best, average, examples }) =>
      html`<tr><th scope="row"><bdi>${name}</bdi><small>${STORE_NAMES[store]}</small></th>
<td data-head="keywords">${formatCount(keywords)} of ${formatCount(measured)}</td>
<td data-head="a week ago">${formatCount(before)}</td><td data-head="best rank">${best}</td>
<td data-head="average rank">${average.toFixed(1)}</td>
<td class="text" data-head="for example">${[...new Set(examples)].join(', ')}</td></tr>`,
  )
  const table = html`<div class="scroll" tabindex="0" role="region" aria-label="Apps that you do not track">
<table class="texts holders"><thead><tr><th scope="col">App</th><th scope="col">Keywords</th>
<th scope="col">A week ago</th><th scope="col">Best rank</th><th scope="col">Average rank</th>
<th scope="col" class="text">For example</th></tr></thead><tbody>${rows}</tbody></table></div>`
  return html`<section id="holders" aria-labelledby="holders-title">
<h2 id="holders-title">Who holds your keywords</h2>
<p class="lead">Apps that you do not track, by the number of your keywords on which they are in the
top ${TOP}.</p>
${rows.length === 0 ? showNothing('None, or no keyword was measured on the last day.') : table}
${showFirstPlaces(report)}
${showAdvertisers(report)}
<details id="matrix" class="scripted"><summary>Ranks of all
${countOf(report.apps.length, 'app')} on all keywords</summary></details></section>`
}

/** The apps of the project in bold. */
function showFirstPlaces(report: Report): Markup {
  const lists = [...report.holders.entries()]
    .filter(([, holders]) => holders.length > 0)
    .toSorted(([a], [b]) => (report.lists[b]?.weight ?? 1) - (report.lists[a]?.weight ?? 1))
    .slice(0, LISTS_SHOWN)
  if (lists.length === 0) return NOTHING
  const rows = lists.map(([list, holders]) => {
    const names = holders.slice(0, PLACES_SHOWN).map(({ name, app }) => {
      const shown = html`<bdi>${name}</bdi>`
      return html`<td class="text">${app === null ? shown : html`<b>${shown}</b>`}</td>`
    })
    return html`<tr><th scope="row" data-list="${list}">${nameList(report, list)}</th>${names}</tr>`
  })
  return html`<h3>The first ${PLACES_SHOWN} on the last day, where it weighs most</h3>
<div class="scroll" tabindex="0" role="region" aria-label="The first places">
<table class="texts"><thead><tr><th scope="col">Keyword or chart</th><th scope="col" class="text">1st</th>
<th scope="col" class="text">2nd</th><th scope="col" class="text">3rd</th></tr></thead>
<tbody>${rows}</tbody></table></div>`
}
