/** What is read first: the summary, a few numbers, and who moved, into the top ten or out of it. */

import type { Shown } from '../../sections.ts'
import { formatUsd } from '../../text/money.ts'
import { countOf, formatCount, formatDifference, formatPercent, STORE_NAMES } from '../../text/words.ts'
import { formatPoint } from '../points.js'
import type { Report } from '../read.ts'
import type { Move } from '../read-changes.ts'
import type { Standing } from '../read-ranks.ts'
import { SPANS, type Span, TOP } from '../scope.ts'
import {
  compareOver,
  compareStanding,
  describeMissing,
  formatChange,
  isBetter,
  isComparable,
  isWorse,
  nameApp,
  summarise,
} from '../summary.ts'
import { nameKeyword, showSparkline } from './keywords.ts'
import { html, type Markup, NOTHING, showMore, showNothing, toneOf } from './markup.ts'

const MOVERS_SHOWN = 12
const WEEK_DAYS = 7
/** All others are in the table of keywords, which can be sorted by their change. */
const MOST = 60
/** More own apps have their numbers in the summary. */
const APPS_SHOWN = 2

export function showSummary(report: Report, shown: Shown): Markup {
  // What the numbers above say already.
  const isSaid = (about: string) => about === 'Visibility' && listOwn(report).length <= APPS_SHOWN
  const findings = summarise(report, WEEK_DAYS, shown).filter(({ about }) => !isSaid(about))
  return html`<div class="tiles">${listTiles(report, shown).map(showTile)}</div>
<dl class="findings">${findings.map(({ about, text }) => html`<dt>${about}</dt><dd>${text}</dd>`)}</dl>`
}

/** How the own apps stand. */
function listOwn(report: Report) {
  return report.standings.flatMap((standing) =>
    standing.app !== null && report.apps[standing.app]?.role === 'own'
      ? [{ ...standing, app: standing.app }]
      : [],
  )
}

interface Tile {
  readonly name: string
  readonly value: string
  /** Against a week before, and whether that is good. */
  readonly note: string
  readonly tone: 'good' | 'bad' | ''
  /** What the change is of, and the keywords that made it. */
  readonly basis?: string
  readonly parts?: ReturnType<typeof compareStanding>['parts']
}

function listTiles(report: Report, shown: Shown): Tile[] {
  const own = listOwn(report)
  const named = (name: string, app: number) => {
    const { store = 'ios_store' } = report.apps[app] ?? {}
    const isAlone = own.filter((each) => each.store === store).length === 1
    return own.length === 1 ? name : `${name}, ${isAlone ? STORE_NAMES[store] : nameApp(report, app)}`
  }
  const tiles = (name: string, of: 'visibility' | 'share') =>
    own.slice(0, APPS_SHOWN).map((standing) => tileOfPercent(report, named(name, standing.app), standing, of))
  return [
    ...tiles('Visibility', 'visibility'),
    ...tiles('Share of voice', 'share'),
    tileOfTop(report),
    ...(shown.has('gaps') ? [tileOfMeasured(report)] : []),
    ...(shown.has('money') ? [tileOfMoney(report)] : []),
  ]
}

function tileOfPercent(report: Report, name: string, standing: Standing, of: 'visibility' | 'share'): Tile {
  const { now, measured, points, basis, parts } = compareStanding(report, standing, of, WEEK_DAYS)
  if (now === null) return { name, value: '–', note: `only ${formatPercent(measured)} measured`, tone: '' }
  const tile = { name, value: formatPercent(now) }
  if (points === null) return { ...tile, note: 'not measured a week before', tone: '' }
  const note = `${formatDifference(points)} points in a week`
  return { ...tile, note, tone: toneOf(points, 0.05), basis, parts }
}

/** Of keywords alone. What came in and what left are all that a change is made of. */
function tileOfTop(report: Report): Tile {
  const own = listOwn(report)
  const isOwn = (app: number) => report.apps[app]?.role === 'own'
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  const now = sum(own.map(({ inTop }) => inTop.at(-1) ?? 0))
  const of = countOf(sum(own.map(({ measured }) => measured.at(-1) ?? 0)), 'keyword')
  const { changes, entered, left } = compareOver(report, WEEK_DAYS)
  const known = changes.flatMap(({ app, top }) => (isOwn(app) && top !== null ? [top] : []))
  const tile = { name: `In the top ${TOP}`, value: formatCount(now) }
  if (known.length === 0) return { ...tile, note: `of ${of}`, tone: '' }
  const change = sum(known.map((top) => top.change))
  const keywords = (moves: readonly Move[]) =>
    moves.filter(({ list }) => report.lists[list]?.kind === 'keyword').length
  const size = formatCount(Math.abs(change))
  const against = change === 0 ? 'as many as' : change > 0 ? `${size} more than` : `${size} fewer than`
  return {
    ...tile,
    note: `of ${of}, ${against} a week ago`,
    tone: toneOf(change, 1),
    basis: `${formatCount(keywords(entered))} came in, ${formatCount(keywords(left))} left`,
  }
}

