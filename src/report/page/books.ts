/** How far the ranks can be trusted, and what they cost: coverage, gaps by reason, money. */
import { formatDay, shortDay } from '../../text/days.js'
import { GAP_MEANINGS, GAP_NAMES, GAPS } from '../../text/gaps.js'
import { formatUsd } from '../../text/money.ts'
import { formatCount, STORE_NAMES } from '../../text/words.ts'
import type { Report } from '../read.ts'
import { showFigure } from './figure.ts'
import { html, type Markup, type Part, showDay, showNothing, showPart } from './markup.ts'

const MICROS_PER_USD = 1_000_000

const FUNCTION_NAMES = {
  app_searches: 'Searches',
  app_list: 'Charts',
  app_info: 'Pages of apps',
  app_reviews: 'Reviews',
} as const

export function showCoverage({ days, coverage }: Report): Markup {
  const gaps = GAPS.filter((gap) => coverage.gaps[gap].some((slots) => slots > 0))
  const line = (name: string, className: string, values: readonly number[]) => ({
    ...{ name, className, values },
    texts: values.map(formatCount),
  })
  const figure = showFigure({
    id: 'slots',
    title: 'Measurements that were due',
    note: 'Searches, charts, pages of apps and reviews, by what became of them.',
    kind: 'stack',
    days,
    lines: [
      line('Measured', 'measured', coverage.measured),
      ...gaps.map((gap) => line(`Not measured: ${GAP_NAMES[gap]}`, gap, coverage.gaps[gap])),
    ],
  })
  return html`${figure}${showReasons(coverage)}`
}

function showReasons({ reasons }: Report['coverage']): Markup {
  const rows = reasons.map(({ day, gap, reason, slots, examples }) => [
    showDay(day),
    html`<b class="badge ${gap}">${GAP_NAMES[gap]}</b>`,
    formatCount(slots),
    html`${GAP_MEANINGS[gap]}${reason === null ? '' : html`<small>${reason}</small>`}`,
    `${examples.join(', ')}${slots > examples.length ? ', …' : ''}`,
  ])
  const heads = ['Day', { text: 'Why' }, 'Not measured', { text: 'What it means' }, { text: 'For example' }]
  return showPart({ title: 'Gaps by day and reason', heads, rows, none: 'Nothing is missing.' })
}

export function showMoney(report: Report): Markup {
  const { spentMicros, functions, dearest, outlook } = report.money
  const total = spentMicros.reduce((sum, micros) => sum + micros, 0)
  const table = (title: string, heads: readonly string[], rows: Part['rows'], none: string) =>
    html`<div>${showPart({ title, heads, rows, none })}</div>`
  const bought = ['Measurements', 'Spent']
  const byFunction = functions.map((line) => [
    ...[FUNCTION_NAMES[line.function], formatCount(line.tasks), formatUsd(line.spentMicros)],
  ])
  const byList = dearest.map(({ name, store, place, tasks, spentMicros }) => [
    html`${name}<small>${STORE_NAMES[store]} ${place}</small>`,
    ...[formatCount(tasks), formatUsd(spentMicros)],
  ])
  const byInterval = outlook.map(({ every, monthlyMicros }) => [
    ...[every === null ? 'As it is now' : `All of it every ${every}`, formatUsd(monthlyMicros, 'rounded')],
  ])
  const noBudget = 'It has none of its own; what is set for all projects holds.'
  const noList = 'Nothing was spent on keywords and charts.'
  const budgets = listBudgets(report)
  return html`${total === 0 ? showNothing('Nothing was spent.') : showSpent(report)}
${showAside(report)}<div class="columns">
${table(`${formatUsd(total)} in these days`, ['For', ...bought], byFunction, '')}
${table('Budgets of the project', ['Budget', 'Used', 'Limit', 'Share'], budgets, noBudget)}
${table('What most was spent on', ['Keyword or chart', ...bought], byList, noList)}
${table(OUTLOOK, ['Interval', 'In 30 days, at most'], byInterval, 'Nothing is watched.')}</div>`
}

const OUTLOOK = 'What 30 days of this watchlist cost'

function showSpent({ days, money: { spentMicros } }: Report): Markup {
  return showFigure({
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
        values: spentMicros.map((micros) => Math.max(0, micros) / MICROS_PER_USD),
        texts: spentMicros.map((micros) => formatUsd(micros)),
      },
    ],
  })
}

function showAside({ money }: Report): Markup {
  const texts = [
    [money.savedMicros, (usd: string) => `Saved ${usd}: keywords shared with other projects.`],
    [money.refundedMicros, (usd: string) => `${usd} came back for results that the stores did not have.`],
    [money.duplicateMicros, (usd: string) => `${usd} was charged twice.`],
    [money.reservedMicros, (usd: string) => `${usd} is reserved for what is under way.`],
  ] as const
  const told = texts.filter(([micros]) => micros > 0).map(([micros, tell]) => tell(formatUsd(micros)))
  return html`<p class="note">${told.join(' ')}</p>`
}

function listBudgets({ money, days }: Report) {
  const last = days.at(-1) ?? ''
  const names = { day: shortDay(last), month: `${formatDay(last).replace(/^\d+ /, '')} so far` }
  return money.budgets.map(({ period, limitMicros, usedMicros }) => {
    const percent = limitMicros === 0 ? 100 : Math.round((100 * usedMicros) / limitMicros)
    const meter = html`<meter min="0" max="100" high="80" value="${Math.min(percent, 100)}"
aria-label="Used">${percent} %</meter> ${percent} %`
    return [names[period], formatUsd(usedMicros), formatUsd(limitMicros), { shown: meter, as: 'share' }]
  })
}
