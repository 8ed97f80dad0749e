/** Who else stands and advertises on the lists, how hard they are, and how each part of them goes. */
import type { Transaction } from '../db/database.ts'
import type { Store } from '../service/functions.ts'
import { addDays, locate, placeOf, type Row, range, type Scope, TOP } from './scope.ts'

/** An app among the first `TOP` of a list on the last day. */
export interface Holder {
  readonly rank: number
  readonly name: string
  /** Index in `Report.apps`; null: the project does not follow it. */
  readonly app: number | null
  /** Its rank the day before; 0: not among those looked at, null: that day was not measured. */
  readonly before: number | null
  /** How many rated it; null: unknown. */
  readonly votes: number | null
}

/** An app that the project does not follow, and that is in the first `TOP` of its keywords. */
export interface Unwatched {
  readonly store: Store
  readonly name: string
  /** On how many keywords on the last day, of how many measured; and a week before. */
  readonly keywords: number
  readonly measured: number
  readonly before: number
  readonly best: number
  readonly average: number
  /** Keywords on which it stands best. */
  readonly examples: readonly string[]
}

/** An own app on the keywords of a country, or with a tag, on the last day. */
export interface Segment {
  readonly kind: 'country' | 'tag'
  readonly name: string
  readonly app: number
  /** Null where less than four fifths were measured. */
  readonly visibility: number | null
  readonly inTop: number | null
  readonly measured: number
  readonly due: number
  /** In a week, in points, like for like; null where nothing can be compared. */
  readonly change: number | null
  readonly compared: number | null
  /** Where it is ranked. */
  readonly average: number | null
  /** The competitor that gained most visibility there in 30 days, or in all that there are. */
  readonly rival: { readonly name: string; readonly change: number } | null
}

/** An own product that is in both stores, on one keyword on the last day: function `product_ranks`. */
export interface ProductRank {
  readonly product: string
  readonly keyword: string
  readonly place: string
  /** Null: measured, and not in the top. */
  readonly ios: number | null
  readonly android: number | null
}

/** How hard a keyword is, and what is to be won: function `opportunity`, over the last week. */
export interface Strength {
  readonly difficulty: number
  readonly opportunity: number
  /** Apps in the first ten that can be overtaken. */
  readonly weak: number
}

/** An app, none of the own ones, that advertised on keywords of the last 30 days. */
export interface Advertiser {
  readonly store: Store
  readonly name: string
  readonly isWatched: boolean
  readonly keywords: number
  readonly days: number
  /** Those that ask for an own app by its name. */
  readonly brands: readonly string[]
  readonly examples: readonly string[]
}

const ADVERTISERS = 20
const UNWATCHED = 20
/** Countries and tags: those with most keywords. */
const SEGMENTS = 24
const PRODUCT_RANKS = 20
const WEEK_DAYS = 7
const MONTH_DAYS = 30

/** What each list has, in their order; `none` where it has nothing. */
function byList<Value>(
  { listOf }: Scope,
  rows: readonly { targetId: number; value: Value }[],
  none: Value,
): Value[] {
  const values = new Map(rows.map(({ targetId, value }) => [targetId, value]))
  return Array.from(listOf.keys(), (target) => values.get(target) ?? none)
}

/** The first `TOP` of each list at its last measurement of two days, in the order of the lists. */
export async function readHolders(tx: Transaction, scope: Scope): Promise<Holder[][]> {
  const { to, appOf } = scope
  const rows = await tx<{ targetId: number; value: (Omit<Holder, 'app'> & { id: number })[] }[]>`
    with held as materialized (
      select * from top_holders(${range(scope, addDays(to, -1))}, in_top => ${TOP}) h
      where h.day = ${to}::date
    ), number as materialized (
      select distinct on (n.app, n.location_code) n.app, n.location_code, n.votes
      from numbers_until(${to}::date, ${to}::date, array(select distinct location_code from held),
        array(select distinct app from held)) n
      order by n.app, n.location_code, n.day desc
    )
    select h.target_id as "targetId", jsonb_agg(jsonb_build_object('id', h.app, 'rank', h.rank,
      'name', coalesce(h.title, h.app_id), 'votes', n.votes,
      'before', case when h.day_before < h.day then coalesce(h.rank_before, 0) end) order by h.rank) as value
    from held h left join number n on n.app = h.app and n.location_code = h.location_code
    group by 1`
  return byList(scope, rows, []).map((holders) =>
    holders.map(({ id, rank, name, before, votes }) => {
      return { rank, name, before, votes, app: appOf.get(id) ?? null }
    }),
  )
}

/** In the order of the lists. */
export async function readStrengths(tx: Transaction, scope: Scope): Promise<(Strength | null)[]> {
  const rows = await tx<{ targetId: number; value: Strength | null }[]>`
    select o.target_id as "targetId", jsonb_build_object(
      'difficulty', o.difficulty, 'opportunity', o.opportunity, 'weak', o.weak) as value
    from opportunity(${range(scope, addDays(scope.to, -WEEK_DAYS))}) o`
  return byList(scope, rows, null)
}

