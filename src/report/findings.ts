/** What follows from the ranks of a report: who moved, who overtook whom, how many stand where. Pure functions, no rank is ever guessed. */
import {
  type ByGap,
  byGap,
  type Daily,
  type Day,
  depthWithout,
  type Gap,
  gapOf,
  isMeasured,
  isRanked,
  type Point,
  type RankSeries,
  type Report,
} from './model.ts'

/** Days back from the last one, in the order of `RankSeries.past`. */
export const SPANS: readonly number[] = [1, 7, 30]
/** Days back from the last one: of `SPANS`, or within the days of the report. */
export type Span = number

/**
 * `entered` and `left` are about the depth that was looked at, and their places are the fewest that it can have been. `absent`
 * is not within depth on both days; `unknown` when a day was not measured, or the depth changed so that nothing can be said.
 */
export interface Change {
  readonly kind: 'up' | 'down' | 'same' | 'entered' | 'left' | 'absent' | 'unknown'
  readonly places: number
}

const UNKNOWN: Change = { kind: 'unknown', places: 0 }

export function changeBetween(before: Point, after: Point): Change {
  if (!isMeasured(before) || !isMeasured(after)) return UNKNOWN
  if (isRanked(before) && isRanked(after)) {
    if (before === after) return { kind: 'same', places: 0 }
    return { kind: after < before ? 'up' : 'down', places: Math.abs(before - after) }
  }
  const depth = depthWithout(isRanked(before) ? after : before) ?? 0
  const rank = Math.max(before, after)
  if (rank < 0) return { kind: 'absent', places: 0 }
  if (rank > depth) return UNKNOWN
  return { kind: isRanked(after) ? 'entered' : 'left', places: depth + 1 - rank }
}

export function isBetter({ kind }: Change): boolean {
  return kind === 'up' || kind === 'entered'
}

export function isWorse({ kind }: Change): boolean {
  return kind === 'down' || kind === 'left'
}

export function latestOf(series: RankSeries): Point {
  return series.points.at(-1) ?? 0
}

export function changeOver(series: RankSeries, span: Span): Change {
  return changeBetween(pastOf(series, span), latestOf(series))
}

function pastOf({ past, points }: RankSeries, span: Span): Point {
  const index = SPANS.indexOf(span)
  return (index < 0 ? points.at(-1 - span) : past[index]) ?? 0
}

/** The best rank of the days shown; null when there is none. */
export function bestOf({ points }: RankSeries): number | null {
  const ranks = points.filter(isRanked)
  return ranks.length === 0 ? null : Math.min(...ranks)
}

/** The series of the project's own apps. */
export function ownSeries(report: Report): readonly RankSeries[] {
  return report.series.filter(({ app }) => report.apps[app]?.role === 'own')
}

export interface Tally {
  readonly up: number
  readonly down: number
  readonly same: number
  readonly absent: number
  /** Measured on the last day, but nothing to compare it with. */
  readonly incomparable: number
  readonly unmeasured: ByGap<number>
}

/** What became of the own apps' ranks over a span. */
export function tallyChanges(report: Report, span: Span): Tally {
  const counts = { up: 0, down: 0, same: 0, absent: 0, incomparable: 0 }
  const unmeasured: Record<Gap, number> = byGap(() => 0)
  for (const series of ownSeries(report)) {
    const gap = gapOf(latestOf(series))
    const change = changeOver(series, span)
    if (gap !== null) unmeasured[gap] += 1
    else if (isBetter(change)) counts.up += 1
    else if (isWorse(change)) counts.down += 1
    else if (change.kind === 'same' || change.kind === 'absent') counts[change.kind] += 1
    else if (isMeasured(latestOf(series))) counts.incomparable += 1
  }
  return { ...counts, unmeasured }
}

export interface Move {
  readonly series: RankSeries
  readonly before: Point
  readonly after: Point
  readonly change: Change
}

export interface Movers {
  readonly up: readonly Move[]
  readonly down: readonly Move[]
}

/** Own apps that moved over a span, the furthest first. */
export function findMovers(report: Report, span: Span): Movers {
  const moves = movesOver(report, span).toSorted(
    (a, b) => b.change.places - a.change.places || bestEnd(a) - bestEnd(b),
  )
  return {
    up: moves.filter(({ change }) => isBetter(change)),
    down: moves.filter(({ change }) => isWorse(change)),
  }
}

/** Own apps that came into the first `top` places over a span, and those that left them; the best rank first. */
export function findCrossings(
  report: Report,
  span: Span,
  top: number,
): { entered: readonly Move[]; left: readonly Move[] } {
  const isIn = (point: Point) => isRanked(point) && point <= top
  const moves = movesOver(report, span).toSorted((a, b) => bestEnd(a) - bestEnd(b))
  return {
    entered: moves.filter(({ before, after }) => !isIn(before) && isIn(after)),
    left: moves.filter(({ before, after }) => isIn(before) && !isIn(after)),
  }
}

