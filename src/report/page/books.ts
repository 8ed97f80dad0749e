/** How far the ranks can be trusted, and what they cost: coverage, gaps by reason, money. */

import { formatDay, shortDay } from '../../text/days.js'
import { GAP_MEANINGS, GAP_NAMES, GAPS } from '../../text/gaps.ts'
import { formatUsd } from '../../text/money.ts'
import { formatCount, STORE_NAMES } from '../../text/words.ts'
import type { Report } from '../model.ts'
import { type Figure, showFigure, showNothing } from './figure.ts'
import { html, type Markup } from './markup.ts'
import { showTable } from './table.ts'

const MICROS_PER_USD = 1_000_000

const FUNCTION_NAMES = {
  app_searches: 'Searches',
  app_list: 'Charts',
  app_info: 'Pages of apps',
  app_reviews: 'Reviews',
} as const

export function showCoverage(report: Report): Markup {
  return html`<section id="gaps" aria-labelledby="gaps-title">
<h2 id="gaps-title">Completeness of the data</h2>
${showFigure(coverageFigure(report))}${showReasons(report)}</section>`
}

function coverageFigure({ days, coverage }: Report): Figure {
  const gaps = GAPS.filter((gap) => coverage.gaps[gap].some((slots) => slots > 0))
  const line = (name: string, className: string, counts: readonly number[]) => ({
    name,
    className,
    values: counts,
    texts: counts.map(formatCount),
  })
  return {
    id: 'slots',
    title: 'Measurements that were due',
    note: 'Searches, charts, pages of apps and reviews, by what became of them.',
    kind: 'stack',
    days,
    lines: [
      line('Measured', 'measured', coverage.measured),
      ...gaps.map((gap) => line(`Not measured: ${GAP_NAMES[gap]}`, gap, coverage.gaps[gap])),
    ],
  }
}

function showReasons({ coverage }: Report): Markup {
  const { reasons } = coverage
  if (reasons.length === 0) return showNothing('Nothing is missing.')
  const rows = reasons.map(({ day, gap, reason, slots, examples }) => [
    html`<time datetime="${day}">${formatDay(day)}</time>`,
    html`<b class="badge ${gap}">${GAP_NAMES[gap]}</b>`,
    formatCount(slots),
    html`${GAP_MEANINGS[gap]}${reason === null ? '' : html`<small>${reason}</small>`}`,
    `${examples.join(', ')}${slots > examples.length ? ', …' : ''}`,
  ])
  const texts = [{ text: 'What it means' }, { text: 'For example' }]
  return html`<h3>Gaps by day and reason</h3>
${showTable('Gaps by day and reason', 'reasons', ['Day', { text: 'Why' }, 'Not measured', ...texts], rows)}`
}

export function showMoney(report: Report): Markup {
  const { money } = report
  const total = money.spentMicros.reduce((sum, micros) => sum + micros, 0)
  return html`<section id="money" aria-labelledby="money-title"><h2 id="money-title">Money</h2>
${total === 0 ? showNothing('Nothing was spent.') : showFigure(moneyFigure(report))}
<div class="columns"><div><h3>${formatUsd(total)} in these days</h3><table class="money"><thead><tr>
<th scope="col">For</th><th scope="col">Measurements</th><th scope="col">Spent</th></tr></thead>
<tbody>${money.functions.map(
    (line) =>
      html`<tr><th scope="row">${FUNCTION_NAMES[line.function]}</th><td>${formatCount(line.tasks)}</td>
<td>${formatUsd(line.spentMicros)}</td></tr>`,
  )}</tbody></table>${showAside(report)}</div>
<div><h3>Budgets of the project</h3>${showBudgets(report)}</div></div>
<div class="columns"><div><h3>What most was spent on</h3>${showDearest(report)}</div>
<div><h3>What 30 days of this watchlist cost</h3>${showOutlook(report)}</div></div></section>`
}

function moneyFigure({ days, money }: Report): Figure {
  return {
    id: 'spent',
    title: 'Spent by day',
    note: 'What the service charged, less what it gave back.',
    kind: 'stack',
    unit: '$',
    days,
    lines: [
      {
        name: 'Spent',
        className: 'own0',
        values: money.spentMicros.map((micros) => Math.max(0, micros) / MICROS_PER_USD),
        texts: money.spentMicros.map((micros) => formatUsd(micros)),
      },
    ],
  }
}

function showAside({ money }: Report): Markup {
  const parts = [
    money.savedMicros > 0
      ? `Saved ${formatUsd(money.savedMicros)}: keywords shared with other projects.`
      : '',
    money.refundedMicros > 0
      ? `${formatUsd(money.refundedMicros)} came back for results that the stores did not have.`
      : '',
    money.duplicateMicros > 0 ? `${formatUsd(money.duplicateMicros)} was charged twice.` : '',
    money.reservedMicros > 0 ? `${formatUsd(money.reservedMicros)} is reserved for what is under way.` : '',
  ].filter(Boolean)
  return html`<p class="note">${parts.join(' ')}</p>`
}

function showDearest({ money }: Report): Markup {
  if (money.dearest.length === 0) return showNothing('Nothing was spent on keywords and charts.')
  const rows = money.dearest.map(
    ({ name, store, place, tasks, spentMicros }) =>
      html`<tr><th scope="row">${name}<small>${STORE_NAMES[store]} ${place}</small></th>
<td>${formatCount(tasks)}</td><td>${formatUsd(spentMicros)}</td></tr>`,
  )
  return html`<table class="money"><thead><tr><th scope="col">Keyword or chart</th>
<th scope="col">Measurements</th><th scope="col">Spent</th></tr></thead><tbody>${rows}</tbody></table>`
}

function showOutlook({ money }: Report): Markup {
  if (money.outlook.length === 0) return showNothing('Nothing is watched.')
  const rows = money.outlook.map(
    ({ every, monthlyMicros }) =>
      html`<tr><th scope="row">${every === null ? 'As it is now' : `All of it every ${every}`}</th>
<td>${formatUsd(monthlyMicros, 'rounded')}</td></tr>`,
  )
  return html`<table class="money"><thead><tr><th scope="col">Interval</th>
<th scope="col">In 30 days, at most</th></tr></thead><tbody>${rows}</tbody></table>`
}

function showBudgets({ money, days }: Report): Markup {
  if (money.budgets.length === 0)
    return showNothing('It has none of its own; what is set for all projects holds.')
  const rows = money.budgets.map(({ period, limitMicros, usedMicros }) => {
    const percent = limitMicros === 0 ? 100 : Math.round((100 * usedMicros) / limitMicros)
    return html`<tr><th scope="row">${nameOfPeriod(days, period)}</th><td>${formatUsd(usedMicros)}</td>
<td>${formatUsd(limitMicros)}</td>
<td class="share">
<meter min="0" max="100" high="80" value="${Math.min(percent, 100)}" aria-label="Used">${percent} %</meter>
${percent} %</td></tr>`
  })
  return html`<table class="money"><thead><tr><th scope="col">Budget</th><th scope="col">Used</th>
<th scope="col">Limit</th><th scope="col" class="share">Share</th></tr></thead><tbody>${rows}</tbody></table>`
}

/** `30 Sep`; `Sep 2026 so far`. */
function nameOfPeriod(days: Report['days'], period: 'day' | 'month'): string {
  const last = days.at(-1) ?? ''
  return period === 'day' ? shortDay(last) : `${formatDay(last).replace(/^\d+ /, '')} so far`
}
