/** A report in sentences: what moved, by how much, against whom, where a gap is and why, and what it cost. */

import { ALL, type SectionName, type Shown } from '../sections.ts'
import { formatDay } from '../text/days.js'
import { GAP_NAMES, GAPS } from '../text/gaps.js'
import { formatUsd } from '../text/money.ts'
import { asName } from '../text/names.ts'
import {
  countOf,
  formatCount,
  formatDifference,
  formatPercent,
  roundToTenths,
  STORE_NAMES,
} from '../text/words.ts'
import { formatPoint, gapOf, isMeasured } from './points.js'
import type { Report } from './read.ts'
import {
  type Comparison,
  type Difference,
  type Move,
  OVERTAKING_DAYS,
  type StandingChange,
} from './read-changes.ts'
import type { RankSeries, Standing } from './read-ranks.ts'
import { type Daily, type Span, TOP } from './scope.ts'

/** A day of which less than this share was measured is told. */
const POOR_SHARE = 0.8
const DAYS_TOLD = 3

/** A sentence or a few, and what they are about. */
export interface Finding {
  readonly about: string
  readonly text: string
}

/**
 * The most important first.
 * @param span days that are looked back, beside the last one
 * @param shown sections; what is said is of these
 */
export function summarise(report: Report, span: Span = 7, shown: Shown = ALL): Finding[] {
  const missing = describeMissing(report)
  if (report.series.length === 0) return [{ about: 'Nothing yet', text: missing ?? '' }]
  const comparison = compareOver(report, span)
  const { entered, left } = comparison
  const crossed = `${entered.length} came into the top ${TOP} and ${left.length} left it.`
  const moves = [
    ...(entered.length + left.length > 0 ? [crossed] : []),
    ...describeFurthest(report, comparison),
  ]
  const inSpan = span === 1 ? [] : [describeSpan(comparison), ...moves]
  const inDay = [describeSpan(compareOver(report, 1)), ...(span === 1 ? moves : [])]
  const all: readonly (readonly [string, readonly string[], SectionName?])[] = [
    ['Own apps', missing === null ? [] : [missing]],
    ['In one day', missing === null ? inDay : [], 'movers'],
    [`In ${span} days`, missing === null ? inSpan : [], 'movers'],
    ['Visibility', describeVisibility(report, comparison), 'trends'],
    ['Competitors', describeRivals(report), 'rivals'],
    ['Gaps', describeGaps(report), 'gaps'],
    ['Money', [describeMoney(report)], 'money'],
  ]
  return all
    .filter(([, texts, section]) => texts.length > 0 && (section === undefined || shown.has(section)))
    .map(([about, texts]) => ({ about, text: texts.join(' ') }))
}

export function compareOver(report: Report, span: Span): Comparison {
  const comparison = report.comparisons.find((each) => each.span === span)
  return comparison ?? { span, moves: [], entered: [], left: [], changes: [] }
}

/** The series of the project's own apps. */
export function ownSeries(report: Report): readonly RankSeries[] {
  return report.series.filter(({ app }) => report.apps[app]?.role === 'own')
}

/** What has to be watched before an own app has ranks; null where one has. */
export function describeMissing(report: Report): string | null {
  if (ownSeries(report).length > 0) return null
  if (report.apps.length === 0) return 'There is nothing to rank: watch a keyword or a chart, and an app.'
  if (report.apps.some(({ role }) => role === 'own'))
    return 'No keyword and no chart is watched in the store of an own app.'
  return "No own app is watched, so nothing can have moved: say which is yours, role = 'own' in app_watch."
}

/** Whether any own rank of the last day has one to be compared with. */
export function isComparable({ moves }: Comparison): boolean {
  return moves.some(({ movement }) => movement !== null) || !moves.some(({ after }) => isMeasured(after))
}

function describeSpan(comparison: Comparison): string {
  if (isComparable(comparison)) return `${describeMoves(comparison.moves)}.`
  return `Nothing to compare with: it was not measured ${countOf(comparison.span, 'day')} before.`
}

/** What became of the own apps in one day: `12 up, 5 down, 2 not measured: budget`. */
export function headlineOf(report: Report): string {
  return describeMoves(compareOver(report, 1).moves)
}

/** How an app stands on the last day, and against `span` days before; null where nothing can be compared. */
export function compareStanding(report: Report, standing: Standing, of: 'visibility' | 'share', span: Span) {
  const now = standing[of].at(-1) ?? null
  const change = compareOver(report, span).changes.find(({ app }) => app === standing.app)
  const difference = change?.[of] ?? null
  const { compared = 0, due = 0 } = change ?? {}
  return {
    ...{ now, compared, due, measured: standing.measuredPercent.at(-1) ?? null },
    points: difference === null ? null : shownChange(difference),
    basis: difference === null || now === null ? '' : describeBasis({ compared, due }, difference, now),
    parts: difference === null ? [] : listParts(report, difference),
  }
}

