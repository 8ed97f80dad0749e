/**
 * What rules find in the ranks of one slot. Both ends of a comparison were measured, or there is none: `pair` has a row only where they
 * were. "Not within depth" is known to be at least one beyond the depth, and is compared with nothing that is deeper.
 */
import type { Fragment } from 'postgres'
import type { Transaction } from '../db/database.ts'
import { type Compared, type DueScope, joinAll, type Kinds, meansApp, meansList, tellsRank } from './scope.ts'

/** Kinds that sum up a day, over the lists that were measured in other slots of it too. */
export const OF_DAY = ['visibility_moved', 'share_of_voice_moved', 'top_count_moved', 'new_app']
/** Kinds that compare a measurement, or a day, with the one so many days before. */
export const COMPARING = ['rank_moved', 'top_crossed', 'overtaken', ...OF_DAY]
const BEST_WITHIN_DAYS = 90

/**
 * Common table expressions behind `rule` and `due`: `list`, what the project follows now; `apps`, its apps; `present`, what was stored of
 * the lists in the slot, gaps too; `pair`, two measurements of a list, one of them in the slot (or, for the kinds of a day, the last of its
 * day); `place`, the ranks of an app in both. Both are rows of `stood`, those of `pair` the ones without an app: the arrays of apps are
 * read once, and never written to a temporary file.
 */
export function pairs(tx: Transaction, scope: DueScope, { kinds, compared }: Kinds): Fragment {
  const { project, slot } = scope
  const isOfDay = OF_DAY.some((kind) => kinds.has(kind))
  const pair = compared.flatMap((each) => [
    pairsOfDue(tx, scope, each),
    ...(isOfDay ? [pairsOfOthers(tx, scope, each)] : []),
  ])
  return tx`
    day as materialized (
      select d.day at time zone z.name as begins_at, (d.day + interval '1 day') at time zone z.name as ends_at, d.day, z.name as zone
      from (select ${project.timezone}::text as name) z
      cross join lateral (select date_trunc('day', ${slot}::timestamptz at time zone z.name) as day) d
    ),
    list as materialized (
      select t.id as target_id, t.store, t.function, case t.function when 'app_searches' then t.subject end as keyword,
        coalesce(k.tags, c.tags, '{}') as tags, coalesce(k.weight, 1) as weight, p.every, p.first_slot,
        d.target_id is not null as is_due
      from watch_period p
      join target t on t.id = p.target_id
      left join keyword_watch k on p.kind = 'keyword' and k.id = p.watch_id
      left join chart_watch c on p.kind = 'chart' and c.id = p.watch_id
      left join due d on d.target_id = p.target_id
      where p.project = ${project.name} and p.kind in ('keyword', 'chart') and p.ended_at is null
    ),
    apps as materialized (
      select a.store, a.app, a.role, a.app_id from project_app a where a.project = ${project.name} and a.ended_at is null
    ),
    present as materialized (
      select l.*, h.slot, h.gap, h.reason, h.depth, h.app_ids
      from ranking_row h
      join list l on l.target_id = h.target_id
      where h.target_id = any(array(select l.target_id from list l where l.is_due)) and h.slot = ${slot}::timestamptz
    ),
    stood as materialized (
      select a.app, l.days, l.is_due, l.target_id, case when a.app is not null then array_position(l.app_ids, a.app) end as rank,
        case when a.app is not null then array_position(l.app_ids_before, a.app) end as rank_before, l.depth, l.depth_before, l.is_whole,
        l.was_whole, l.slot, l.compared_slot, l.weight, cardinality(l.app_ids) as size, cardinality(l.app_ids_before) as size_before,
        a.role, a.app_id, l.store, l.function, l.keyword, l.tags, case when a.app is null then l.app_ids[:s.top] end as first,
        case when a.app is null then l.app_ids_before[:s.top] end as first_before
      from (${pair.length === 0 ? noPair(tx) : joinAll(tx, pair)} offset 0) l
      join (select store, app, role, app_id from apps ${isOfDay ? nobody(tx) : tx``}) a on a.store = l.store and (a.app is null
        or (a.app = any(l.app_ids) or a.app = any(l.app_ids_before)) and (l.is_whole or a.app = any(l.app_ids))
          and (l.was_whole or a.app = any(l.app_ids_before)))
      cross join (select max(top) as top from rule where kind = 'new_app') s
    ),
    pair as not materialized (select * from stood where app is null),
    place as not materialized (select *, is_whole and was_whole as are_whole from stood where app is not null)` as Fragment
}

/** For the rows of `pair`. */
function nobody(tx: Transaction): Fragment {
  return tx`union all select store, null, null, null from (values ('ios_store'), ('android_store')) s (store)` as Fragment
}

/** The columns of a pair, of a list `l` and its measurements `h` and, before, `b`. */
function pairColumns(tx: Transaction, days: number): Fragment {
  return tx`l.target_id, h.slot, l.store, l.function, l.keyword, l.tags, l.weight, l.is_due, h.depth, ${days}::integer as days,
    b.slot as compared_slot, b.depth as depth_before, h.reason is null as is_whole, b.reason is null as was_whole, h.app_ids,
    b.app_ids as app_ids_before` as Fragment
}