function movesOver(report: Report, span: Span): Move[] {
  return ownSeries(report)
    .map((series) => ({
      series,
      before: pastOf(series, span),
      after: latestOf(series),
      change: changeOver(series, span),
    }))
    .filter(({ change }) => change.places > 0)
}

function bestEnd({ before, after }: Move): number {
  return Math.min(...[before, after].filter(isRanked))
}

/** Bands of ranks by their last rank. */
export const BANDS = [1, 3, 10, 30, 100] as const
/** After the bands: ranked beyond them, or not within depth. */
export const BEYOND = BANDS.length
/** And last: not measured. */
export const UNMEASURED = BEYOND + 1

/** How many of the own apps' ranks stood where on each day, in the order of BANDS, BEYOND and UNMEASURED. */
export function distribute(report: Report): Daily<number>[] {
  const counts = Array.from({ length: UNMEASURED + 1 }, () => report.days.map(() => 0))
  for (const { points } of ownSeries(report)) {
    for (const [day, point] of points.entries()) {
      const band = counts[bandOf(point) ?? -1]
      if (band !== undefined) band[day] = (band[day] ?? 0) + 1
    }
  }
  return counts
}

/** Index of the band; null where nothing was due. */
function bandOf(point: Point): number | null {
  if (gapOf(point) !== null) return UNMEASURED
  if (!isMeasured(point)) return null
  const band = BANDS.findIndex((last) => isRanked(point) && point <= last)
  return band === -1 ? BEYOND : band
}

export interface Overtaking {
  readonly list: number
  /** The day of the first measurement that shows it. */
  readonly day: Day
  /** On the day before it that was measured, then on the day, of the own app and of the rival. */
  readonly own: readonly [Point, Point]
  readonly rival: readonly [Point, Point]
}

export interface Duel {
  /** Indexes in `Report.apps`. */
  readonly own: number
  readonly rival: number
  /** Lists on which each was ahead when both were last compared. */
  readonly ahead: number
  readonly behind: number
  /** Where the one that is ahead now was behind at the beginning: when that turned, the latest first. */
  readonly won: readonly Overtaking[]
  readonly lost: readonly Overtaking[]
}

/** Each own app against each competitor of its store, list by list. */
export function compareRivals(report: Report): Duel[] {
  const byApp = new Map<number, Map<number, RankSeries>>()
  for (const series of report.series) {
    const lists = byApp.get(series.app) ?? new Map<number, RankSeries>()
    byApp.set(series.app, lists.set(series.list, series))
  }
  const appsOf = (role: string) => [...report.apps.entries()].filter(([, app]) => app.role === role)
  return appsOf('own').flatMap(([own, { store }]) =>
    appsOf('competitor')
      .filter(([, rival]) => rival.store === store)
      .map(([rival]) => compare(report, { own, rival }, byApp.get(own), byApp.get(rival))),
  )
}

function compare(
  report: Report,
  apps: Pick<Duel, 'own' | 'rival'>,
  ownLists: ReadonlyMap<number, RankSeries> = new Map(),
  rivalLists: ReadonlyMap<number, RankSeries> = new Map(),
): Duel {
  let ahead = 0
  let behind = 0
  const won: Overtaking[] = []
  const lost: Overtaking[] = []
  for (const [list, own] of ownLists) {
    const course = followLead(own.points, rivalLists.get(list)?.points ?? [])
    if (course === null) continue
    if (course.isAhead) ahead += 1
    else behind += 1
    if (course.turn === null) continue
    const [before, day] = course.turn
    const at = (points: Daily<Point>): [Point, Point] => [points[before] ?? 0, points[day] ?? 0]
    const overtaking = {
      list,
      day: report.days[day] ?? '',
      own: at(own.points),
      rival: at(rivalLists.get(list)?.points ?? []),
    }
    if (course.isAhead) won.push(overtaking)
    else lost.push(overtaking)
  }
  const byDay = (a: Overtaking, b: Overtaking) => b.day.localeCompare(a.day)
  return { ...apps, ahead, behind, won: won.toSorted(byDay), lost: lost.toSorted(byDay) }
}

/** Who was ahead last, and, if it was not so at first, the days between which it turned for the last time. */
function followLead(
  own: Daily<Point>,
  rival: Daily<Point>,
): { isAhead: boolean; turn: [number, number] | null } | null {
  let first: boolean | null = null
  let current: boolean | null = null
  let known = 0
  let turn: [number, number] = [0, 0]
  for (const [day, point] of own.entries()) {
    const lead = isAhead(point, rival[day] ?? 0)
    if (lead === null) continue
    first ??= lead
    if (current !== null && lead !== current) turn = [known, day]
    current = lead
    known = day
  }
  if (current === null) return null
  return { isAhead: current, turn: current === first ? null : turn }
}

/** Of two points of one measurement; null when neither is ranked. */
function isAhead(own: Point, rival: Point): boolean | null {
  if (!isMeasured(own) || !isMeasured(rival) || own === rival) return null
  return own > 0 && (rival < 0 || own < rival)
}
