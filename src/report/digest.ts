/** The latest day of a report in short, as data: what the terminal prints, and `--json` gives to programs. */
import { ALL, type Shown } from '../sections.ts'
import { GAPS } from '../text/gaps.js'
import { formatPoint, gapOf, isRanked } from './points.js'
import type { Report } from './read.ts'
import type { Move } from './read-changes.ts'
import {
  compareOver,
  compareStanding,
  headlineOf,
  isBetter,
  isComparable,
  isWorse,
  nameApp,
  summarise,
} from './summary.ts'

const WEEK_DAYS = 7
const OPPORTUNITIES = 5

export type Digest = ReturnType<typeof digest>
export type DigestMove = ReturnType<typeof showMove>

export function digest(report: Report, shown: Shown = ALL) {
  const { project, tag, location, days, coverage, standings, advertisers } = report
  const { moves } = compareOver(report, 1)
  const week = compareOver(report, WEEK_DAYS)
  const { span: crossedInDays, entered, left } = isComparable(week) ? week : compareOver(report, 1)
  const show = (moves: readonly Move[]) => moves.map((move) => showMove(report, move))
  const gaps = Map.groupBy(moves, ({ after }) => gapOf(after))
  const to = days.at(-1) ?? ''
  return {
    ...{ project, tag, location },
    /** The days that visibility, money and `findings` are of; all else is of the last one. */
    ...{ from: days[0] ?? '', to },
    /** `12 up, 5 down, 2 not measured: budget`, since the day before. */
    headline: headlineOf(report),
    findings: summarise(report, WEEK_DAYS, shown),
    /** Since the day before, the furthest first. */
    up: show(moves.filter(isBetter)),
    down: show(moves.filter(isWorse)),
    /** Of the first ten places, in so many days: 7, or one where nothing was measured 7 days before. */
    crossedInDays,
    entered: show(entered),
    left: show(left),
    /** Own apps' ranks that are missing, then every slot of the day that is, by reason. */
    unmeasured: GAPS.flatMap((gap) => {
      const ranks = gaps.get(gap)?.length ?? 0
      return ranks === 0 ? [] : [{ gap, ranks }]
    }),
    reasons: coverage.reasons.filter(({ day }) => day === to),
    visibility: showVisibility(report),
    opportunities: showOpportunities(report),
    advertisers,
    /** `app` is null for everybody who is not watched; they add up to 100 in each store. */
    shareOfVoice: standings.map(({ store, app, share }) => ({
      store,
      app: app === null ? null : nameApp(report, app),
      percent: share.at(-1) ?? null,
    })),
    money: showMoney(report),
  }
}

/** The keywords that are worth most work, over the last week. */
function showOpportunities({ lists, strengths }: Report) {
  return lists
    .flatMap(({ name: keyword, store, place }, list) => {
      const strength = strengths[list] ?? null
      return strength === null ? [] : [{ keyword, store, place, ...strength }]
    })
    .filter(({ opportunity }) => opportunity > 0)
    .toSorted((a, b) => b.opportunity - a.opportunity)
    .slice(0, OPPORTUNITIES)
}

function showMove(report: Report, { list, app, before, after, movement, change, instead }: Move) {
  const { name: keyword = '', store = '', place = '' } = report.lists[list] ?? {}
  return {
    app: nameApp(report, app),
    ...{ keyword, store, place },
    /** Null where it was not within depth, which the text says. */
    rankBefore: isRanked(before) ? before : null,
    rank: isRanked(after) ? after : null,
    beforeText: formatPoint(before),
    text: formatPoint(after),
    /** As in `Move`. */
    ...{ movement, change, instead },
  }
}

function showVisibility(report: Report) {
  return report.standings.flatMap((standing) => {
    const { app, visibility } = standing
    if (app === null) return []
    const { store = '', role = '' } = report.apps[app] ?? {}
    const stand = compareStanding(report, standing, 'visibility', WEEK_DAYS)
    return [
      {
        app: nameApp(report, app),
        ...{ store, role },
        /** Null where less than four fifths of the last day were measured. */
        percent: stand.now,
        /** In points as both ends are shown, over the keywords measured on both days; null where none is. */
        changeInWeek: stand.points,
        /** How many these are, of those that were due on both days. */
        ...{ compared: stand.compared, due: stand.due },
        /** The keywords that made the change, in points; of own apps. Null for all the others together. */
        parts: stand.parts.map(({ name, list, points }) => ({
          keyword: list === null ? null : name,
          points,
        })),
        measuredPercent: stand.measured,
        course: visibility,
      },
    ]
  })
}

function showMoney({ money: { spentMicros, reservedMicros, budgets } }: Report) {
  return {
    spentMicros: spentMicros.at(-1) ?? 0,
    spentInAllMicros: spentMicros.reduce((sum, micros) => sum + micros, 0),
    ...{ reservedMicros, budgets },
  }
}
