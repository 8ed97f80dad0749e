/**
 * The ranks of a report. A day has one of each app on each list: that of its last measurement; and a gap only where it has none
 * at all. Days are those of the project's time zone.
 */
import type { Fragment } from 'postgres'
import type { Transaction } from '../db/database.ts'
import {
  type Daily,
  type Day,
  GAP_POINTS,
  NOTHING_DUE,
  notInTop,
  type Point,
  type RankedList,
  type RankSeries,
  type ReportedApp,
  type Visibility,
  type VoiceShare,
} from './model.ts'
import type { Scope } from './read.ts'

/** How far `RankSeries.past` looks back. */
const PAST_DAYS = 30
/** Beyond it a place has no weight. */
const LAST_WEIGHED = 100

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
async function readLists(tx: Transaction, scope: Scope, targets: readonly number[]): Promise<KnownList[]> {
  return tx<KnownList[]>`
    select t.target_id as "targetId", t.store, t.list as kind, coalesce(t.keyword, concat_ws(', ', t.collection, t.category)) as name,
      case l.type when 'Country' then l.country_iso_code else t.location end as place, t.language, w.tags
    from ranked_list t
    left join location l on l.store = t.store and l.code = t.location_code
    cross join lateral (
      select coalesce(array_agg(distinct tag) filter (where tag is not null), '{}') as tags
      from watch_period p
      left join keyword_watch k on p.kind = 'keyword' and k.id = p.watch_id
      left join chart_watch c on p.kind = 'chart' and c.id = p.watch_id
      left join lateral unnest(coalesce(k.tags, c.tags)) tag on true
      where p.target_id = t.target_id and p.project = ${scope.project}
    ) w
    where t.target_id = any(${[...targets]})
    order by t.list desc, t.store desc, name, place, language, t.target_id`
}

/** The keywords and charts of the range, and every app on every one of its store, by list, then by app. */
export async function readRanks(
  tx: Transaction,
  scope: Scope,
): Promise<{ lists: RankedList[]; series: RankSeries[] }> {
  const rows = await tx<{ targetId: number; app: number; days: number[]; points: Point[] }[]>`
    select s.target_id as "targetId", a.app, array_agg(s.day) as days, array_agg(case
        when s.gap is not null then (${JSON.stringify(GAP_POINTS)}::text::jsonb ->> s.gap)::integer
        when found.rank is null then ${notInTop(0)}::integer - coalesce(s.depth, 0)
        else found.rank
      end) as points
    from (${lastOfDays(tx, scope, PAST_DAYS)}) s
    join ranked_list t on t.target_id = s.target_id
    join project_app a on a.project = ${scope.project} and a.store = t.store and s.slot < coalesce(a.ended_at, 'infinity')
    cross join lateral (select array_position(s.app_ids, a.app) as rank offset 0) found
    where a.app = any(${[...scope.apps]})
    group by 1, 2`
  // A list that had a slot in the 30 days before alone is none of the range.
  const shown = rows.filter(({ days }) => days.some((day) => day >= 0))
  const lists = await readLists(tx, scope, [...new Set(shown.map(({ targetId }) => targetId))])
  const listOf = new Map(lists.map(({ targetId }, index) => [targetId, index]))
  const appOf = new Map(scope.apps.map((id, index) => [id, index]))
  const series = shown.flatMap((row): RankSeries[] => {
    const list = listOf.get(row.targetId)
    const app = appOf.get(row.app)
    return list === undefined || app === undefined ? [] : [{ list, app, ...spread(row, scope.days.length) }]
  })
  return {
    lists: lists.map(({ targetId: _, ...list }) => list),
    series: series.toSorted((a, b) => a.list - b.list || a.app - b.app),
  }
}

function spread(
  { days, points }: { days: readonly number[]; points: readonly Point[] },
  length: number,
): Pick<RankSeries, 'points' | 'past'> {
  const all = new Map(days.map((day, n) => [day, points[n] ?? NOTHING_DUE]))
  const at = (day: number) => all.get(day) ?? NOTHING_DUE
  const last = length - 1
  return {
    points: Array.from({ length }, (_, day) => at(day)),
    past: [at(last - 1), at(last - 7), at(last - 30)],
  }
}

