/** What the page's script works with: the ranks of every app on every list, once, in a compact form. */
import { deflateRawSync } from 'node:zlib'
import { ALL, type Shown } from '../../sections.ts'
import { formatDay } from '../../text/days.js'
import { asName } from '../../text/names.ts'
import { STORE_NAMES } from '../../text/words.ts'
import { depthWithout, gapOf, isRanked, NOTHING_DUE } from '../points.js'
import type { Report } from '../read.ts'
import type { RankSeries } from '../read-ranks.ts'
import { nameApp } from '../summary.ts'
import { classOfApp, collectMarks } from './figure.ts'
import { indexMoves, listRows, type MovesOf } from './keywords.ts'

export type PageData = ReturnType<typeof collectData>

export function collectData(report: Report, shown: Shown = ALL) {
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
      /** Rank, index in `names`, index in `apps` or -1, the rank the day before as in `Holder`, and votes. */
      holders: (report.holders[list] ?? []).map(
        ({ rank, name, app, before, votes }) =>
          [rank, placeOf.get(name) ?? 0, app ?? -1, before, votes] as const,
      ),
    })),
    /** Of each app on each list: each point as its difference to the one before. */
    series: report.series.map(({ list, app, points }) => {
      return [list, app, points.map((point, day) => point - (points[day - 1] ?? 0))] as const
    }),
    rows: (shown.has('keywords') ? listRows(report) : []).flatMap((index) => {
      const series = report.series[index]
      return series === undefined ? [] : [sortRow(report, series, index, moves)]
    }),
    marks: collectMarks(report),
  }
}

/** A row of the table: its series, and by columns what it is sorted by; null stands last, whichever way. */
function sortRow(report: Report, series: RankSeries, index: number, movesOf: MovesOf) {
  const latest = series.points.at(-1) ?? NOTHING_DUE
  const depth = depthWithout(latest)
  const [d1, d7, d30] = movesOf(series).map((move) =>
    move?.movement === 'not_in_top' ? 0 : (move?.change ?? null),
  )
  const { name = '', weight = 1 } = report.lists[series.list] ?? {}
  return {
    ...{ series: index, name: asName(name), weight, best: series.best },
    latest: isRanked(latest) ? latest : depth === null ? null : depth + 0.5,
    ...{ d1: d1 ?? null, d7: d7 ?? null, d30: d30 ?? null },
    difficulty: report.strengths[series.list]?.difficulty ?? null,
    opportunity: report.strengths[series.list]?.opportunity ?? null,
    state: isRanked(latest) ? 'ranked' : depth !== null ? 'absent' : gapOf(latest) && 'gap',
  }
}

/** Deflated, differences of ranks take a tenth; base64 has no letter that could end a script element. */
export function packData(data: PageData): string {
  return deflateRawSync(JSON.stringify(data), { level: 9 }).toString('base64')
}
