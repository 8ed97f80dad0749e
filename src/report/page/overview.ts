/**
 * What is read first: the summary in words, a few numbers, who moved, and who came into the top ten or left
 * it.
 */

import type { Shown } from '../../sections.ts'
import { formatUsd } from '../../text/money.ts'
import { countOf, formatCount, formatDifference, formatPercent, STORE_NAMES } from '../../text/words.ts'
import { type Move, type Report, SPANS, type Span, type StandingChange, TOP } from '../model.ts'
import {
  compareOver,
  describeBasis,
  describeMissing,
  isComparable,
  listParts,
  nameApp,
  nameSpan,
  shownChange,
  summarise,
} from '../summary.ts'
import { formatChange, formatPoint, isBetter, isWorse } from '../words.ts'
import { showMore, showNothing } from './figure.ts'
import { nameKeyword, showSparkline } from './keywords.ts'
import { html, type Markup, NOTHING } from './markup.ts'

const MOVERS_SHOWN = 5
const CROSSINGS_SHOWN = 12
const WEEK_DAYS = 7
/** All others are in the table of keywords, which can be sorted by their change. */
const MOST = 60
/** More own apps have their numbers in the summary. */
const APPS_SHOWN = 2

export function showSummary(report: Report, shown: Shown): Markup {
  // What the numbers above say already.
  const isSaid = (about: string) => about === 'Visibility' && listOwn(report).length <= APPS_SHOWN
  const findings = summarise(report, WEEK_DAYS, shown).filter(({ about }) => !isSaid(about))
  return html`<section id="summary" aria-labelledby="summary-title"><h2 id="summary-title">In short</h2>
<div class="tiles">${listTiles(report, shown).map(showTile)}</div>
<dl class="findings">${findings.map(({ about, text }) => html`<dt>${about}</dt><dd>${text}</dd>`)}</dl>
</section>`
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
  readonly parts?: ReturnType<typeof listParts>
}

function listTiles(report: Report, shown: Shown): Tile[] {
  const own = listOwn(report)
  const { changes } = compareOver(report, WEEK_DAYS)
  const named = (name: string, app: number) => {
    const { store = 'ios_store' } = report.apps[app] ?? {}
    const isAlone = own.filter((each) => each.store === store).length === 1
    return own.length === 1 ? name : `${name}, ${isAlone ? STORE_NAMES[store] : nameApp(report, app)}`
  }
  const tiles = (name: string, of: 'visibility' | 'share') =>
    own.slice(0, APPS_SHOWN).map((standing) =>
      tileOfPercent(report, {
        name: named(name, standing.app),
        now: standing[of].at(-1) ?? null,
        measured: standing.measuredPercent.at(-1) ?? null,
        change: changes.find(({ app }) => app === standing.app),
        of,
      }),
    )
  return [
    ...tiles('Visibility', 'visibility'),
    ...tiles('Share of voice', 'share'),
    tileOfTop(report),
    ...(shown.has('gaps') ? [tileOfMeasured(report)] : []),
    ...(shown.has('money') ? [tileOfMoney(report)] : []),
  ]
}

interface Headline {
  readonly name: string
  readonly now: number | null
  readonly measured: number | null
  readonly change: StandingChange | undefined
  readonly of: 'visibility' | 'share'
}

function tileOfPercent(report: Report, { name, now, measured, change, of }: Headline): Tile {
  if (now === null) return { name, value: '–', note: `only ${formatPercent(measured)} measured`, tone: '' }
  const value = formatPercent(now)
  const difference = change?.[of] ?? null
  if (change === undefined || difference === null)
    return { name, value, note: 'not measured a week before', tone: '' }
  return {
    name,
    value,
    note: `${formatDifference(shownChange(difference))} points in a week`,
    tone: toneOf(shownChange(difference), 0.05),
    basis: describeBasis(change, difference, now),
    parts: listParts(report, difference),
  }
}

function toneOf(change: number, least: number): Tile['tone'] {
  if (Math.abs(change) < least) return ''
  return change > 0 ? 'good' : 'bad'
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

export function showMovers(report: Report, shown: Shown): Markup {
  const missing = describeMissing(report)
  const content = missing === null ? showMoved(report, shown) : showNothing(missing)
  return html`<section id="movers" aria-labelledby="movers-title"><h2 id="movers-title">What moved</h2>
${content}</section>`
}

function showMoved(report: Report, sections: Shown): Markup {
  return html`<p class="lead">Own apps on the last day against 1, 7 and 30 days before.
Not in the first 100 counts as rank 101.</p>
<div class="columns">${SPANS.map((span) => showSpan(report, span, sections))}</div>
<h3>In and out of the top ${TOP}, in ${WEEK_DAYS} days</h3>
<div class="columns two">${showCrossings(report, sections)}</div>`
}

function showSpan(report: Report, span: Span, sections: Shown): Markup {
  const comparison = compareOver(report, span)
  const title = html`<h3>In ${nameSpan(span)}</h3>`
  if (!isComparable(comparison)) {
    return html`<div>${title}${showNothing(`It was not measured ${countOf(span, 'day')} before.`)}</div>`
  }
  const { moves } = comparison
  return html`<div>${title}
${showMoves(report, 'Up', moves.filter(isBetter), MOVERS_SHOWN, sections)}
${showMoves(report, 'Down', moves.filter(isWorse), MOVERS_SHOWN, sections)}</div>`
}

function showCrossings(report: Report, sections: Shown): Markup[] {
  const { entered, left } = compareOver(report, WEEK_DAYS)
  return [
    showMoves(report, `Came into the top ${TOP}`, entered, CROSSINGS_SHOWN, sections),
    showMoves(report, `Left the top ${TOP}`, left, CROSSINGS_SHOWN, sections),
  ]
}

function showMoves(
  report: Report,
  title: string,
  moves: readonly Move[],
  shown: number,
  sections: Shown,
): Markup {
  const rows = moves.slice(0, MOST).map((move) => {
    const series = report.series.find(({ list, app }) => list === move.list && app === move.app)
    return html`<li>${nameKeyword(report, move, sections)}
<span class="from">${formatPoint(move.before)} → ${formatPoint(move.after)}</span>
<b class="${isBetter(move) ? 'good' : 'bad'}">${formatChange(move)}</b>
${series === undefined ? NOTHING : showSparkline(series)}</li>`
  })
  const list = (some: readonly Markup[]) => html`<ol class="moves">${some}</ol>`
  const content = rows.length === 0 ? showNothing('None.') : showMore(rows, shown, list)
  return html`<div><h4>${title} (${formatCount(moves.length)})</h4>${content}</div>`
}
