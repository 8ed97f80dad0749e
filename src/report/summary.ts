/** A report in sentences: what moved, by how much, against whom, where a gap is and why, and what it cost. */
import {
  compareRivals,
  findCrossings,
  findMovers,
  type Move,
  ownSeries,
  type Span,
  tallyChanges,
} from './findings.ts'
import { GAPS, isMeasured, type Report } from './model.ts'
import {
  asName,
  countOf,
  describeTally,
  formatDay,
  formatDifference,
  formatDollars,
  formatMicros,
  formatPercent,
  formatPoint,
  GAP_NAMES,
  STORE_NAMES,
} from './words.ts'

/** Of which places it is worth a sentence that an app came or went. */
export const TOP = 10
/** A day of which less than this share was measured is told. */
const POOR_SHARE = 0.8
const DAYS_TOLD = 3
const WEEK_DAYS = 7

/** A sentence or a few, and what they are about. */
export interface Finding {
  readonly about: string
  readonly text: string
}

/**
 * The most important first.
 * @param span days that are looked back, beside the last one
 */
export function summarise(report: Report, span: Span = WEEK_DAYS): Finding[] {
  const missing = describeMissing(report)
  if (report.series.length === 0) return [{ about: 'Nothing yet', text: missing ?? '' }]
  const moves = [...describeCrossings(report, span), ...describeFurthest(report, span)]
  const inSpan = span === 1 ? [] : [describeSpan(report, span), ...moves]
  const all: readonly (readonly [string, readonly string[]])[] = [
    ['Own apps', missing === null ? [] : [missing]],
    ['In one day', missing === null ? [describeSpan(report, 1), ...(span === 1 ? moves : [])] : []],
    [`In ${span} days`, missing === null ? inSpan : []],
    ['Visibility', describeVisibility(report, span)],
    ['Competitors', describeRivals(report)],
    ['Gaps', describeGaps(report)],
    ['Money', [describeMoney(report)]],
  ]
  return all
    .filter(([, texts]) => texts.length > 0)
    .map(([about, texts]) => ({ about, text: texts.join(' ') }))
}

/** What has to be watched before an own app has ranks; null where one has. */
export function describeMissing(report: Report): string | null {
  if (ownSeries(report).length > 0) return null
  if (report.apps.length === 0) return 'There is nothing to rank: watch a keyword or a chart, and an app.'
  if (report.apps.some(({ role }) => role === 'own'))
    return 'No keyword and no chart is watched in the store of an own app.'
  return "No own app is watched, so nothing can have moved: say which is yours with role = 'own' in app_watch."
}

function describeSpan(report: Report, span: Span): string {
  const tally = tallyChanges(report, span)
  const compared = tally.up + tally.down + tally.same + tally.absent
  if (compared > 0 || tally.incomparable === 0) return `${describeTally(tally)}.`
  return `Nothing to compare with: it was not measured ${countOf(span, 'day')} before.`
}

/** What became of the own apps in one day: `12 up, 5 down, 2 not measured: budget`. */
export function headlineOf(report: Report): string {
  return describeTally(tallyChanges(report, 1))
}

function describeVisibility(report: Report, span: Span): string[] {
  return report.visibility.flatMap(({ app, percent, measuredPercent }) => {
    const now = percent.at(-1) ?? null
    if (report.apps[app]?.role !== 'own' || now === null) return []
    const before = percent.at(-1 - span) ?? null
    const change =
      before === null
        ? ''
        : `, ${formatDifference(now - before)} points in ${span === 1 ? 'one day' : `${span} days`}`
    const measured = formatPercent(measuredPercent.at(-1))
    const voice = report.shareOfVoice.find((share) => share.app === app)?.percent.at(-1) ?? null
    const share = voice === null ? '' : `; its share of voice ${formatPercent(voice)}`
    return [
      `${beforeNumber(nameApp(report, app))}: ${formatPercent(now)}${change}, with ${measured} measured${share}.`,
    ]
  })
}

/** Without a mark a number that follows a Hebrew or Arabic name is shown before it. */
function beforeNumber(name: string): string {
  return /[\p{Script=Hebrew}\p{Script=Arabic}]/u.test(name) ? `${name}\u200e` : name
}

function describeFurthest(report: Report, span: Span): string[] {
  const { up, down } = findMovers(report, span)
  const [best] = up
  const [worst] = down
  return [
    ...(best === undefined ? [] : [`Furthest up: ${describeMove(report, best)}.`]),
    ...(worst === undefined ? [] : [`Furthest down: ${describeMove(report, worst)}.`]),
  ]
}

