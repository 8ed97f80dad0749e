/**
 * The ranks of a report, as the database's functions have them. A day has one of each app on each list: that
 * of its last measurement; and a gap only where it has none at all. Days are those of the project's time
 * zone.
 */
import type { Transaction } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { Store } from '../service/functions.ts'
import { GAP_POINTS, IMPORTED, NOTHING_DUE, notInTop, type Point } from './points.js'
import { type Daily, type Day, locate, placeOf, type Row, range, type Scope } from './scope.ts'

export interface ReportedApp {
  readonly store: Store
  readonly appId: string
  /** Its label, else its title, else its id. */
  readonly name: string
  readonly role: 'own' | 'competitor'
}

/** A keyword or a chart in its place. */
export interface RankedList {
  readonly store: Store
  readonly kind: 'keyword' | 'chart'
  /** The keyword; of a chart its collection and category. */
  readonly name: string
  /** Country code, or the name of a smaller location. */
  readonly place: string
  readonly language: string
  readonly tags: readonly string[]
  /** What it is worth beside the others. */
  readonly weight: number
}

/** One app on one list. */
export interface RankSeries {
  /** Index in `Report.lists`. */
  readonly list: number
  /** Index in `Report.apps`, of the same store as the list. */
  readonly app: number
  readonly points: Daily<Point>
  /** The best rank of these days; null when there is none. */
  readonly best: number | null
}

/** An app on all keywords of its store: function `standings`. Null: less than four fifths were measured. */
export interface Standing {
  readonly store: Store
  /** Null: everybody that the project does not watch. */
  readonly app: number | null
  /** By what each keyword weighs: 100 is first on each of them. Of everybody else there is none. */
  readonly visibility: Daily<number | null>
  /** Of the places of all apps; those of a store add up to 100. */
  readonly share: Daily<number | null>
  /** Of the keywords due; null on days when none was. */
  readonly measuredPercent: Daily<number | null>
  /** How many keywords were measured, and in how many of these it is in the first `TOP` places. */
  readonly measured: Daily<number>
  readonly inTop: Daily<number>
}

/** Bands of ranks by their last rank. */
export const BANDS = [1, 3, 10, 30, 100] as const

/** The apps that the project watches, or watched on a day of the range; own apps first. */
export async function readApps(
  tx: Transaction,
  project: string,
  from: Day,
): Promise<(ReportedApp & { readonly id: number })[]> {
  return tx<(ReportedApp & { readonly id: number })[]>`
    select a.app as id, a.store, a.app_id as "appId", coalesce(a.label, a.title, a.app_id) as name, a.role
    from project_app a join project p on p.name = a.project
    where a.project = ${project}
      and coalesce(a.ended_at, 'infinity') > ${from}::date::timestamp at time zone p.timezone
    order by a.role = 'own' desc, a.store desc, name, a.app`
}

/** A measurement of an app as a `Point`, of the columns with its rank, outcome and depth. */
export const pointOf = (rank: string, outcome: string, depth: string) => sql`
  case ${sql.identifier(outcome)} when 'ranked' then ${sql.identifier(rank)}
    when 'imported' then ${IMPORTED}::integer + ${sql.identifier(rank)}
    when 'not_in_top' then ${notInTop(0)}::integer - coalesce(${sql.identifier(depth)}, 0)
    else coalesce(
      (${JSON.stringify(GAP_POINTS)}::text::jsonb ->> ${sql.identifier(outcome)})::integer,
      ${NOTHING_DUE}) end`