function tileOfMeasured({ coverage }: Report): Tile {
  const measured = coverage.measured.at(-1) ?? 0
  const missing = Object.values(coverage.gaps).reduce((sum, counts) => sum + (counts.at(-1) ?? 0), 0)
  const percent = measured + missing === 0 ? null : (100 * measured) / (measured + missing)
  return {
    name: 'Measured',
    value: formatPercent(percent),
    note: missing === 0 ? 'no gap on the last day' : `${countOf(missing, 'gap')} on the last day`,
    tone: missing === 0 ? 'good' : 'bad',
  }
}

function tileOfMoney({ money }: Report): Tile {
  const total = money.spentMicros.reduce((sum, micros) => sum + micros, 0)
  const last = `${formatUsd(money.spentMicros.at(-1) ?? 0, 'rounded')} on the last day`
  const [budget] = money.budgets
  const of = budget === undefined ? '' : `, of ${formatUsd(budget.limitMicros, 'rounded')} a ${budget.period}`
  return { name: 'Spent', value: formatUsd(total, 'rounded'), note: `${last}${of}`, tone: '' }
}

function showTile({ name, value, note, tone, basis = '', parts = [] }: Tile): Markup {
  const rows = parts.map(
    ({ name, points }) => html`<li><span>${name}</span> <b>${formatDifference(points)}</b></li>`,
  )
  const below = [
    basis === '' ? NOTHING : html`<p class="basis">${basis}</p>`,
    rows.length === 0 ? NOTHING : html`<ul class="parts">${rows}</ul>`,
  ]
  return html`<div class="tile"><h3>${name}</h3><p class="value">${value}</p>
<p class="note ${tone}">${note}</p>${below}</div>`
}

/** One list up and one down, over a week where it can be, each with what it did over the other spans. */
export function showMovers(report: Report, sections: Shown): Markup {
  const missing = describeMissing(report)
  if (missing !== null) return showNothing(missing)
  const span = [WEEK_DAYS, ...SPANS].find((each) => isComparable(compareOver(report, each)))
  if (span === undefined) return showNothing(`It was not measured ${SPANS.join(', ')} days before.`)
  // What crossed the top is first.
  const moves = compareOver(report, span).moves.toSorted(
    (a, b) => Number(b.crossed !== null) - Number(a.crossed !== null),
  )
  return html`<p class="lead">Own apps on the last day against ${countOf(span, 'day')} before.
Not in the first 100 counts as rank 101. The table of keywords can be sorted by any change.</p>
<div class="columns">
${showMoves(report, 'Up', moves.filter(isBetter), span, sections)}
${showMoves(report, 'Down', moves.filter(isWorse), span, sections)}</div>`
}

function showMoves(report: Report, title: string, moves: readonly Move[], span: Span, sections: Shown) {
  const spans = SPANS.filter((each) => each !== span).map((each) => compareOver(report, each))
  const rows = moves.slice(0, MOST).map((move) => {
    const isSame = (other: Move) => other.list === move.list && other.app === move.app
    const series = report.series.find(({ list, app }) => list === move.list && app === move.app)
    const beside = spans.flatMap(({ span, moves }) => {
      const other = moves.find(isSame)
      return other?.movement == null ? [] : [`${countOf(span, 'day')} ${formatChange(other)}`]
    })
    const way = move.crossed === 'entered' ? 'into' : 'out of'
    const others = move.crossed === 'left' ? move.instead : []
    const came = others.length === 0 ? '' : `: ${others.join(', ')} came in`
    const badge = move.crossed === null ? NOTHING : html`<i>${way} the top ${TOP}</i>${came} · `
    return html`<li>${nameKeyword(report, move, sections)}
<span class="from">${formatPoint(move.before)} → ${formatPoint(move.after)}</span>
<b class="${isBetter(move) ? 'good' : 'bad'}">${formatChange(move)}</b>
${series === undefined ? NOTHING : showSparkline(series)}<small>${badge}${beside.join(' · ')}</small></li>`
  })
  const list = (some: readonly Markup[]) => html`<ol class="moves">${some}</ol>`
  const content = rows.length === 0 ? showNothing('None.') : showMore(rows, MOVERS_SHOWN, list)
  return html`<div><h3>${title} (${formatCount(moves.length)})</h3>${content}</div>`
}
