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

export interface KnownList extends RankedList {
  readonly targetId: number
}

/** The keywords and charts that had a slot in the range. */
export async function readLists(tx: Transaction, scope: Scope): Promise<KnownList[]> {
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
    where t.target_id in (select target_id from (${lastOfDays(tx, scope, 0)}) s)
    order by t.list desc, t.store desc, name, place, language, t.target_id`
}

/** Every app on every list of its store, by list, then by app. */
export async function readSeries(
  tx: Transaction,
  scope: Scope,
  lists: readonly KnownList[],
): Promise<RankSeries[]> {
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
  const listOf = new Map(lists.map(({ targetId }, index) => [targetId, index]))
  const appOf = new Map(scope.apps.map((id, index) => [id, index]))
  return rows
    .flatMap((row): RankSeries[] => {
      const list = listOf.get(row.targetId)
      const app = appOf.get(row.app)
      return list === undefined || app === undefined ? [] : [{ list, app, ...spread(row, scope.days.length) }]
    })
    .toSorted((a, b) => a.list - b.list || a.app - b.app)
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

/** The mean of 1/rank over the lists of the app's store that were measured, 0 where it was not within depth. */
export async function readVisibility(tx: Transaction, scope: Scope): Promise<Visibility[]> {
  const rows = await tx<{ app: number; day: number; percent: number | null; measured: number }[]>`
    select a.app, s.day, 100 * avg(case when s.gap is null then coalesce(1.0 / found.rank, 0) end)::float8 as percent,
      100 * (count(*) filter (where s.gap is null))::float8 / count(*) as measured
    from (${lastOfDays(tx, scope, 0)}) s
    join ranked_list t on t.target_id = s.target_id and t.list = 'keyword'
    join project_app a on a.project = ${scope.project} and a.store = t.store and s.slot < coalesce(a.ended_at, 'infinity')
    cross join lateral (
      select nullif(array_position(s.app_ids[:${LAST_WEIGHED}], a.app), 0) as rank offset 0
    ) found
    where a.app = any(${[...scope.apps]})
    group by 1, 2`
  return scope.apps.flatMap((id, app) => {
    const own = rows.filter((row) => row.app === id)
    if (own.length === 0) return []
    return { app, percent: daily(own, 'percent', scope), measuredPercent: daily(own, 'measured', scope) }
  })
}

/** Of all places of all apps in the measured lists, each counted 1/rank. */
export async function readShareOfVoice(tx: Transaction, scope: Scope): Promise<VoiceShare[]> {
  const rows = await tx<{ app: number | null; day: number; percent: number | null }[]>`
    with weight as (
      select rank, sum(1.0 / rank) over (order by rank) as total from generate_series(1, ${LAST_WEIGHED}::integer) rank
    ), last as materialized (
      select s.day, s.slot, s.app_ids, t.store
      from (${lastOfDays(tx, scope, 0)}) s
      join ranked_list t on t.target_id = s.target_id and t.list = 'keyword'
      where s.gap is null
    ), everybody as (
      select l.day, sum(w.total) as total
      from last l join weight w on w.rank = least(cardinality(l.app_ids), ${LAST_WEIGHED})
      group by 1
    ), watched as (
      select a.app, l.day, sum(1.0 / found.rank) as total
      from last l
      join project_app a on a.project = ${scope.project} and a.store = l.store and l.slot < coalesce(a.ended_at, 'infinity')
      cross join lateral (select array_position(l.app_ids[:${LAST_WEIGHED}], a.app) as rank offset 0) found
      where a.app = any(${[...scope.apps]})
      group by 1, 2
    )
    select w.app, e.day, (100 * coalesce(w.total, 0) / e.total)::float8 as percent from everybody e join watched w using (day)
    union all
    select null, e.day, (100 * (1 - coalesce(sum(w.total), 0) / e.total))::float8
    from everybody e left join watched w using (day)
    group by e.day, e.total`
  if (rows.length === 0) return []
  return [...scope.apps.entries(), [null, null] as const].flatMap(([app, id]) => {
    const own = rows.filter((row) => row.app === id)
    return own.length === 0 ? [] : [{ app, percent: daily(own, 'percent', scope) }]
  })
}

function daily<Key extends string>(
  rows: readonly ({ readonly day: number } & Readonly<Record<Key, number | null>>)[],
  key: Key,
  { days }: Scope,
): Daily<number | null> {
  const values = new Map(rows.map((row) => [row.day, row[key]]))
  return days.map((_, day) => values.get(day) ?? null)
}

/**
 * One row per list and day that had a slot: its last measurement, or its last gap where it has none. `day` counts from the
 * first of the range, and is negative in the days before.
 */
export function lastOfDays(tx: Transaction, scope: Scope, daysBefore: number): Fragment {
  const { project, timezone, from, to, targets } = scope
  return tx`
    select distinct on (r.target_id, d.day) r.target_id, d.day, r.slot, r.gap, r.depth, r.app_ids
    from ranking_slot r
    cross join lateral (select (r.slot at time zone ${timezone})::date - ${from}::date as day) d
    where r.project = ${project}
      and r.slot >= (${from}::date - ${daysBefore}::integer)::timestamp at time zone ${timezone}
      and r.slot < (${to}::date + 1)::timestamp at time zone ${timezone}
      ${targets === null ? tx`` : tx`and r.target_id = any(${[...targets]})`}
    order by r.target_id, d.day, r.gap is null desc, r.slot desc` as Fragment
}
