/** The latest day of a report in short, as data: what the terminal prints, and `--json` gives to programs. */
import { type Change, findCrossings, findMovers, latestOf, type Move, ownSeries } from './findings.ts'
import {
  type Daily,
  type Day,
  GAPS,
  type Gap,
  type GapReason,
  gapOf,
  isRanked,
  type Report,
} from './model.ts'
import { type Finding, headlineOf, nameApp, summarise, TOP } from './summary.ts'
import { formatPoint } from './words.ts'

export interface Digest {
  readonly project: string
  readonly tag: string | null
  /** The days that visibility, money and `findings` are of; all else is of the last one. */
  readonly from: Day
  readonly to: Day
  /** `12 up, 5 down, 2 not measured: budget`, since the day before. */
  readonly headline: string
  readonly findings: readonly Finding[]
  /** Since the day before, the furthest first. */
  readonly up: readonly DigestMove[]
  readonly down: readonly DigestMove[]
  /** Of the first ten places, since the day before. */
  readonly entered: readonly DigestMove[]
  readonly left: readonly DigestMove[]
  /** Own apps' ranks that are missing, then every slot of the day that is, by reason. */
  readonly unmeasured: readonly { readonly gap: Gap; readonly ranks: number }[]
  readonly reasons: readonly GapReason[]
  readonly visibility: readonly DigestVisibility[]
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
  readonly change: Change
}

export interface DigestVisibility {
  readonly app: string
  readonly store: string
  readonly role: string
  readonly percent: number | null
  /** In points, null when either end was not measured. */
  readonly changeInWeek: number | null
  readonly measuredPercent: number | null
  readonly course: Daily<number | null>
}

const WEEK_DAYS = 7

export function digest(report: Report): Digest {
  const { up, down } = findMovers(report, 1)
  const { entered, left } = findCrossings(report, 1, TOP)
  const show = (moves: readonly Move[]) => moves.map((move) => showMove(report, move))
  const gaps = ownSeries(report).map((series) => gapOf(latestOf(series)))
  const to = report.days.at(-1) ?? ''
  return {
    project: report.project,
    tag: report.tag,
    from: report.days[0] ?? '',
    to,
    headline: headlineOf(report),
    findings: summarise(report),
    up: show(up),
    down: show(down),
    entered: show(entered),
    left: show(left),
    unmeasured: GAPS.map((gap) => ({ gap, ranks: gaps.filter((each) => each === gap).length })).filter(
      ({ ranks }) => ranks > 0,
    ),
    reasons: report.coverage.reasons.filter(({ day }) => day === to),
    visibility: showVisibility(report),
    shareOfVoice: report.shareOfVoice.map(({ store, app, percent }) => ({
      store,
      app: app === null ? null : nameApp(report, app),
      percent: percent.at(-1) ?? null,
    })),
    money: showMoney(report),
  }
}

function showMove(report: Report, { series, before, after, change }: Move): DigestMove {
  const list = report.lists[series.list]
  return {
    app: nameApp(report, series.app),
    keyword: list?.name ?? '',
    store: list?.store ?? '',
    place: list?.place ?? '',
    rankBefore: isRanked(before) ? before : null,
    rank: isRanked(after) ? after : null,
    beforeText: formatPoint(before),
    text: formatPoint(after),
    change,
  }
}

function showVisibility(report: Report): DigestVisibility[] {
  return report.visibility.map(({ app, percent, measuredPercent }) => {
    const now = percent.at(-1) ?? null
    const before = percent.at(-1 - WEEK_DAYS) ?? null
    return {
      app: nameApp(report, app),
      store: report.apps[app]?.store ?? '',
      role: report.apps[app]?.role ?? '',
      percent: now,
      changeInWeek: now === null || before === null ? null : now - before,
      measuredPercent: measuredPercent.at(-1) ?? null,
      course: percent,
    }
  })
}

function showMoney({ money }: Report): Digest['money'] {
  return {
    spentMicros: money.spentMicros.at(-1) ?? 0,
    spentInAllMicros: money.spentMicros.reduce((sum, micros) => sum + micros, 0),
    reservedMicros: money.reservedMicros,
    budgets: money.budgets,
  }
}
