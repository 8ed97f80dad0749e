/**
 * The ranks of a report, as the database's functions have them. A day has one of each app on each list: that
 * of its last measurement; and a gap only where it has none at all. Days are those of the project's time
 * zone.
 */

import type { Transaction } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import {
  BANDS,
  BEYOND,
  type Day,
  type Distribution,
  NOT_MEASURED,
  type RankedList,
  type RankSeries,
  type Report,
  type ReportedApp,
  type Standing,
} from './model.ts'
import { GAP_POINTS, IMPORTED, NOTHING_DUE, notInTop, type Point } from './points.js'
import { type Scope, within } from './scope.ts'

export interface KnownApp extends ReportedApp {
  /** In the dictionary. */
  readonly id: number
}

/** The apps that the project watches, or watched on a day of the range; own apps first. */
export async function readApps(tx: Transaction, project: string, from: Day): Promise<KnownApp[]> {
  return tx<KnownApp[]>`
    select a.app as id, a.store, a.app_id as "appId", coalesce(a.label, a.title, a.app_id) as name, a.role
    from project_app a join project p on p.name = a.project
    where a.project = ${project}
      and coalesce(a.ended_at, 'infinity') > ${from}::date::timestamp at time zone p.timezone
    order by a.role = 'own' desc, a.store desc, name, a.app`
}

interface KnownList extends RankedList {
  readonly targetId: number
}

/** Keywords and charts, by their targets. */
async function readLists(
  tx: Transaction,
  { project }: Scope,
  targets: readonly number[],
): Promise<KnownList[]> {
  return tx<KnownList[]>`
    select t.target_id as "targetId", t.store, t.list as kind,
      coalesce(t.keyword, concat_ws(', ', t.collection, t.category)) as name,
      case l.type when 'Country' then l.country_iso_code else t.location end as place, t.language,
      array(select unnest(t.tags) order by 1) as tags, t.weight
    from project_list t
    left join location l on l.store = t.store and l.code = t.location_code
    where t.project = ${project} and t.target_id = any(${[...targets]})
    order by t.list desc, t.store desc, name, place, t.language, t.target_id`
}

/** A measurement of an app as a `Point`, of the columns with its rank, outcome and depth. */
export const pointOf = (rank: string, outcome: string, depth: string) => sql`
  case ${sql.identifier(outcome)} when 'ranked' then ${sql.identifier(rank)}
    when 'imported' then ${IMPORTED}::integer + ${sql.identifier(rank)}
    when 'not_in_top' then ${notInTop(0)}::integer - coalesce(${sql.identifier(depth)}, 0)
    else coalesce(
      (${JSON.stringify(GAP_POINTS)}::text::jsonb ->> ${sql.identifier(outcome)})::integer,
      ${NOTHING_DUE}) end`

export interface Ranks {
  readonly lists: readonly RankedList[]
  /** Every app on every list of its store, by list, then by app. */
  readonly series: readonly RankSeries[]
  /** Indexes of `lists` by target. */
  readonly listOf: ReadonlyMap<number, number>
}

/** The keywords and charts of the range, with the ranks on them. */
export async function readRanks(tx: Transaction, scope: Scope): Promise<Ranks> {
  const { project, from, to, days, appOf } = scope
  const rows = await tx<
    { targetId: number; id: number; days: number[]; points: Point[]; best: number | null }[]
  >`
    select r.target_id as "targetId", r.app as id, array_agg(r.day - ${from}::date) as days,
      array_agg(${pointOf('r.rank', 'r.outcome', 'r.depth')}) as points, min(r.rank)
        filter (where r.source is null) as best
    from rank_daily(${project}, ${from}::date, ${to}::date, ${within(scope)}) r
    where r.app = any(${[...appOf.keys()]})
    group by 1, 2`
  const lists = await readLists(tx, scope, [...new Set(rows.map(({ targetId }) => targetId))])
  const listOf = new Map(lists.map(({ targetId }, index) => [targetId, index]))
  const series = rows.flatMap(({ targetId, id, best, ...row }): RankSeries[] => {
    const [list, app] = [listOf.get(targetId), appOf.get(id)]
    if (list === undefined || app === undefined) return []
    const points: Point[] = days.map(() => NOTHING_DUE)
    for (const [n, day] of row.days.entries()) points[day] = row.points[n] ?? NOTHING_DUE
    return [{ list, app, points, best }]
  })
  return {
    lists: lists.map(({ targetId: _, ...list }) => list),
    series: series.toSorted((a, b) => a.list - b.list || a.app - b.app),
    listOf,
  }
}

