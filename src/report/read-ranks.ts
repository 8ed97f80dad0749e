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
import type { Scope } from './scope.ts'

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

/** What all places of a keyword were worth together, by day; 0 where it was not measured. */
type PlacesWorth = readonly number[]

/** One pass over the history: every further one costs seconds. */
export interface Ranks {
  readonly lists: RankedList[]
  /** Every app on every list of its store, by list, then by app. */
  readonly series: RankSeries[]
  /** By list. */
  readonly worth: PlacesWorth[]
}

interface RanksRow {
  readonly targetId: number
  /** Null: everybody. */
  readonly app: number | null
  readonly days: readonly number[]
  readonly points: readonly Point[] | null
  readonly worth: PlacesWorth | null
}

/** The keywords and charts of the range, with the ranks on them. */
export async function readRanks(tx: Transaction, scope: Scope): Promise<Ranks> {
  const { project, from, to, tag } = scope
  const daysBefore = Math.max(0, PAST_DAYS + 1 - scope.days.length)
  const rows = await tx<RanksRow[]>`
    select r.target_id as "targetId", r.app, array_agg(r.day - ${from}::date) as days, array_agg(case
        when r.rank is not null then r.rank
        when r.gap is null and r.reason is null then ${notInTop(0)}::integer - coalesce(r.depth, 0)
        else (${JSON.stringify(GAP_POINTS)}::text::jsonb ->> coalesce(r.gap, 'failed'))::integer
      end) filter (where r.app is not null) as points, array_agg(coalesce(r.worth, 0)) filter (where r.app is null) as worth
    from rank_worth(${project}, ${from}::date - ${daysBefore}::integer, ${to}::date, ${CURVE}, ${tag}) r
    where r.app is null or r.app = any(${[...scope.apps]})
    group by 1, 2`
  // A list that had a slot in the days before alone is none of the range.
  const shown = rows.filter(({ days }) => days.some((day) => day >= 0))
  const ranked = shown.filter(({ app }) => app !== null)
  const lists = await readLists(tx, scope, [...new Set(ranked.map(({ targetId }) => targetId))])
  const listOf = new Map(lists.map(({ targetId }, index) => [targetId, index]))
  const appOf = new Map(scope.apps.map((id, index) => [id, index]))
  const series = ranked.flatMap((row): RankSeries[] => {
    const list = listOf.get(row.targetId)
    const app = appOf.get(row.app ?? 0)
    return list === undefined || app === undefined ? [] : [{ list, app, ...spread(row, scope.days.length) }]
  })
  const everybody = new Map(shown.flatMap((row) => (row.app === null ? [[row.targetId, row]] : [])))
  return {
    lists: lists.map(({ targetId: _, ...list }) => list),
    series: series.toSorted((a, b) => a.list - b.list || a.app - b.app),
    worth: lists.map(({ targetId }) => {
      const { days = [], worth } = everybody.get(targetId) ?? {}
      const all = new Map(days.map((day, n) => [day, worth?.[n] ?? 0]))
      return scope.days.map((_, day) => all.get(day) ?? 0)
    }),
  }
}

function spread(
  { days, points }: Pick<RanksRow, 'days' | 'points'>,
  length: number,
): Pick<RankSeries, 'points' | 'past'> {
  const all = new Map(days.map((day, n) => [day, points?.[n] ?? NOTHING_DUE]))
  const at = (day: number) => all.get(day) ?? NOTHING_DUE
  const last = length - 1
  return {
    points: Array.from({ length }, (_, day) => at(day)),
    past: [at(last - 1), at(last - 7), at(last - 30)],
  }
}

/**
 * The formulas of the functions visibility and share_of_voice over the ranks that were read already: Σ keyword weight × weight(rank)
 * / Σ keyword weight × weight(1), and the same sum / that of all places, in percent, over what was measured.
 */
export async function readStandings(
  tx: Transaction,
  scope: Scope,
  ranks: Ranks,
): Promise<{ visibility: Visibility[]; shareOfVoice: VoiceShare[] }> {
  const [curve] = await tx<{ weights: number[] | null }[]>`select rank_weights(${CURVE}) as weights`
  const weights = curve?.weights ?? []
  const visibility = scope.apps.flatMap((_, app): Visibility[] => {
    const own = ranks.series.filter((one) => one.app === app && ranks.lists[one.list]?.kind === 'keyword')
    return own.length === 0 ? [] : [{ app, ...seeVisibility(scope, ranks.lists, own, weights) }]
  })
  return { visibility, shareOfVoice: STORES.flatMap((store) => hearVoices(scope, ranks, weights, store)) }
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

/** One for each app that has a keyword in the store, and one for everybody else. */
function hearVoices(
  { days, apps }: Scope,
  { lists, series, worth }: Ranks,
  weights: readonly number[],
  store: Store,
): VoiceShare[] {
  const isHeard = (list: number) => lists[list]?.kind === 'keyword' && lists[list]?.store === store
  const total = days.map((_, day) =>
    worth.reduce((sum, places, list) => sum + (isHeard(list) ? (places[day] ?? 0) : 0), 0),
  )
  const percentOf = (sums: readonly (number | null)[]) =>
    sums.map((sum, day) => (sum === null || !total[day] ? null : (100 * sum) / total[day]))
  const heard = apps.flatMap((_, app) => {
    const own = series.filter((one) => one.app === app && isHeard(one.list))
    const sums = days.map((_, day) => {
      const due = own.filter(({ points }) => points[day] !== NOTHING_DUE)
      const worthAt = ({ list, points }: RankSeries) =>
        (lists[list]?.weight ?? 0) * (weights[(points[day] ?? 0) - 1] ?? 0)
      return due.length === 0 ? null : due.reduce((sum, one) => sum + worthAt(one), 0)
    })
    return own.length === 0 ? [] : [{ app, sums }]
  })
  if (heard.length === 0) return []
  const rest = total.map((sum, day) => heard.reduce((left, { sums }) => left - (sums[day] ?? 0), sum))
  return [
    ...heard.map(({ app, sums }) => ({ store, app, percent: percentOf(sums) })),
    { store, app: null, percent: percentOf(rest) },
  ]
}