/** Read by an array of their ids: the slot is the same for all, and so is the partition. */
function pairsOfDue(tx: Transaction, scope: DueScope, { days, isScoped }: Compared): Fragment {
  const meant = tx`and exists (select from rule r where r.days = ${days} and ${meansList(tx)})`
  return tx`
    select ${pairColumns(tx, days)}
    from present h
    cross join lateral (select h.target_id, h.store, h.function, h.keyword, h.tags, h.weight, h.is_due, h.first_slot) l
    join ranking_row b on b.target_id = h.target_id
    where b.target_id = any(array(select l.target_id from list l where l.is_due ${isScoped ? meant : tx``}))
      and b.slot = ${scope.slot}::timestamptz - make_interval(hours => ${24 * days}) and b.gap is null and h.gap is null
      and ${wasFollowed(tx, scope)}` as Fragment
}

/** Each by itself: their slots differ. `offset 0` keeps the planner from reading the whole history for them. */
function pairsOfOthers(tx: Transaction, scope: DueScope, { days }: Compared): Fragment {
  return tx`
    select ${pairColumns(tx, days)}
    from list l
    cross join lateral (
      select n.slot, n.app_ids, n.depth, n.reason from ranking_row n, day
      where n.target_id = l.target_id and n.slot >= day.begins_at and n.slot < day.ends_at and n.gap is null
      order by n.slot desc limit 1
    ) h
    cross join lateral (
      select n.target_id, n.slot, n.app_ids, n.depth, n.reason from ranking_row n
      where n.target_id = l.target_id and n.slot = h.slot - make_interval(hours => ${24 * days}) and n.gap is null
      offset 0
    ) b
    where not l.is_due and ${wasFollowed(tx, scope)}` as Fragment
}

/** Where no rule compares: the queries of other kinds stand beside. */
function noPair(tx: Transaction): Fragment {
  return tx`
    select ${pairColumns(tx, 0)} from list l join present h on false join ranking_row b on false` as Fragment
}

/** Whether the project followed the list at the time of the measurement `b`: since then without a pause, as a rule. */
function wasFollowed(tx: Transaction, { project }: DueScope): Fragment {
  return tx`(l.first_slot <= b.slot or exists (
    select from watch_period f
    where f.target_id = b.target_id and f.project = ${project.name} and f.kind in ('keyword', 'chart')
      and b.slot between f.first_slot and coalesce(f.last_slot, 'infinity')
  ))` as Fragment
}

/** The queries of the kinds that speak of single lists. */
export const RANK_KINDS: Readonly<
  Record<string, (tx: Transaction, scope: DueScope, asked: Kinds) => Fragment>
> = {
  rank_moved: rankMoved,
  top_crossed: topCrossed,
  overtaken,
  not_measured: notMeasured,
}

/**
 * Places between two measurements; against the best rank of the days before; or against a base, from when on it was last within
 * reach of it.
 */
function rankMoved(tx: Transaction, { project }: DueScope, { comparedWith }: Kinds): Fragment {
  return tx`
    select r.id as rule_id, format('%s:%s', m.target_id, m.app) as subject, m.slot, m.compared_slot, m.target_id, m.app,
      null::integer as rival, m.rank_before::float8 as before, m.rank::float8 as after, '{}'::jsonb as detail
    from (
      select r.id as rule_id, l.target_id, l.slot, l.compared_slot, l.app, l.rank, l.depth, l.rank_before, l.depth_before
      from rule r join place l on l.is_due and l.days = r.days and ${meansList(tx)} and ${meansApp(tx, 'l')}
      where r.kind = 'rank_moved'
      ${comparedWith.has('best') ? tx`union all ${bestRanks(tx, project.name)}` : tx``}
      ${comparedWith.has('base') ? tx`union all ${baseRanks(tx)}` : tx``}
    ) m
    join rule r on r.id = m.rule_id
    cross join lateral (
      select coalesce(m.rank, m.depth + 1) as after, coalesce(m.rank_before, m.depth_before + 1) as before
    ) e
    where (m.rank is not null or m.rank_before <= m.depth) and (m.rank_before is not null or m.rank <= m.depth_before)
      and abs(e.after - e.before) >= ${bandOf(tx, tx`least(e.after, e.before)` as Fragment)}
      and ${tellsRank(tx, tx`e.before` as Fragment, tx`e.after` as Fragment)}` as Fragment
}

/** The threshold of a rule `r` at the better of two ranks. */
function bandOf(tx: Transaction, rank: Fragment): Fragment {
  return tx`case when ${rank} <= 10 then r.threshold when ${rank} <= 30 then coalesce(r.threshold_11_to_30, r.threshold)
    else coalesce(r.threshold_beyond, r.threshold_11_to_30, r.threshold) end` as Fragment
}

