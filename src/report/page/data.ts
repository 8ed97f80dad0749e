/** What the page's script works with: the ranks of every app on every list, once, in a compact form. */
import { deflateRawSync } from 'node:zlib'
import { ALL, type Shown } from '../../sections.ts'
import { formatDay } from '../../text/days.js'
import { GAP_NAMES, GAPS } from '../../text/gaps.ts'
import { asName } from '../../text/names.ts'
import { STORE_NAMES } from '../../text/words.ts'
import {
  depthWithout,
  GAP_POINTS,
  gapOf,
  isRanked,
  NOTHING_DUE,
  type Point,
  type RankSeries,
  type Report,
} from '../model.ts'
import { nameApp } from '../summary.ts'
import { classOfApp, collectMarks } from './figure.ts'
import { indexMoves, listRows, type MovesOf } from './keywords.ts'

/** A row of the table: its series, and what it is sorted by; null stands at the end, whichever way. */
export interface PageRow {
  readonly series: number
  readonly best: number | null
  readonly latest: number | null
  readonly changes: readonly (number | null)[]
  readonly state: 'ranked' | 'absent' | 'gap' | 'none'
}

export interface PageData {
  readonly days: readonly string[]
  readonly dayNames: readonly string[]
  readonly apps: readonly { readonly name: string; readonly className: string; readonly isOwn: boolean }[]
  readonly lists: readonly {
    readonly name: string
    readonly place: string
    readonly tags: readonly string[]
    readonly weight: number
    readonly difficulty: number | null
    readonly opportunity: number | null
    /** Names of the apps that advertise on it. */
    readonly paid: readonly string[]
    /** Rank, index in `names`, index in `apps` or -1, the rank the day before as in `Holder`, and votes. */
    readonly holders: readonly (readonly [number, number, number, number | null, number | null])[]
  }[]
  /** Of the apps that hold the first places. */
  readonly names: readonly string[]
  /** List, app and points, each point as its difference to the one before. */
  readonly series: readonly (readonly [number, number, readonly Point[]])[]
  readonly rows: readonly PageRow[]
  /** What stands in for a rank: the points of the gaps, with name and class. */
  readonly gaps: readonly { readonly point: Point; readonly name: string; readonly className: string }[]
  readonly marks: ReturnType<typeof collectMarks>
}

export function collectData(report: Report, shown: Shown = ALL): PageData {
  const moves = indexMoves(report)
  const names = [...new Set(report.holders.flat().map(({ name }) => name))]
  const placeOf = new Map(names.map((name, place) => [name, place]))
  return {
    days: report.days,
    names: names.map(asName),
    dayNames: report.days.map(formatDay),
    apps: report.apps.map(({ role }, index) => ({
      name: nameApp(report, index),
      className: classOfApp(report, index),
      isOwn: role === 'own',
    })),
    lists: report.lists.map(({ name, place, store, tags, weight }, list) => ({
      name: asName(name),
      place: `${STORE_NAMES[store]} ${place}`,
      tags,
      weight,
      difficulty: report.strengths[list]?.difficulty ?? null,
      opportunity: report.strengths[list]?.opportunity ?? null,
      paid: (report.paid[list] ?? []).map(asName),
      holders: (report.holders[list] ?? []).map(
        ({ rank, name, app, before, votes }) =>
          [rank, placeOf.get(name) ?? 0, app ?? -1, before, votes] as const,
      ),
    })),
    series: report.series.map(({ list, app, points }) => [
      list,
      app,
      points.map((point, day) => point - (points[day - 1] ?? 0)),
    ]),
    rows: (shown.has('keywords') ? listRows(report) : []).flatMap((index) => {
      const series = report.series[index]
      return series === undefined ? [] : [sortRow(series, index, moves)]
    }),
    gaps: GAPS.map((gap) => ({ point: GAP_POINTS[gap], name: GAP_NAMES[gap], className: gap })),
    marks: collectMarks(report),
  }
}

function sortRow(series: RankSeries, index: number, movesOf: MovesOf): PageRow {
  const latest = series.points.at(-1) ?? NOTHING_DUE
  const depth = depthWithout(latest)
  return {
    series: index,
    best: series.best,
    latest: isRanked(latest) ? latest : depth === null ? null : depth + 0.5,
    changes: movesOf(series).map((move) => (move?.movement === 'not_in_top' ? 0 : (move?.change ?? null))),
    state: isRanked(latest) ? 'ranked' : depth !== null ? 'absent' : gapOf(latest) === null ? 'none' : 'gap',
  }
}

/**
 * Differences of ranks deflate to a tenth of what they take as text; base64 has no letter that could end a
 * script element.
 */
export function packData(data: PageData): string {
  return deflateRawSync(JSON.stringify(data), { level: 9 }).toString('base64')
}