interface StandingRow extends Pick<Standing, 'store'> {
  readonly id: number | null
  readonly role: string
  readonly list: RankedList['kind']
  readonly days: readonly number[]
  readonly visibility: readonly (number | null)[]
  readonly share: readonly (number | null)[]
  readonly percents: readonly number[]
  readonly measured: readonly number[]
  readonly inTop: readonly number[]
  /** By day, as in `Distribution`. */
  readonly counts: readonly (readonly number[])[]
}

/** Standings are of keywords alone, because charts are of another kind; the distribution is of both. */
export async function readStandings(
  tx: Transaction,
  scope: Scope,
): Promise<Pick<Report, 'standings' | 'distribution'>> {
  const { project, from, to, days, appOf } = scope
  const rows = await tx<StandingRow[]>`
    select s.store, s.app as id, s.role, s.list, array_agg(s.day - ${from}::date) as days,
      jsonb_agg(s.visibility) as visibility, jsonb_agg(s.share) as share,
      array_agg((100 * s.measured_share)::float8) as percents, array_agg(s.measured) as measured,
      array_agg(s.top_1 + s.top_2_3 + s.top_4_10) as "inTop",
      array_agg(array[s.top_1, s.top_2_3, s.top_4_10, s.top_11_30, s.top_31_100, s.beyond,
        s.not_measured]) as counts
    from standings(${project}, ${from}::date, ${to}::date, ${within(scope)}) s
    where s.app is null or s.app = any(${[...appOf.keys()]})
    group by 1, 2, 3, 4`
  return {
    standings: rows
      .filter(({ list }) => list === 'keyword')
      .map(({ store, id, ...row }): Standing => {
        const spread = (values: readonly (number | null)[]) => spreadOver(days, row.days, values)
        return {
          store,
          app: id === null ? null : (appOf.get(id) ?? null),
          visibility: spread(row.visibility),
          share: spread(row.share),
          measuredPercent: spread(row.percents),
          measured: spread(row.measured).map((count) => count ?? 0),
          inTop: spread(row.inTop).map((count) => count ?? 0),
        }
      })
      .toSorted((a, b) => b.store.localeCompare(a.store) || placeOf(a) - placeOf(b)),
    distribution: addUpBands(
      days,
      rows.filter(({ role }) => role === 'own'),
    ),
  }
}

function addUpBands(days: readonly Day[], rows: readonly StandingRow[]): Distribution {
  if (rows.length === 0) return []
  const counts = [...BANDS, BEYOND, NOT_MEASURED].map(() => days.map(() => 0))
  for (const row of rows) {
    for (const [n, day] of row.days.entries()) {
      for (const [band, of] of counts.entries()) of[day] = (of[day] ?? 0) + (row.counts[n]?.[band] ?? 0)
    }
  }
  return counts
}

const placeOf = ({ app }: Standing) => app ?? Number.POSITIVE_INFINITY

/** One value for each day; null where there is none. */
function spreadOver(
  days: readonly Day[],
  at: readonly number[],
  values: readonly (number | null)[],
): (number | null)[] {
  const all: (number | null)[] = days.map(() => null)
  for (const [n, day] of at.entries()) all[day] = values[n] ?? null
  return all
}
