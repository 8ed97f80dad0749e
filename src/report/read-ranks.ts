/**
 * The ranks of a report. A day has one of each app on each list: that of its last measurement; and a gap only where it has none
 * at all. Days are those of the project's time zone.
 */
import type { Transaction } from '../db/database.ts'
import type { Store } from '../service/functions.ts'
import {
  type Day,
  GAP_POINTS,
  isMeasured,
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

/**
 * Share of voice is the function of the database; visibility is its formula over the ranks that were read already, because every pass
 * over the history costs seconds: Σ keyword weight × weight(rank) / Σ keyword weight × weight(1), in percent, over what was measured.
 */
export async function readStandings(
  tx: Transaction,
  scope: Scope,
  ranks: { readonly lists: readonly RankedList[]; readonly series: readonly RankSeries[] },
): Promise<{ visibility: Visibility[]; shareOfVoice: VoiceShare[] }> {
  const [curve] = await tx<{ weights: number[] | null }[]>`select rank_weights(${CURVE}) as weights`
  const visibility = scope.apps.flatMap((_, app): Visibility[] => {
    const own = ranks.series.filter((one) => one.app === app && ranks.lists[one.list]?.kind === 'keyword')
    return own.length === 0 ? [] : [{ app, ...seeVisibility(scope, ranks.lists, own, curve?.weights ?? []) }]
  })
  return { visibility, shareOfVoice: visibility.length === 0 ? [] : await readVoice(tx, scope) }
}

function seeVisibility(
  { days }: Scope,
  lists: readonly RankedList[],
  own: readonly RankSeries[],
  weights: readonly number[],
): Omit<Visibility, 'app'> {
  const [first = 0] = weights
  const percent: (number | null)[] = []
  const measuredPercent: (number | null)[] = []
  for (const day of days.keys()) {
    const points = own.map(({ list, points }) => ({
      point: points[day] ?? NOTHING_DUE,
      worth: lists[list]?.weight ?? 0,
    }))
    const due = points.filter(({ point }) => point !== NOTHING_DUE)
    const measured = due.filter(({ point }) => isMeasured(point))
    const sum = measured.reduce((total, { point, worth }) => total + worth * (weights[point - 1] ?? 0), 0)
    const most = measured.reduce((total, { worth }) => total + worth * first, 0)
    percent.push(most === 0 ? null : (100 * sum) / most)
    measuredPercent.push(due.length === 0 ? null : (100 * measured.length) / due.length)
  }
  return { percent, measuredPercent }
}

async function readVoice(
  tx: Transaction,
  { project, from, to, tag, apps, days }: Scope,
): Promise<VoiceShare[]> {
  const heard = await tx<{ store: Store; app: number | null; day: number; share: number | null }[]>`
    select v.store, v.app, v.day - ${from}::date as day, v.share
    from share_of_voice(${project}, ${from}::date, ${to}::date, ${CURVE}, ${tag}) v
    where v.list = 'keyword'`
  return STORES.flatMap((store) => {
    const shareOf = (id: number | null, app: number | null): VoiceShare[] => {
      const rows = heard.filter((row) => row.store === store && row.app === id)
      const shares = new Map(rows.map(({ day, share }) => [day, share]))
      const percent = days.map((_, day) => shares.get(day) ?? null)
      return rows.length === 0 ? [] : [{ store, app, percent }]
    }
    return [...apps.flatMap((id, app) => shareOf(id, app)), ...shareOf(null, null)]
  })
}
