/** Who stands on the lists of a report beside the apps that the project follows; how each part of it goes. */
import type { Transaction } from '../db/database.ts'
import { type Holder, type ProductRank, type Segment, TOP, type Unwatched } from './model.ts'
import type { Ranks } from './read-ranks.ts'
import { type Scope, within } from './scope.ts'

const UNWATCHED = 20
/** Countries and tags: those with most keywords. */
const SEGMENTS = 24
const PRODUCT_RANKS = 20
const WEEK_DAYS = 7
const MONTH_DAYS = 30

/** The first `TOP` of each list at its last measurement of two days, in the order of the lists. */
export async function readHolders(tx: Transaction, scope: Scope, ranks: Ranks): Promise<Holder[][]> {
  const { project, to, appOf } = scope
  const rows = await tx<(Omit<Holder, 'app'> & { targetId: number; id: number })[]>`
    with held as materialized (
      select * from top_holders(${project}, ${to}::date - 1, ${to}::date, ${TOP}, ${within(scope)}) h
      where h.day = ${to}::date
    ), number as materialized (
      select distinct on (n.app, n.location_code) n.app, n.location_code, n.votes
      from numbers_until(${to}::date, ${to}::date, array(select distinct location_code from held),
        array(select distinct app from held)) n
      order by n.app, n.location_code, n.day desc
    )
    select h.target_id as "targetId", h.app as id, h.rank, coalesce(h.title, h.app_id) as name,
      case when h.day_before < h.day then coalesce(h.rank_before, 0) end as before, n.votes
    from held h left join number n on n.app = h.app and n.location_code = h.location_code
    order by h.target_id, h.rank`
  const holders: Holder[][] = ranks.lists.map(() => [])
  for (const { targetId, id, ...holder } of rows)
    holders[ranks.listOf.get(targetId) ?? -1]?.push({ ...holder, app: appOf.get(id) ?? null })
  return holders
}

/** Those that hold most of the first places of keywords on the last day, against a week before. */
export async function readUnwatched(tx: Transaction, scope: Scope): Promise<Unwatched[]> {
  const { project, to } = scope
  return tx<Unwatched[]>`
    select u.store, coalesce(u.title, u.app_id) as name, u.lists as keywords, u.lists_measured as measured,
      u.lists_before as before, u.best_rank as best, u.average_rank::float8 as average, u.keywords as examples
    from unwatched_apps(${project}, ${to}::date - ${WEEK_DAYS}::integer, ${to}::date, ${TOP},
      ${within(scope)}) u
    where u.list = 'keyword'
    order by u.lists desc, u.average_rank, name, u.app limit ${UNWATCHED}`
}

/** The own apps by country and by tag, where there are several. */
export async function readSegments(tx: Transaction, scope: Scope): Promise<Segment[]> {
  const { project, from, to, tag, location, appOf } = scope
  const rows = await tx<(Omit<Segment, 'app'> & { id: number })[]>`
    with list as (
      select l.tags, l.location,
        case c.type when 'Country' then c.country_iso_code else l.location end as place
      from project_list l left join location c on c.store = l.store and c.code = l.location_code
      where l.project = ${project} and l.list = 'keyword' and l.ended_at is null
        and is_of(l.tags, l.location, ${tag}, ${location})
    ), segment as (
      select 'country' as kind, place as name, location, null as tag, count(*) as size,
        count(*) over () as of_kind from list group by place, location
      union all
      select 'tag', t.tag, null, t.tag, count(*), count(*) over () from list, unnest(tags) t (tag)
      group by t.tag
    ), shown as (
      select * from segment where of_kind > 1 or kind = 'tag'
      order by kind, size desc, name limit ${SEGMENTS}
    )
    select s.kind, s.name, v.app as id, v.visibility::float8 as visibility, v.top_10 as "inTop", v.measured,
      v.due, c.change::float8 as change, c.compared, v.average_rank::float8 as average, r.rival
    from shown s
    cross join lateral visibility(${project}, ${to}::date, ${to}::date, in_tag => coalesce(s.tag, ${tag}),
      in_location => coalesce(s.location, ${location})) v
    left join lateral visibility_change(${project}, ${to}::date - ${WEEK_DAYS}::integer, ${to}::date,
      in_tag => coalesce(s.tag, ${tag}), in_location => coalesce(s.location, ${location})) c
      on c.app = v.app and c.list = v.list
    left join lateral (
      select jsonb_build_object('name', coalesce(g.label, g.title, g.app_id), 'change', g.change) as rival
      from visibility_change(${project}, greatest(${from}::date, ${to}::date - ${MONTH_DAYS}::integer),
        ${to}::date, in_tag => coalesce(s.tag, ${tag}),
        in_location => coalesce(s.location, ${location})) g
      where g.role = 'competitor' and g.store = v.store and g.list = 'keyword' and g.change >= 0.05
      order by g.change desc, g.app limit 1
    ) r on true
    where v.role = 'own' and v.list = 'keyword' and v.app = any(${[...appOf.keys()]})
    order by s.kind, s.size desc, s.name, v.store desc, v.app`
  return rows.map(({ id, ...segment }) => ({ ...segment, app: appOf.get(id) ?? 0 }))
}

/** The own products that are in both stores, on the keywords on which these differ most. */
export async function readProducts(tx: Transaction, scope: Scope): Promise<ProductRank[]> {
  const { project, to } = scope
  return tx<ProductRank[]>`
    select p.product, p.keyword, coalesce(l.country_iso_code, p.location) as place,
      p.ios_rank as ios, p.android_rank as android
    from product_ranks(${project}, ${to}::date, ${to}::date, ${within(scope)}) p
    left join location l on l.store = 'ios_store' and l.type = 'Country' and l.name = p.location
    where p.role = 'own' and p.distance > 0
    order by p.distance * p.weight desc, p.keyword, place limit ${PRODUCT_RANKS}`
}
