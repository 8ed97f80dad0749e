/** The latest day of a report in short, as data: what the terminal prints, and `--json` gives to programs. */

import { ALL, type Shown } from '../sections.ts'
import { GAPS, type Gap } from '../text/gaps.js'
import type { Daily, Day, Difference, GapReason, Move, Report } from './model.ts'
import { formatPoint, gapOf, isRanked } from './points.js'
import {
  compareOver,
  type Finding,
  headlineOf,
  isComparable,
  listParts,
  nameApp,
  shownChange,
  summarise,
} from './summary.ts'
import { isBetter, isWorse } from './words.ts'

const WEEK_DAYS = 7
const OPPORTUNITIES = 5

export interface Digest {
  readonly project: string
  readonly tag: string | null
  readonly location: string | null
  /** The days that visibility, money and `findings` are of; all else is of the last one. */
  readonly from: Day
  readonly to: Day
  /** `12 up, 5 down, 2 not measured: budget`, since the day before. */
  readonly headline: string
  readonly findings: readonly Finding[]
  /** Since the day before, the furthest first. */
  readonly up: readonly DigestMove[]
  readonly down: readonly DigestMove[]
  /** Of the first ten places, in so many days: 7, or one where nothing was measured 7 days before. */
  readonly crossedInDays: number
  readonly entered: readonly DigestMove[]
  readonly left: readonly DigestMove[]
  /** Own apps' ranks that are missing, then every slot of the day that is, by reason. */
  readonly unmeasured: readonly { readonly gap: Gap; readonly ranks: number }[]
  readonly reasons: readonly GapReason[]
  readonly visibility: readonly DigestVisibility[]
  /** The keywords that are worth most work: function `opportunity`, over the last week. */
  readonly opportunities: readonly DigestOpportunity[]
  /** Of the last 30 days, those on own brands first. */
  readonly advertisers: Report['advertisers']
  /** `app` is null for everybody who is not watched; they add up to 100 in each store. */
  readonly shareOfVoice: readonly {
    readonly store: string
    readonly app: string | null
    readonly percent: number | null
  }[]
  readonly money: {
    readonly spentMicros: number
    readonly spentInAllMicros: number
    readonly reservedMicros: number
    readonly budgets: Report['money']['budgets']
  }
}

export interface DigestMove {
  readonly app: string
  readonly keyword: string
  readonly store: string
  readonly place: string
  /** Null where it was not within depth, which the text says. */
  readonly rankBefore: number | null
  readonly rank: number | null
  readonly beforeText: string
  readonly text: string
  readonly movement: Move['movement']
  /** Places climbed, negative when it fell; at least so many where one day did not find it. */
  readonly change: number | null
  /** Who came into the top where it left it, or left it where it came. */
  readonly instead: readonly string[]
}

export interface DigestOpportunity {
  readonly keyword: string
  readonly store: string
  readonly place: string
  readonly difficulty: number
  readonly opportunity: number
  readonly weak: number
}

export interface DigestVisibility {
  readonly app: string
  readonly store: string
  readonly role: string
  /** Null where less than four fifths of the last day were measured. */
  readonly percent: number | null
  /** In points as both ends are shown, over the keywords measured on both days; null where none is. */
  readonly changeInWeek: number | null
  /** How many these are, of those that were due on both days. */
  readonly compared: number
  readonly due: number
  /**
   * The keywords that made the change, in points; of own apps. `keyword` is null for all the others together.
   */
  readonly parts: readonly { readonly keyword: string | null; readonly points: number }[]
  readonly measuredPercent: number | null
  readonly course: Daily<number | null>
}

export function digest(report: Report, shown: Shown = ALL): Digest {
  const { moves } = compareOver(report, 1)
  const week = compareOver(report, WEEK_DAYS)
  const { span: crossedInDays, entered, left } = isComparable(week) ? week : compareOver(report, 1)
  const show = (moves: readonly Move[]) => moves.map((move) => showMove(report, move))
  const gaps = moves.map(({ after }) => gapOf(after))
  const to = report.days.at(-1) ?? ''
  return {
    project: report.project,
    tag: report.tag,
    location: report.location,
    from: report.days[0] ?? '',
    to,
    headline: headlineOf(report),
    findings: summarise(report, WEEK_DAYS, shown),
    up: show(moves.filter(isBetter)),
    down: show(moves.filter(isWorse)),
    crossedInDays,
    entered: show(entered),
    left: show(left),
    unmeasured: GAPS.map((gap) => ({ gap, ranks: gaps.filter((each) => each === gap).length })).filter(
      ({ ranks }) => ranks > 0,
    ),
    reasons: report.coverage.reasons.filter(({ day }) => day === to),
    visibility: showVisibility(report),
    opportunities: showOpportunities(report),
    advertisers: report.advertisers,
    shareOfVoice: report.standings.map(({ store, app, share }) => ({
      store,
      app: app === null ? null : nameApp(report, app),
      percent: share.at(-1) ?? null,
    })),
    money: showMoney(report),
  }
}

function showOpportunities({ lists, strengths }: Report): DigestOpportunity[] {
  return lists
    .flatMap(({ name, store, place }, list) => {
      const strength = strengths[list] ?? null
      return strength === null ? [] : [{ keyword: name, store, place, ...strength }]
    })
    .filter(({ opportunity }) => opportunity > 0)
    .toSorted((a, b) => b.opportunity - a.opportunity)
    .slice(0, OPPORTUNITIES)
}

function showMove(report: Report, { before, after, movement, change, instead, ...of }: Move): DigestMove {
  const list = report.lists[of.list]
  return {
    app: nameApp(report, of.app),
    keyword: list?.name ?? '',
    store: list?.store ?? '',
    place: list?.place ?? '',
    rankBefore: isRanked(before) ? before : null,
    rank: isRanked(after) ? after : null,
    beforeText: formatPoint(before),
    text: formatPoint(after),
    movement,
    change,
    instead,
  }
}

function showVisibility(report: Report): DigestVisibility[] {
  const { changes } = compareOver(report, WEEK_DAYS)
  return report.standings.flatMap(({ app, visibility, measuredPercent }) => {
    if (app === null) return []
    const {
      visibility: points = null,
      compared = 0,
      due = 0,
    } = changes.find((each) => each.app === app) ?? {}
    return [
      {
        app: nameApp(report, app),
        store: report.apps[app]?.store ?? '',
        role: report.apps[app]?.role ?? '',
        percent: visibility.at(-1) ?? null,
        changeInWeek: points === null ? null : shownChange(points),
        compared,
        due,
        parts: points === null ? [] : showParts(report, points),
        measuredPercent: measuredPercent.at(-1) ?? null,
        course: visibility,
      },
    ]
  })
}

function showParts(report: Report, difference: Difference): DigestVisibility['parts'] {
  return listParts(report, difference).map(({ name, list, points }) => ({
    keyword: list === null ? null : name,
    points,
  }))
}

function showMoney({ money }: Report): Digest['money'] {
  return {
    spentMicros: money.spentMicros.at(-1) ?? 0,
    spentInAllMicros: money.spentMicros.reduce((sum, micros) => sum + micros, 0),
    reservedMicros: money.reservedMicros,
    budgets: money.budgets,
  }
}
