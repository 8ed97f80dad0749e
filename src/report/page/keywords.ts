/** The table of keywords: every own app on every list. The script sorts, filters and draws. */

import type { Shown } from '../../sections.ts'
import { GAP_MEANINGS } from '../../text/gaps.js'
import { asName } from '../../text/names.ts'
import { formatCount, formatWeight, STORE_NAMES } from '../../text/words.ts'
import { depthWithout, formatPoint, gapOf, isRanked, NOTHING_DUE, rankOf } from '../points.js'
import type { Report } from '../read.ts'
import type { Move } from '../read-changes.ts'
import type { RankSeries } from '../read-ranks.ts'
import { SPANS, type Span } from '../scope.ts'
import {
  compareOver,
  describeMissing,
  formatChange,
  isBetter,
  isWorse,
  nameApp,
  nameList,
} from '../summary.ts'
import { drawSpark } from './chart.js'
import { html, type Markup, NOTHING, raw, showNothing, toMarkup } from './markup.ts'

export function showSparkline({ points }: RankSeries): Markup {
  return toMarkup(drawSpark(points.map(rankOf)))
}

/** A keyword by its name, which leads to its row where there is the table. */
export function nameKeyword(report: Report, at: Pick<Move, 'list' | 'app'>, shown: Shown): Markup {
  const row = report.series.findIndex(({ list, app }) => list === at.list && app === at.app)
  const name = nameList(report, at.list)
  return shown.has('keywords') && row >= 0
    ? html`<a href="#k${row}" data-list="${at.list}">${name}</a>`
    : html`<span data-list="${at.list}">${name}</span>`
}

export function showKeywords(report: Report): Markup {
  const rows = listRows(report)
  const moves = indexMoves(report)
  const heads = [
    head('name', 'Keyword or chart'),
    raw('<th scope="col" class="trend">Trend</th>'),
    head('best', 'Best'),
    head('latest', 'Latest'),
    ...(isWeighted(report) ? [head('weight', 'Weight')] : []),
    ...(isRated(report) ? [head('difficulty', 'Difficulty'), head('opportunity', 'Opportunity')] : []),
    ...SPANS.map((span) => head(`d${span}`, span === 1 ? '1 day' : `${span} days`)),
  ]
  return html`<p class="lead">The rank of each own app.
<span class="scripted">Choose one to see its ranks against the competitors, day by day.</span>
“> 100” is measured and not among the first 100; a word such as “budget” says why there is no
measurement.${isRated(report) ? RATED : NOTHING}</p>
${showFilters(report, rows.length)}${rows.length === 0 ? showNothing(describeMissing(report) ?? '') : NOTHING}
<table class="keywords"${raw(rows.length === 0 ? ' hidden' : '')} aria-labelledby="keywords-title"><thead>
<tr>${heads}</tr></thead>
<tbody>${rows.map((row) => showRow(report, row, moves))}</tbody></table>
<p class="more"><button type="button" id="show-all" hidden>Show all</button></p>`
}

/** How a series has moved over each of `SPANS`. */
export type MovesOf = (series: RankSeries) => readonly (Move | undefined)[]

export function indexMoves(report: Report): MovesOf {
  const keyOf = ({ list, app }: Pick<Move, 'list' | 'app'>) => `${list} ${app}`
  const bySpan = SPANS.map(
    (span) => new Map(compareOver(report, span).moves.map((move) => [keyOf(move), move])),
  )
  return (series) => bySpan.map((moves) => moves.get(keyOf(series)))
}

const LAST = 1_000_000

/** Indexes in `Report.series`: the best ranks first, then what is not in the top, then not measured. */
export function listRows({ series, apps }: Report): number[] {
  const order = (index: number) => {
    const latest = series[index]?.points.at(-1) ?? NOTHING_DUE
    return isRanked(latest) ? latest : (depthWithout(latest) ?? LAST)
  }
  const own = [...series.keys()].filter((index) => apps[series[index]?.app ?? -1]?.role === 'own')
  return own.toSorted((a, b) => order(a) - order(b) || a - b)
}

/** Where all lists are worth the same, that says nothing. */
function isWeighted({ lists }: Report): boolean {
  return lists.some(({ weight }) => weight !== lists[0]?.weight)
}

/** Where nothing was measured in the last week nothing is known of them. */
function isRated({ strengths }: Report): boolean {
  return strengths.some((strength) => strength !== null)
}

const RATED = html` Difficulty, 0 to 100: votes, ratings, titles and stability of the top 10. Opportunity:
weight × what a better rank would win × how near and how easy it is.`