/** `yoga timer (US), 40 → 12` */
export function describeMove(report: Report, { series, before, after }: Move): string {
  return `${nameList(report, series.list)}, ${formatPoint(before)} → ${formatPoint(after)}`
}

/** With its store, where an app of the other store has the same name. */
export function nameApp(report: Report, index: number): string {
  const app = report.apps[index]
  if (app === undefined) return ''
  const isShared = report.apps.some(({ name, store }) => name === app.name && store !== app.store)
  return isShared ? `${asName(app.name)} (${STORE_NAMES[app.store]})` : asName(app.name)
}

/** `yoga timer (US)`; `yoga timer (Android US)` where the other store has it too. */
export function nameList(report: Report, index: number): string {
  const list = report.lists[index]
  if (list === undefined) return ''
  const { name, place, store } = list
  const isShared = report.lists.some(
    (other) => other.name === name && other.place === place && other.store !== store,
  )
  return `${asName(name)} (${isShared ? `${STORE_NAMES[store]} ` : ''}${place})`
}

function describeCrossings(report: Report, span: Span): string[] {
  const { entered, left } = findCrossings(report, span, TOP)
  if (entered.length + left.length === 0) return []
  return [`${entered.length} came into the top ${TOP} and ${left.length} left it.`]
}

/** Of each store who overtook most, either way. */
function describeRivals(report: Report): string[] {
  const since = formatDay(report.days[0] ?? '')
  const duels = compareRivals(report)
  const stores = [...new Set(duels.map(({ own }) => report.apps[own]?.store))]
  return stores.flatMap((store) => {
    const ofStore = duels.filter(({ own }) => report.apps[own]?.store === store)
    return (['lost', 'won'] as const).flatMap((side) => {
      const [most] = ofStore.toSorted((a, b) => b[side].length - a[side].length)
      if (most === undefined || most[side].length === 0) return []
      const [first, second] = side === 'lost' ? [most.rival, most.own] : [most.own, most.rival]
      const on = countOf(most[side].length, 'keyword')
      return [`${nameApp(report, first)} overtook ${nameApp(report, second)} on ${on} since ${since}.`]
    })
  })
}

function describeGaps(report: Report): string[] {
  const { measured, gaps, reasons } = report.coverage
  const poor = report.days.flatMap((day, n) => {
    const counts = GAPS.map((gap) => [gap, gaps[gap][n] ?? 0] as const).filter(([, slots]) => slots > 0)
    const missing = counts.reduce((sum, [, slots]) => sum + slots, 0)
    const due = missing + (measured[n] ?? 0)
    if (due === 0 || (due - missing) / due >= POOR_SHARE) return []
    const share = missing === due ? 'nothing' : `only ${formatPercent((100 * (due - missing)) / due)}`
    return [
      {
        missing,
        sentence: [
          `On ${formatDay(day)} ${share} was measured: ${counts.map(([gap]) => GAP_NAMES[gap]).join(', ')}.`,
          reasons.find((each) => each.day === day)?.reason,
        ]
          .filter(Boolean)
          .join(' '),
      },
    ]
  })
  const told = poor.toSorted((a, b) => b.missing - a.missing).slice(0, DAYS_TOLD)
  const others = poor.length - told.length
  return [
    ...told.map(({ sentence }) => sentence),
    ...(others > 0 ? [`So it was on ${countOf(others, 'other day')}.`] : []),
  ]
}

function describeMoney({ money, days }: Report): string {
  const total = money.spentMicros.reduce((sum, micros) => sum + micros, 0)
  const [budget] = money.budgets
  const of = budget === undefined ? '' : ` of ${formatMicros(budget.limitMicros)} a ${budget.period}`
  return `Spent ${formatDollars(money.spentMicros.at(-1) ?? 0)} on ${formatDay(days.at(-1) ?? '')}${of}, and ${formatDollars(total)} in all these days.`
}

/** How many of the own apps' lists were measured on the last day, and how many of them are within the first places. */
export function countInTop(report: Report, day: number): { measured: number; inTop: number } {
  const points = ownSeries(report).map(({ points }) => points.at(day) ?? 0)
  return {
    measured: points.filter(isMeasured).length,
    inTop: points.filter((point) => point > 0 && point <= TOP).length,
  }
}