/** Who advertises on each list on the last day, in the order of the lists. */
export async function readPaid(tx: Transaction, scope: Scope): Promise<string[][]> {
  const rows = await tx<{ targetId: number; value: string[] }[]>`
    select a.target_id as "targetId", array_agg(coalesce(a.title, a.app_id) order by a.place, a.app) as value
    from advertisers(${range(scope, scope.to)}) a group by 1`
  return byList(scope, rows, [])
}

/** Those on own brands first, then by the number of keywords. */
export async function readAdvertisers(tx: Transaction, scope: Scope): Promise<Advertiser[]> {
  return tx<Advertiser[]>`
    select a.store, coalesce(a.title, a.app_id) as name, a.role is not null as "isWatched",
      count(distinct a.target_id)::integer as keywords, count(distinct a.day)::integer as days,
      coalesce(array_agg(distinct a.keyword) filter (where a.is_own_brand), '{}') as brands,
      (array_agg(distinct a.keyword order by a.keyword))[:3] as examples
    from advertisers(${range(scope, addDays(scope.to, 1 - MONTH_DAYS))}) a
    where a.list = 'keyword' and a.role is distinct from 'own'
    group by a.store, a.app, 2, 3
    order by count(*) filter (where a.is_own_brand) desc, 4 desc, 5 desc, name limit ${ADVERTISERS}`
}

/** Those that hold most of the first places of keywords on the last day, against a week before. */
export async function readUnwatched(tx: Transaction, scope: Scope): Promise<Unwatched[]> {
  return tx<Unwatched[]>`
    select u.store, coalesce(u.title, u.app_id) as name, u.lists as keywords, u.lists_measured as measured,
      u.lists_before as before, u.best_rank as best, u.average_rank::float8 as average, u.keywords as examples
    from unwatched_apps(${range(scope, addDays(scope.to, -WEEK_DAYS))}, in_top => ${TOP}) u
    where u.list = 'keyword'
    order by u.lists desc, u.average_rank, name, u.app limit ${UNWATCHED}`
}

/** The own apps by country and by tag, where there are several. */
export async function readSegments(tx: Transaction, scope: Scope): Promise<Segment[]> {
  const { project, from, to, tag, location, appOf } = scope
  const rows = await tx<Row<Segment>[]>`
    with list as (
      select l.tags, l.location, ${placeOf('l')} as place from project_list l
      where l.project = ${project} and l.list = 'keyword' and l.ended_at is null
        and is_of(l.tags, l.location, ${tag}, ${location})
    ), segment as (
      select 'country' as kind, place as name, ${tag}::text as in_tag, location as in_location,
        count(*) as size, count(*) over () as of_kind from list group by place, location
      union all
      select 'tag', t.tag, t.tag, ${location}::text, count(*), count(*) over ()
      from list, unnest(tags) t (tag) group by t.tag
    ), shown as (
      select * from segment where of_kind > 1 or kind = 'tag'
      order by kind, size desc, name limit ${SEGMENTS}
    )
    select s.kind, s.name, v.app as id, v.visibility::float8 as visibility, v.top_10 as "inTop", v.measured,
      v.due, c.change::float8 as change, c.compared, v.average_rank::float8 as average, r.rival
    from shown s
    cross join lateral visibility(${project}, ${to}::date, ${to}::date, in_tag => s.in_tag,
      in_location => s.in_location) v
    left join lateral visibility_change(${project}, ${addDays(to, -WEEK_DAYS)}::date, ${to}::date,
      in_tag => s.in_tag, in_location => s.in_location) c on c.app = v.app and c.list = v.list
    left join lateral (
      select jsonb_build_object('name', coalesce(g.label, g.title, g.app_id), 'change', g.change) as rival
      from visibility_change(${project}, greatest(${from}::date, ${addDays(to, -MONTH_DAYS)}::date),
        ${to}::date, in_tag => s.in_tag, in_location => s.in_location) g
      where g.role = 'competitor' and g.store = v.store and g.list = 'keyword' and g.change >= 0.05
      order by g.change desc, g.app limit 1
    ) r on true
    where v.role = 'own' and v.list = 'keyword' and v.app = any(${[...appOf.keys()]})
    order by s.kind, s.size desc, s.name, v.store desc, v.app`
  return locate(scope, rows)
}

/** The own products that are in both stores, on the keywords on which these differ most. */
export async function readProducts(tx: Transaction, scope: Scope): Promise<ProductRank[]> {
  return tx<ProductRank[]>`
    select p.product, p.keyword, coalesce(l.country_iso_code, p.location) as place,
      p.ios_rank as ios, p.android_rank as android
    from product_ranks(${range(scope, scope.to)}) p
    left join location l on l.store = 'ios_store' and l.type = 'Country' and l.name = p.location
    where p.role = 'own' and p.distance > 0
    order by p.distance * p.weight desc, p.keyword, place limit ${PRODUCT_RANKS}`
}