function describeVisibility(report: Report, { span }: Comparison): string[] {
  return report.standings.flatMap((standing) => {
    const { app, share } = standing
    if (app === null || report.apps[app]?.role !== 'own') return []
    const { now, measured, ...change } = compareStanding(report, standing, 'visibility', span)
    if (measured === null) return []
    const name = beforeNumber(nameApp(report, app))
    if (now === null) return [`${name}: only ${formatPercent(measured)} measured.`]
    const incomplete = measured < 100 ? `, with ${formatPercent(measured)} measured` : ''
    const voice = `its share of voice ${formatPercent(share.at(-1))}.`
    return [`${name}: ${formatPercent(now)}${incomplete}; ${voice}${describeChange(change, span)}`]
  })
}

type Change = Pick<ReturnType<typeof compareStanding>, 'points' | 'basis' | 'parts'>

/** ` −0.4 points in 7 days, 5.8 % to 5.4 % on …: yoga (iOS US) −0.3, the rest −0.1.` */
function describeChange({ points, basis, parts }: Change, span: Span): string {
  if (points === null) return ''
  const time = span === 1 ? 'one day' : `${span} days`
  const made = parts.map((part) => `${part.name} ${formatDifference(part.points)}`).join(', ')
  const told = [` ${formatDifference(points)} points in ${time}`, basis].filter(Boolean).join(', ')
  return `${told}${made === '' ? '' : `: ${made}`}.`
}

/** Of both ends as they are shown: nobody is to find that it does not fit them. */
export function shownChange({ before, after }: Difference): number {
  return roundToTenths(after) - roundToTenths(before)
}

/** The keywords that made a change, in tenths of a point as shown; with the rest they add up to it. */
export function listParts(
  report: Report,
  difference: Difference,
): { readonly name: string; readonly list: number | null; readonly points: number }[] {
  const parts = difference.parts
    .map(({ list, points }) => ({ name: nameList(report, list), list, points: roundToTenths(points) }))
    .filter(({ points }) => points !== 0)
  const rest = roundToTenths(parts.reduce((left, { points }) => left - points, shownChange(difference)))
  return parts.length === 0 || rest === 0 ? parts : [...parts, { name: 'the rest', list: null, points: rest }]
}

/** `5.8 % to 5.4 % on the 5 of 7 keywords measured on both days`; empty where the last day shows all that. */
export function describeBasis(
  { compared, due }: Pick<StandingChange, 'compared' | 'due'>,
  { before, after }: Difference,
  now: number,
): string {
  if (roundToTenths(after) === roundToTenths(now) && compared === due) return ''
  const keywords = compared === due ? countOf(due, 'keyword') : `${compared} of ${countOf(due, 'keyword')}`
  return `${formatPercent(before)} to ${formatPercent(after)} on the ${keywords} measured on both days`
}

/** Without a mark a number that follows a Hebrew or Arabic name is shown before it. */
function beforeNumber(name: string): string {
  return /[\p{Script=Hebrew}\p{Script=Arabic}]/u.test(name) ? `${name}\u200e` : name
}

function describeFurthest(report: Report, { moves }: Comparison): string[] {
  const ways = [
    ['up', moves.find(isBetter)],
    ['down', moves.find(isWorse)],
  ] as const
  return ways.flatMap(([way, move]) => {
    if (move === undefined) return []
    const course = `${formatPoint(move.before)} → ${formatPoint(move.after)}`
    return [`Furthest ${way}: ${nameList(report, move.list)}, ${course}.`]
  })
}

/** With its store, where an app of the other store has the same name. */
export function nameApp(report: Report, index: number): string {
  const app = report.apps[index]
  if (app === undefined) return ''
  const isShared = report.apps.some(({ name, store }) => name === app.name && store !== app.store)
  return isShared ? `${asName(app.name)} (${STORE_NAMES[app.store]})` : asName(app.name)
}

/** `yoga timer (iOS US)`, as everywhere: also where all is of one store. */
export function nameList(report: Report, index: number): string {
  const list = report.lists[index]
  return list === undefined ? '' : `${asName(list.name)} (${STORE_NAMES[list.store]} ${list.place})`
}

/** The first day from which on it is looked for who came past whom. */
export function overtakingSince({ days }: Report): string {
  return formatDay(days.at(-1 - OVERTAKING_DAYS) ?? days[0] ?? '')
}

