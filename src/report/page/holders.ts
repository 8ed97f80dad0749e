/** Who holds the keywords: apps that the project does not follow, and every followed app on every keyword. */
import { countOf, formatCount, STORE_NAMES } from '../../text/words.ts'
import type { Report } from '../read.ts'
import { TOP } from '../scope.ts'
import { nameList } from '../summary.ts'
import { html, type Markup, showNothing } from './markup.ts'
import { showPart, showTable } from './table.ts'

/** Lists whose first places are named: those that weigh most. */
const LISTS_SHOWN = 20
const PLACES_SHOWN = 3

export function showHolders(report: Report): Markup {
  const { unwatched } = report
  const rows = unwatched.map(({ store, name, keywords, measured, before, best, average, examples }) => [
    html`<bdi>${name}</bdi><small>${STORE_NAMES[store]}</small>`,
    `${formatCount(keywords)} of ${formatCount(measured)}`,
    formatCount(before),
    best,
    average.toFixed(1),
    [...new Set(examples)].join(', '),
  ])
  const heads = ['App', 'Keywords', 'A week ago', 'Best rank', 'Average rank', { text: 'For example' }]
  const table = showTable('Apps that you do not track', '', heads, rows)
  return html`<p class="lead">Apps that you do not track, by the number of your keywords on which they are in
the top ${TOP}.</p>
${rows.length === 0 ? showNothing('None, or no keyword was measured on the last day.') : table}
${showFirstPlaces(report)}
${showAdvertisers(report)}
<details id="matrix" class="scripted"><summary>Ranks of all
${countOf(report.apps.length, 'app')} on all keywords</summary></details>`
}

/** The apps of the project in bold. */
function showFirstPlaces(report: Report): Markup {
  const lists = [...report.holders.entries()]
    .filter(([, holders]) => holders.length > 0)
    .toSorted(([a], [b]) => (report.lists[b]?.weight ?? 1) - (report.lists[a]?.weight ?? 1))
  return showPart({
    title: `The first ${PLACES_SHOWN} on the last day, where it weighs most`,
    heads: ['Keyword or chart', { text: '1st' }, { text: '2nd' }, { text: '3rd' }],
    rows: lists.slice(0, LISTS_SHOWN).map(([list, holders]) => [
      html`<span data-list="${list}">${nameList(report, list)}</span>`,
      ...holders.slice(0, PLACES_SHOWN).map(({ name, app }) => {
        const shown = html`<bdi>${name}</bdi>`
        return app === null ? shown : html`<b>${shown}</b>`
      }),
    ]),
  })
}

/** Nothing where nobody advertises, which includes a service that tells of no advertisements. */
function showAdvertisers({ advertisers }: Report): Markup {
  return showPart({
    title: 'Who advertises on your keywords',
    lead: `Of the last 30 days. Your brand: keywords with the tag brand, or with the name of your app.`,
    heads: ['App', 'Keywords', 'Days', { text: 'On your brand' }, { text: 'For example' }],
    rows: advertisers.map(({ store, name, isWatched, keywords, days, brands, examples }) => [
      html`<bdi>${name}</bdi><small>${STORE_NAMES[store]}${isWatched ? ' · competitor' : ''}</small>`,
      formatCount(keywords),
      formatCount(days),
      brands.join(', ') || '–',
      examples.join(', '),
    ]),
  })
}