/** @param list its index in `Report.lists` */
function showStrength(report: Report, list: number): Markup {
  if (!isRated(report)) return NOTHING
  const strength = report.strengths[list]
  return html`<td class="difficulty">${strength?.difficulty.toFixed(0) ?? '–'}</td>
<td class="opportunity">${strength?.opportunity.toFixed(2) ?? '–'}</td>`
}

function head(key: string, name: string): Markup {
  return html`<th scope="col" class="${key}" data-key="${key}">${name}</th>`
}

function showRow(report: Report, index: number, movesOf: MovesOf): Markup {
  const series = report.series[index]
  if (series === undefined) return raw('')
  const changes = movesOf(series).map((move, n) => showChange(move, SPANS[n] ?? 1))
  const worth = isWeighted(report)
    ? html`<td class="weight">${formatWeight(report.lists[series.list]?.weight ?? 1)}</td>`
    : NOTHING
  return html`<tr id="k${index}">
<th scope="row"><span class="key">${asName(report.lists[series.list]?.name ?? '')}</span>
<small>${describePlace(report, series)}</small></th>
<td class="trend"></td><td class="best">${series.best ?? '–'}</td>${showLatest(series)}${worth}
${showStrength(report, series.list)}${changes}</tr>
`
}

/** `iOS US · ja · #brand`, and the app where there are several. */
function describePlace(report: Report, { list, app }: RankSeries): string {
  const { store = 'ios_store', place = '', language = '', tags = [] } = report.lists[list] ?? {}
  const hasSeveral = report.apps.filter(({ role }) => role === 'own').length > 1
  const parts = [
    `${STORE_NAMES[store]} ${place}`,
    language,
    tags.map((tag) => `#${tag}`).join(' '),
    hasSeveral ? nameApp(report, app) : '',
  ]
  return parts.filter((part) => part !== '').join(' · ')
}

function showLatest(series: RankSeries): Markup {
  const latest = series.points.at(-1) ?? NOTHING_DUE
  const gap = gapOf(latest)
  if (gap === null) return html`<td class="latest">${formatPoint(latest)}</td>`
  return html`<td class="latest missing" title="${GAP_MEANINGS[gap]}">${formatPoint(latest)}</td>`
}

function showChange(move: Move | undefined, span: Span): Markup {
  const tone = move === undefined ? '' : isBetter(move) ? ' good' : isWorse(move) ? ' bad' : ''
  return html`<td class="d${span}${tone}">${move === undefined ? '–' : formatChange(move)}</td>`
}

/** They do nothing without the script, which shows them. */
function showFilters(report: Report, count: number): Markup {
  const own = [...report.apps.entries()].filter(([, { role }]) => role === 'own')
  const apps = own.map(([index]) => [String(index), nameApp(report, index)] as const)
  return html`<form class="filters" id="filters" hidden>
<label>Search<input type="search" name="text" autocomplete="off"></label>
${apps.length < 2 ? NOTHING : select('app', 'App', apps)}
${select('state', 'Show', STATES)}
<output id="shown" aria-live="polite">${formatCount(count)}</output></form>`
}

/** Of the whole page: whatever names a keyword. Numbers and charts are of all of them. */
export function showScope({ lists }: Report): Markup {
  const distinct = (values: readonly string[]) => [...new Set(values)].toSorted()
  const choices = (name: string, label: string, values: readonly string[]) => {
    const options = values.map((value) => [value, value] as const)
    return select(name, label, options)
  }
  const places = distinct(lists.map(({ store, place }) => `${STORE_NAMES[store]} ${place}`))
  const tags = distinct(lists.flatMap(({ tags }) => tags))
  if (places.length < 2 && tags.length === 0) return NOTHING
  return html`<div class="scope scripted">
${places.length < 2 ? NOTHING : choices('place', 'Store and country', places)}
${tags.length === 0 ? NOTHING : choices('tag', 'Tag', tags)}
<span id="scoped" hidden>Keywords below are of this part; numbers and charts are of all.</span></div>`
}

const STATES = [
  ['up', 'up in 7 days'],
  ['down', 'down in 7 days'],
  ['top', 'in the top 10'],
  ['near', 'near the top: 4 to 20'],
  ['absent', 'not in the top'],
  ['gap', 'not measured'],
] as const

function select(name: string, label: string, options: readonly (readonly [string, string])[]): Markup {
  const choices = options.map(([value, text]) => html`<option value="${value}">${text}</option>`)
  return html`<label>${label}<select name="${name}" form="filters">
<option value="">all</option>${choices}</select></label>`
}