/** The lists of the range with the ranks of every app of their store; and the scope with their indexes. */
export async function readRanks(
  tx: Transaction,
  known: Omit<Scope, 'listOf'>,
): Promise<{ lists: readonly RankedList[]; series: readonly RankSeries[]; scope: Scope }> {
  const { project, from, days, appOf } = known
  const rows = await tx<(Row<Pick<RankSeries, 'best'>> & { targetId: number; on: number[]; at: Point[] })[]>`
    select r.target_id as "targetId", r.app as id, array_agg(r.day - ${from}::date) as on,
      array_agg(${pointOf('r.rank', 'r.outcome', 'r.depth')}) as at,
      min(r.rank) filter (where r.source is null) as best
    from rank_daily(${range(known)}) r
    where r.app = any(${[...appOf.keys()]})
    group by 1, 2`
  const targets = [...new Set(rows.map(({ targetId }) => targetId))]
  const lists = await tx<(RankedList & { targetId: number })[]>`
    select t.target_id as "targetId", t.store, t.list as kind,
      coalesce(t.keyword, concat_ws(', ', t.collection, t.category)) as name, ${placeOf('t')} as place,
      t.language, array(select unnest(t.tags) order by 1) as tags, t.weight
    from project_list t
    where t.project = ${project} and t.target_id = any(${targets})
    order by t.list desc, t.store desc, name, place, t.language, t.target_id`
  const scope = { ...known, listOf: new Map(lists.map(({ targetId }, index) => [targetId, index])) }
  const series = rows.map(({ on, at, ...row }) => {
    const points: Point[] = days.map(() => NOTHING_DUE)
    for (const [n, day] of on.entries()) points[day] = at[n] ?? NOTHING_DUE
    return { ...row, points }
  })
  return {
    lists: lists.map(({ targetId: _, ...list }) => list),
    series: locate<RankSeries>(scope, series).toSorted((a, b) => a.list - b.list || a.app - b.app),
    scope,
  }
}

/** Of an app, or of everybody else, on keywords or charts. */
interface StandingRow {
  readonly store: Standing['store']
  readonly id: number | null
  readonly role: string
  readonly list: RankedList['kind']
  /** By the number of days since the first one. */
  readonly on: Readonly<Record<number, StandingOfDay>>
}

interface StandingOfDay {
  readonly visibility: number | null
  readonly share: number | null
  readonly measuredPercent: number
  readonly measured: number
  /** As in the distribution. */
  readonly counts: readonly number[]
}

/**
 * By store, everybody else last: of keywords alone, because charts are of another kind. The distribution is
 * of both: on how many lists the own apps stand in each of `BANDS`, beyond them (or not in the top), and
 * where they were not measured; empty where no own app is ranked.
 */
export async function readStandings(
  tx: Transaction,
  scope: Scope,
): Promise<{ standings: readonly Standing[]; distribution: readonly Daily<number>[] }> {
  const { from, days, appOf } = scope
  const rows = await tx<StandingRow[]>`
    select s.store, s.app as id, s.role, s.list, jsonb_object_agg(s.day - ${from}::date, jsonb_build_object(
      'visibility', s.visibility, 'share', s.share, 'measuredPercent', (100 * s.measured_share)::float8,
      'measured', s.measured, 'counts', jsonb_build_array(s.top_1, s.top_2_3, s.top_4_10, s.top_11_30,
        s.top_31_100, s.beyond, s.not_measured))) as on
    from standings(${range(scope)}) s
    where s.app is null or s.app = any(${[...appOf.keys()]})
    group by 1, 2, 3, 4`
  const standings = rows
    .filter(({ list }) => list === 'keyword')
    .map(({ store, id, on }) => {
      const daily = <Value, None>(of: (day: StandingOfDay) => Value, none: None) =>
        days.map((_, n) => (on[n] === undefined ? none : of(on[n])))
      return {
        ...{ store, id },
        visibility: daily((day) => day.visibility, null),
        share: daily((day) => day.share, null),
        measuredPercent: daily((day) => day.measuredPercent, null),
        measured: daily((day) => day.measured, 0),
        inTop: daily(({ counts: [first = 0, second = 0, third = 0] }) => first + second + third, 0),
      }
    })
  return {
    standings: locate<Standing>(scope, standings).toSorted(
      (a, b) => b.store.localeCompare(a.store) || (a.app ?? Infinity) - (b.app ?? Infinity),
    ),
    distribution: addUpBands(
      days,
      rows.filter(({ role }) => role === 'own'),
    ),
  }
}

function addUpBands(days: readonly Day[], own: readonly StandingRow[]): number[][] {
  if (own.length === 0) return []
  return [...BANDS, 'beyond', 'not measured'].map((_, band) =>
    days.map((_, n) => own.reduce((sum, { on }) => sum + (on[n]?.counts[band] ?? 0), 0)),
  )
}
