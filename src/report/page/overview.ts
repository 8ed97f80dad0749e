/** What is read first: the summary in words, a few numbers, who moved, and who came into the top ten or left it. */
import {
  changeOver,
  findCrossings,
  findMovers,
  type Move,
  SPANS,
  type Span,
  tallyChanges,
} from '../findings.ts'
import type { Daily, Report } from '../model.ts'
import { countInTop, describeMissing, nameList, summarise, TOP } from '../summary.ts'
import {
  countOf,
  formatChange,
  formatCount,
  formatDifference,
  formatDollars,
  formatPercent,
  formatPoint,
  STORE_NAMES,
} from '../words.ts'
import { showNothing } from './figure.ts'
import { showSparkline } from './keywords.ts'
import { html, type Markup } from './markup.ts'

const MOVERS_SHOWN = 5
const CROSSINGS_SHOWN = 12
const WEEK_DAYS = 7

export function showSummary(report: Report): Markup {
  return html`<section id="summary" aria-labelledby="summary-title"><h2 id="summary-title">In short</h2>
<div class="tiles">${listTiles(report).map(showTile)}</div>
<dl class="findings">${summarise(report).map(({ about, text }) => html`<dt>${about}</dt><dd>${text}</dd>`)}</dl></section>`
}

interface Tile {
  readonly name: string
  readonly value: string
  /** Against a week before, and whether that is good. */
  readonly note: string
  readonly tone: 'good' | 'bad' | ''
}

function listTiles(report: Report): Tile[] {
  const own = report.visibility.filter(({ app }) => report.apps[app]?.role === 'own')
  const visible = own.slice(0, 2).map(({ app, percent }) => {
    const store = STORE_NAMES[report.apps[app]?.store ?? 'ios_store']
    return tileOfPercent(`Visibility${own.length > 1 ? `, ${store}` : ''}`, percent)
  })
  const voices = report.shareOfVoice.filter(({ app }) => app !== null && report.apps[app]?.role === 'own')
  const stores = [...new Set(voices.map(({ store }) => store))]
  const heard = stores.map((store) => {
    const shares = voices.filter((share) => share.store === store)
    const voice = report.days.map((_, day) => addUp(shares.map(({ percent }) => percent[day] ?? null)))
    return tileOfPercent(`Share of voice${stores.length > 1 ? `, ${STORE_NAMES[store]}` : ''}`, voice)
  })
  return [...visible, ...heard, tileOfTop(report), tileOfMeasured(report), tileOfMoney(report)]
}

function addUp(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0)
}

function tileOfPercent(name: string, percent: Daily<number | null>): Tile {
  const now = percent.at(-1) ?? null
  const before = percent.at(-1 - WEEK_DAYS) ?? null
  const change = now === null || before === null ? null : now - before
  const note = change === null ? 'not measured a week before' : `${formatDifference(change)} points in a week`
  return { name, value: formatPercent(now), note, tone: toneOf(change ?? 0, 0.05) }
}

function toneOf(change: number, least: number): Tile['tone'] {
  if (Math.abs(change) < least) return ''
  return change > 0 ? 'good' : 'bad'
}

function tileOfTop(report: Report): Tile {
  const now = countInTop(report, -1)
  const before = countInTop(report, -1 - WEEK_DAYS)
  const change = before.measured === 0 ? 0 : now.inTop - before.inTop
  const sign = change < 0 ? '−' : '+'
  const since = before.measured === 0 ? '' : `; ${sign}${Math.abs(change)} in a week`
  return {
    name: `In the top ${TOP}`,
    value: formatCount(now.inTop),
    note: `of ${formatCount(now.measured)} measured${since}`,
    tone: toneOf(change, 1),
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
  const last = `${formatDollars(money.spentMicros.at(-1) ?? 0)} on the last day`
  const [budget] = money.budgets
  const of = budget === undefined ? '' : `, of ${formatDollars(budget.limitMicros)} a ${budget.period}`
  return { name: 'Spent', value: formatDollars(total), note: `${last}${of}`, tone: '' }
}

function showTile({ name, value, note, tone }: Tile): Markup {
  return html`<div class="tile"><h3>${name}</h3><p class="value">${value}</p><p class="note ${tone}">${note}</p></div>`
}

export function showMovers(report: Report): Markup {
  const missing = describeMissing(report)
  const content = missing === null ? showMoved(report) : showNothing(missing)
  return html`<section id="movers" aria-labelledby="movers-title"><h2 id="movers-title">What moved</h2>
${content}</section>`
}

function showMoved(report: Report): Markup {
  return html`<p class="lead">Own apps on the last day against 1, 7 and 30 days before. A place beyond the depth that was looked at counts as the first one beyond it.</p>
<div class="columns">${SPANS.map((span) => showSpan(report, span))}</div>
<h3>In and out of the top ${TOP}, in ${WEEK_DAYS} days</h3>
<div class="columns two">${showCrossings(report)}</div>`
}

function showSpan(report: Report, span: Span): Markup {
  const { up, down } = findMovers(report, span)
  const { incomparable, same, absent } = tallyChanges(report, span)
  const isComparable = up.length + down.length + same + absent > 0
  if (!isComparable && incomparable > 0) {
    return html`<div><h3>${span === 1 ? 'In one day' : `In ${span} days`}</h3>${showNothing(`It was not measured ${countOf(span, 'day')} before.`)}</div>`
  }
  return html`<div><h3>${span === 1 ? 'In one day' : `In ${span} days`}</h3>
${showMoves(report, 'Up', up, MOVERS_SHOWN, span)}${showMoves(report, 'Down', down, MOVERS_SHOWN, span)}</div>`
}

function showCrossings(report: Report): Markup[] {
  const { entered, left } = findCrossings(report, WEEK_DAYS, TOP)
  return [
    showMoves(report, `Came into the top ${TOP}`, entered, CROSSINGS_SHOWN, WEEK_DAYS),
    showMoves(report, `Left the top ${TOP}`, left, CROSSINGS_SHOWN, WEEK_DAYS),
  ]
}

function showMoves(report: Report, title: string, moves: readonly Move[], shown: number, span: Span): Markup {
  const rows = moves.slice(0, shown).map(({ series, before, after }) => {
    const change = changeOver(series, span)
    const tone = change.kind === 'up' || change.kind === 'entered' ? 'good' : 'bad'
    const row = report.series.indexOf(series)
    return html`<li><a href="#k${row}">${nameList(report, series.list)}</a>
<span class="from">${formatPoint(before)} → ${formatPoint(after)}</span><b class="${tone}">${formatChange(change)}</b>${showSparkline(series)}</li>`
  })
  const more =
    moves.length > shown ? html`<p class="more">and ${countOf(moves.length - shown, 'more', 'more')}</p>` : ''
  const list = rows.length === 0 ? html`<p class="nothing">None.</p>` : html`<ol class="moves">${rows}</ol>`
  return html`<div><h4>${title} (${formatCount(moves.length)})</h4>${list}${more}</div>`
}