/** Every app of a rule on every list of it that was measured in the slot. */
function presentRanks(tx: Transaction): Fragment {
  return tx`
    rule r
    join present l on l.gap is null and ${meansList(tx)}
    join apps a on a.store = l.store
    cross join lateral (select case when a.app = any(l.app_ids) then array_position(l.app_ids, a.app) end as rank offset 0) n` as Fragment
}

function bestRanks(tx: Transaction, project: string): Fragment {
  return tx`
    select r.id, l.target_id, l.slot, past.slot, a.app, n.rank, l.depth, past.rank, null::smallint
    from ${presentRanks(tx)}
    cross join lateral (
      select b.slot, array_position(b.app_ids, a.app) as rank from ranking_row b
      where b.target_id = l.target_id and b.gap is null and b.slot < l.slot
        and b.slot >= l.slot - make_interval(hours => 24 * coalesce(r.window_days, ${BEST_WITHIN_DAYS}))
        and a.app = any(b.app_ids)
        and exists (
          select from watch_period f
          where f.target_id = l.target_id and f.project = ${project} and f.kind in ('keyword', 'chart')
            and b.slot between f.first_slot and coalesce(f.last_slot, 'infinity')
          offset 0
        )
      order by 2, 1 desc limit 1
    ) past
    where r.kind = 'rank_moved' and r.compared_with = 'best' and ${meansApp(tx)} and (n.rank is not null or l.reason is null)` as Fragment
}

function baseRanks(tx: Transaction): Fragment {
  return tx`
    select r.id, l.target_id, l.slot, within.slot, a.app, n.rank, l.depth, r.base::integer, null::smallint
    from ${presentRanks(tx)}
    cross join lateral (
      select coalesce(max(b.slot), '-infinity') as slot from ranking_row b
      cross join lateral (select coalesce(array_position(b.app_ids, a.app), b.depth + 1) as rank offset 0) o
      where b.target_id = l.target_id and b.gap is null and b.slot < l.slot
        and abs(o.rank - r.base) < ${bandOf(tx, tx`least(o.rank, r.base)` as Fragment)}
    ) within
    where r.kind = 'rank_moved' and r.compared_with = 'base' and ${meansApp(tx)} and (n.rank is not null or l.reason is null)` as Fragment
}

/** Into the top N, or out of it. Where an app was not within depth, the depth says that it was not in the top. */
function topCrossed(tx: Transaction): Fragment {
  return tx`
    select r.id, format('%s:%s', l.target_id, l.app), l.slot, l.compared_slot, l.target_id, l.app, null::integer,
      l.rank_before, l.rank, jsonb_build_object('top', r.top)
    from rule r
    join place l on l.is_due and l.days = r.days and ${meansList(tx)} and ${meansApp(tx, 'l')}
    where r.kind = 'top_crossed' and coalesce(l.rank <= r.top, false) <> coalesce(l.rank_before <= r.top, false)
      and (l.rank is not null or l.depth >= r.top) and (l.rank_before is not null or l.depth_before >= r.top)
      and case r.direction when 'up' then coalesce(l.rank <= r.top, false) when 'down' then coalesce(l.rank > r.top, true)
        else true end` as Fragment
}

/** An own app stood before a competitor, and stands behind it now. */
function overtaken(tx: Transaction): Fragment {
  return tx`
    select r.id, format('%s:%s:%s', l.target_id, l.app, c.app), l.slot, l.compared_slot, l.target_id, l.app, c.app,
      l.rank_before, l.rank, jsonb_build_object('rival_before', c.rank_before, 'rival_after', c.rank)
    from rule r
    join place l on l.is_due and l.days = r.days and l.role = 'own' and (r.app_id is null or r.app_id = l.app_id) and ${meansList(tx)}
    join place c on c.target_id = l.target_id and c.days = l.days and c.role = 'competitor'
    where r.kind = 'overtaken' and c.rank <= coalesce(r.top, c.rank) and c.rank < coalesce(l.rank, l.depth + 1)
      and l.rank_before < coalesce(c.rank_before, l.depth_before + 1)` as Fragment
}

/** Gaps: how long ago the list was measured last, or began to be followed. Told once, until it is measured again. */
function notMeasured(tx: Transaction): Fragment {
  return tx`
    select r.id, l.target_id::text, l.slot, since.slot, l.target_id, null::integer, null::integer, null::float8, null::float8,
      jsonb_build_object('gap', l.gap, 'reason', left(l.reason, 500),
        'days', floor(extract(epoch from l.slot - since.slot) / 86400))
    from rule r
    join present l on l.gap is not null and ${meansList(tx)}
    cross join lateral (
      select coalesce((
        select c.slot from ranking_row c where c.target_id = l.target_id and c.slot < l.slot and c.gap is null order by c.slot desc limit 1
      ), l.first_slot - l.every) as slot
    ) since
    where r.kind = 'not_measured' and l.slot - since.slot >= r.threshold * interval '24 hours'` as Fragment
}
