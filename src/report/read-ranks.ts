/**
 * The ranks of a report. A day has one of each app on each list: that of its last measurement; and a gap only where it has none
 * at all. Days are those of the project's time zone.
 */
import type { Transaction } from '../db/database.ts'
import type { Store } from '../service/functions.ts'
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
/** Own apps and competitors of the first stand first. */
const STORES: readonly Store[] = ['ios_store', 'android_store']
/** Of rank_weight. */
const CURVE = 'reciprocal'

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
    select t.target_id as "targetId", t.store, t.list as kind, coalesce(t.keyword, concat_ws(', ', t.collection, t.category)) as name,
      case l.type when 'Country' then l.country_iso_code else t.location end as place, t.language,
      array(select unnest(t.tags) order by 1) as tags, t.weight
    from project_list t
    left join location l on l.store = t.store and l.code = t.location_code
    where t.project = ${project} and t.target_id = any(${[...targets]})
    order by t.list desc, t.store desc, name, place, t.language, t.target_id`
}

/** The keywords and charts of the range, and every app on every one of its store, by list, then by app. */
export async function readRanks(
  tx: Transaction,
  scope: Scope,
): Promise<{ lists: RankedList[]; series: RankSeries[] }> {
  const { project, from, to, tag } = scope
  const rows = await tx<{ targetId: number; app: number; days: number[]; points: Point[] }[]>`
    select r.target_id as "targetId", r.app, array_agg(r.day - ${from}::date) as days, array_agg(case r.outcome
        when 'ranked' then r.rank
        when 'not_in_top' then ${notInTop(0)}::integer - coalesce(r.depth, 0)
        else (${JSON.stringify(GAP_POINTS)}::text::jsonb ->> r.outcome)::integer
      end) as points
    from rank_daily(${project}, ${from}::date - ${PAST_DAYS}::integer, ${to}::date) r
    where r.app = any(${[...scope.apps]}) and (${tag}::text is null or ${tag} = any(r.tags))
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

/** By the published formula: the functions `visibility` and `share_of_voice` of the database, over keywords. */
export async function readStandings(
  tx: Transaction,
  { project, from, to, tag, apps, days }: Scope,
): Promise<{ visibility: Visibility[]; shareOfVoice: VoiceShare[] }> {
  const seen = await tx<{ app: number; day: number; visible: number | null; measured: number | null }[]>`
    select v.app, v.day - ${from}::date as day, v.visibility as visible, 100 * v.measured_share as measured
    from visibility(${project}, ${from}::date, ${to}::date, ${CURVE}, ${tag}) v
    where v.list = 'keyword'`
  const heard = await tx<{ store: Store; app: number | null; day: number; share: number | null }[]>`
    select v.store, v.app, v.day - ${from}::date as day, v.share
    from share_of_voice(${project}, ${from}::date, ${to}::date, ${CURVE}, ${tag}) v
    where v.list = 'keyword'`
  const daily = <Row extends { readonly day: number }>(
    rows: readonly Row[],
    value: (row: Row) => number | null,
  ): Daily<number | null> => {
    const values = new Map(rows.map((row) => [row.day, value(row)]))
    return days.map((_, day) => values.get(day) ?? null)
  }
  const visibility = apps.flatMap((id, app): Visibility[] => {
    const rows = seen.filter((row) => row.app === id)
    if (rows.length === 0) return []
    return [
      {
        app,
        percent: daily(rows, (row) => row.visible),
        measuredPercent: daily(rows, (row) => row.measured),
      },
    ]
  })
  const shareOfVoice = STORES.flatMap((store) => {
    const all = heard.filter((row) => row.store === store)
    const shareOf = (id: number | null, app: number | null): VoiceShare[] => {
      const rows = all.filter((row) => row.app === id)
      return rows.length === 0 ? [] : [{ store, app, percent: daily(rows, ({ share }) => share) }]
    }
    return [...apps.flatMap((id, app) => shareOf(id, app)), ...shareOf(null, null)]
  })
  return { visibility, shareOfVoice: visibility.length === 0 ? [] : shareOfVoice }
}
