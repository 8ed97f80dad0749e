/** Who else stands on the keywords: each competitor against each own app, and apps that nobody follows. */
import type { Shown } from '../../sections.ts'
import { countOf, formatCount, STORE_NAMES } from '../../text/words.ts'
import { formatPoint } from '../points.js'
import type { Report } from '../read.ts'
import type { Duel, Overtaking } from '../read-changes.ts'
import { TOP } from '../scope.ts'
import { nameApp, nameList, overtakingSince } from '../summary.ts'
import { nameKeyword } from './keywords.ts'
import { html, type Markup, showDay, showMore, showNothing, showPart, showTable } from './markup.ts'

const SHOWN = 15
const HEADS = [
  ...['Own app', { text: 'Competitor' }, 'Ahead on', 'Behind on', 'Share ahead'],
  ...['Overtook it on', 'Was overtaken on'],
]

export function showRivals(report: Report, shown: Shown): Markup {
  const { duels } = report
  if (duels.length === 0)
    return showNothing('No own app and competitor are ranked on the same keyword or chart.')
  const rows = duels.map((duel) => showDuel(report, duel))
  return html`<p class="lead">Keywords on which one of the two ranks: who is ahead now, who overtook whom
since ${overtakingSince(report)}.</p>
${showTable('Own apps against competitors', 'duels', HEADS, rows)}
<div class="columns">${showTurns(report, 'lost', shown)}${showTurns(report, 'won', shown)}</div>`
}

function showDuel(report: Report, { own, rival, ahead, behind, won, lost }: Duel) {
  const percent = Math.round((100 * ahead) / (ahead + behind))
  const share = html`
<meter min="0" max="100" value="${percent}" aria-label="Share ahead">${percent} %</meter> ${percent} %`
  // No colour says of nothing that it is good or bad.
  const times = (count: number, tone: string) => ({ shown: formatCount(count), as: count === 0 ? '' : tone })
  return [
    nameApp(report, own),
    nameApp(report, rival),
    formatCount(ahead),
    formatCount(behind),
    { shown: share, as: 'share' },
    times(won.length, 'good'),
    times(lost.length, 'bad'),
  ]
}

function showTurns(report: Report, side: 'won' | 'lost', shown: Shown): Markup {
  // Where it matters most: the nearer to the first place, the higher.
  const place = ({ own, rival }: Overtaking) =>
    Math.min(...[own[1], rival[1]].filter((rank) => rank !== null))
  const turns = report.duels
    .flatMap((duel) => duel[side].map((turn) => ({ duel, turn })))
    .toSorted((a, b) => place(a.turn) - place(b.turn) || b.turn.day.localeCompare(a.turn.day))
  const title = side === 'won' ? 'We overtook' : 'We were overtaken'
  if (turns.length === 0) return html`<div><h3>${title}</h3>${showNothing('None.')}</div>`
  const rows = turns.map(({ duel, turn }) => showTurn(report, duel, turn, shown))
  const list = (some: readonly Markup[]) => html`<ol class="turns">${some}</ol>`
  return html`<div><h3>${title} (${formatCount(turns.length)})</h3>${showMore(rows, SHOWN, list)}</div>`
}

function showTurn(report: Report, { own, rival }: Duel, turn: Overtaking, shown: Shown): Markup {
  const pointsOf = (app: number) =>
    report.series.find((series) => series.list === turn.list && series.app === app)?.points ?? []
  const show = (app: number, [before, after]: readonly [number | null, number | null]) => {
    const today = formatPoint(pointsOf(app).at(-1) ?? 0)
    const course = `${before ?? 'not ranked'} → ${after ?? 'not ranked'}`
    return html`<bdi>${nameApp(report, app)}</bdi> <b>${course}</b> (today ${today})`
  }
  return html`<li>${nameKeyword(report, { list: turn.list, app: own }, shown)}
${showDay(turn.day)}
<small>${show(own, turn.own)}, ${show(rival, turn.rival)}</small></li>`
}

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