/** Of each store who overtook most, either way. */
function describeRivals(report: Report): string[] {
  const stores = [...new Set(report.duels.map(({ own }) => report.apps[own]?.store))]
  return stores.flatMap((store) => {
    const ofStore = report.duels.filter(({ own }) => report.apps[own]?.store === store)
    return (['lost', 'won'] as const).flatMap((side) => {
      const [most] = ofStore.toSorted((a, b) => b[side].length - a[side].length)
      if (most === undefined || most[side].length === 0) return []
      const [first, second] = side === 'lost' ? [most.rival, most.own] : [most.own, most.rival]
      const on = countOf(most[side].length, 'keyword')
      const whom = `${nameApp(report, first)} overtook ${nameApp(report, second)}`
      return [`${whom} on ${on} since ${overtakingSince(report)}.`]
    })
  })
}

function describeGaps(report: Report): string[] {
  const { measured, gaps, reasons } = report.coverage
  const poor = report.days.flatMap((day, n) => {
    const found = GAPS.filter((gap) => (gaps[gap][n] ?? 0) > 0)
    const missing = found.reduce((sum, gap) => sum + (gaps[gap][n] ?? 0), 0)
    const due = missing + (measured[n] ?? 0)
    if (due === 0 || (due - missing) / due >= POOR_SHARE) return []
    const share = missing === due ? 'nothing' : `only ${formatPercent((100 * (due - missing)) / due)}`
    const why = found.map((gap) => GAP_NAMES[gap]).join(', ')
    const reason = reasons.find((each) => each.day === day)?.reason ?? ''
    return [{ missing, sentence: `On ${formatDay(day)} ${share} was measured: ${why}. ${reason}`.trimEnd() }]
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
  const of = budget === undefined ? '' : ` of ${formatUsd(budget.limitMicros)} a ${budget.period}`
  const last = formatUsd(money.spentMicros.at(-1) ?? 0, 'rounded')
  const all = `${formatUsd(total, 'rounded')} in all these days`
  return `Spent ${last} on ${formatDay(days.at(-1) ?? '')}${of}, and ${all}.`
}

/** What the two days of a move say. */
type Moved = Pick<Move, 'movement' | 'change'>

const MOVEMENTS = { entered: 'in', left: 'out', same: '=', not_in_top: '=' } as const

/**
 * `+2` is two places up; `in` and `out` are about the depth; `–` when nothing can be said.
 * @param signs what stands before the places
 */
export function formatChange(
  { movement, change }: Moved,
  [up, down]: readonly [string, string] = ['+', '−'],
): string {
  if (movement === null) return '–'
  if (movement === 'up' || movement === 'down')
    return `${movement === 'up' ? up : down}${Math.abs(change ?? 0)}`
  return MOVEMENTS[movement]
}

export function isBetter({ movement }: Pick<Move, 'movement'>): boolean {
  return movement === 'up' || movement === 'entered'
}

export function isWorse({ movement }: Pick<Move, 'movement'>): boolean {
  return movement === 'down' || movement === 'left'
}

/** `12 up, 5 down, 70 unchanged, 2 not measured: budget`; `3 not measured: 2 budget, 1 failed`. */
export function describeMoves(moves: readonly Move[]): string {
  const count = (is: (move: Move) => boolean) => moves.filter(is).length
  const counts = [
    [count(isBetter), 'up'],
    [count(isWorse), 'down'],
    [count(({ movement }) => movement === 'same'), 'unchanged'],
    [count(({ movement }) => movement === 'not_in_top'), 'not ranked on either day'],
    [count((move) => move.movement === null && !gapOf(move.after)), 'without a rank to compare with'],
  ] as const
  const gaps = GAPS.map((gap) => [count(({ after }) => gapOf(after) === gap), GAP_NAMES[gap]] as const)
  const told = (some: readonly (readonly [number, string])[]) =>
    some.map(([number, what]) => `${formatCount(number)} ${what}`).join(', ')
  const missing = gaps.filter(([number]) => number > 0)
  const total = missing.reduce((sum, [number]) => sum + number, 0)
  const reasons = missing.length === 1 ? missing.map(([, name]) => name).join() : told(missing)
  const shown = counts.filter(([number], n) => n < 2 || number > 0)
  return total === 0 ? told(shown) : `${told([...shown, [total, 'not measured']])}: ${reasons}`
}

const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const

/** The last values, from the lowest to the highest; blank where there is none, level in the middle. */
export function drawSparkline(values: Daily<number | null>, width: number): string {
  const shown = values.slice(-width)
  const known = shown.filter((value) => value !== null)
  const lowest = Math.min(...known)
  const span = Math.max(...known) - lowest
  const bar = (value: number) =>
    span === 0 ? BARS[BARS.length / 2] : BARS[Math.round(((value - lowest) / span) * (BARS.length - 1))]
  return shown.map((value) => (value === null ? ' ' : bar(value))).join('')
}