/** By app and day, over the keywords of its store; `app` null is by day alone, over all of the project's keywords. */
interface Standing {
  readonly app: number | null
  readonly day: number
  /** The sum of 1/rank: of the app, or of everybody. */
  readonly weight: number
  readonly measured: number
  readonly due: number
}

/**
 * Visibility: the mean of 1/rank over the keywords of the app's store that were measured, 0 where it was not within depth. Share of
 * voice: its sum of 1/rank, of the sum of everybody in the same measurements.
 */
export async function readStandings(
  tx: Transaction,
  scope: Scope,
): Promise<{ visibility: Visibility[]; shareOfVoice: VoiceShare[] }> {
  const rows = await tx<Standing[]>`
    with harmonic as (
      select rank, sum(1.0 / rank) over (order by rank)::float8 as total from generate_series(1, ${LAST_WEIGHED}::integer) rank
    ), last as materialized (
      select s.day, s.slot, s.gap, s.app_ids, t.store
      from (${lastOfDays(tx, scope, 0)}) s
      join ranked_list t on t.target_id = s.target_id and t.list = 'keyword'
    )
    select a.app, l.day, coalesce(sum(1.0::float8 / nullif(found.rank, 0)) filter (where found.rank <= ${LAST_WEIGHED}), 0) as weight,
      count(*) filter (where l.gap is null) as measured, count(*) as due
    from last l
    join project_app a on a.project = ${scope.project} and a.store = l.store and l.slot < coalesce(a.ended_at, 'infinity')
    cross join lateral (select array_position(l.app_ids, a.app) as rank offset 0) found
    where a.app = any(${[...scope.apps]})
    group by 1, 2
    union all
    select null, l.day, coalesce(sum(h.total), 0), count(*) filter (where l.gap is null), count(*)
    from last l left join harmonic h on l.gap is null and h.rank = least(cardinality(l.app_ids), ${LAST_WEIGHED})
    group by 2`
  const everybody = new Map(rows.filter(({ app }) => app === null).map((row) => [row.day, row]))
  const known = scope.apps.flatMap((id, app) => {
    const own = rows.filter((row) => row.app === id)
    return own.length === 0 ? [] : [{ app, own }]
  })
  const share = ({ day, weight }: Standing) => percentOf(weight, everybody.get(day)?.weight ?? 0)
  const watched = known.map(({ app, own }) => ({ app, percent: daily(own, share, scope) }))
  const others = scope.days.map((_, day) =>
    (everybody.get(day)?.weight ?? 0) === 0
      ? null
      : 100 - watched.reduce((sum, { percent }) => sum + (percent[day] ?? 0), 0),
  )
  return {
    visibility: known.map(({ app, own }) => ({
      app,
      percent: daily(own, ({ weight, measured }) => percentOf(weight, measured), scope),
      measuredPercent: daily(own, ({ measured, due }) => percentOf(measured, due), scope),
    })),
    shareOfVoice: watched.length === 0 ? [] : [...watched, { app: null, percent: others }],
  }
}

function percentOf(part: number, whole: number): number | null {
  return whole === 0 ? null : (100 * part) / whole
}

function daily(
  rows: readonly Standing[],
  value: (row: Standing) => number | null,
  { days }: Scope,
): Daily<number | null> {
  const values = new Map(rows.map((row) => [row.day, value(row)]))
  return days.map((_, day) => values.get(day) ?? null)
}

/**
 * One row per list and day that had a slot: its last measurement, or its last gap where it has none. `day` counts from the
 * first of the range, and is negative in the days before.
 */
function lastOfDays(tx: Transaction, scope: Scope, daysBefore: number): Fragment {
  const { project, from, to, targets } = scope
  return tx`
    select r.target_id, r.day - ${from}::date as day, r.slot, r.gap, r.depth, r.app_ids
    from list_daily(${project}, ${from}::date - ${daysBefore}::integer, ${to}::date) r
    ${targets === null ? tx`` : tx`where r.target_id = any(${[...targets]})`}` as Fragment
}
