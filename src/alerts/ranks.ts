/**
 * What rules find in the ranks of one slot. Both ends of a comparison were measured, or there is none: `pair` has a row only where they
 * were. "Not within depth" is known to be at least one beyond the depth, and is compared with nothing that is deeper.
 */
import type { Fragment } from 'postgres'
import type { Transaction } from '../db/database.ts'
import { type DueScope, type Kinds, meansApp, meansList, tellsRank } from './scope.ts'

/** Kinds that sum up a day, over the lists that were measured in other slots of it too. */
const OF_DAY = ['visibility_moved', 'share_of_voice_moved', 'top_count_moved', 'new_app']
const BEST_WITHIN_DAYS = 90

/**
 * Common table expressions behind `rule` and `due`: `list`, what the project follows now; `apps`, its apps by store; `pair`, two
 * measurements of a list, one of them in the slot (or, for the kinds of a day, the last of its day), with the ranks of all apps in both.
 */
export function pairs(tx: Transaction, { project, slot }: DueScope, kinds: Kinds): Fragment {
  const isOfDay = OF_DAY.some((kind) => kinds.has(kind))
  const others = tx`
    union all
    select l.*, h.slot, h.app_ids, h.depth, h.reason
    from list l
    cross join lateral (
      select n.slot, n.app_ids, n.depth, n.reason from ranking n, day
      where n.target_id = l.target_id and n.slot >= day.begins_at and n.slot < day.ends_at and n.gap is null
      order by n.slot desc limit 1
    ) h
    where not l.is_due`
  const heads = kinds.has('new_app')
    ? tx`m.app_ids[:(select max(top) from rule where kind = 'new_app')] as heads,
      b.app_ids[:(select max(top) from rule where kind = 'new_app')] as heads_before`
    : tx`null::integer[] as heads, null::integer[] as heads_before`
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
      select a.store, array_agg(a.app) as ids, array_agg(a.role) as roles, array_agg(a.app_id) as app_ids
      from project_app a where a.project = ${project.name} and a.ended_at is null group by a.store
    ),
    followed as materialized (
      select p.target_id, p.first_slot, coalesce(p.last_slot, 'infinity') as last_slot
      from watch_period p where p.project = ${project.name} and p.kind in ('keyword', 'chart')
    ),
    measured as not materialized (
      select l.*, h.slot, h.app_ids, h.depth, h.reason
      from list l join ranking h on h.target_id = l.target_id and h.slot = ${slot}::timestamptz and h.gap is null
      where l.is_due
      ${isOfDay ? others : tx``}
    ),
    pair as materialized (
      select m.target_id, m.slot, m.store, m.function, m.keyword, m.tags, m.weight, m.is_due, m.depth, s.days,
        b.slot as compared_slot, b.depth as depth_before, m.reason is null as is_whole, b.reason is null as was_whole,
        cardinality(m.app_ids) as size, cardinality(b.app_ids) as size_before,
        array(select array_position(m.app_ids, app) from unnest(a.ids) app) as ranks,
        array(select array_position(b.app_ids, app) from unnest(a.ids) app) as ranks_before, ${heads}
      from measured m
      cross join (select distinct days from rule where days is not null) s
      join ranking b on b.target_id = m.target_id and b.slot = m.slot - make_interval(hours => 24 * s.days) and b.gap is null
      left join apps a on a.store = m.store
      where exists (
        select from followed f where f.target_id = m.target_id and b.slot between f.first_slot and f.last_slot
      )
    ),
    place as materialized (
      select l.target_id, l.slot, l.store, l.keyword, l.tags, l.depth, l.days, l.compared_slot, l.depth_before,
        a.app, a.role, a.app_id, a.rank, a.rank_before
      from pair l
      join apps s on s.store = l.store
      cross join lateral unnest(s.ids, s.roles, s.app_ids, l.ranks, l.ranks_before) as a (app, role, app_id, rank, rank_before)
      where l.is_due and (a.rank is not null or a.rank_before is not null)
        and (a.rank is not null or l.is_whole) and (a.rank_before is not null or l.was_whole)
    )` as Fragment
}

/** The queries of the kinds that speak of single lists. */
export const RANK_KINDS: Readonly<Record<string, (tx: Transaction, scope: DueScope) => Fragment>> = {
  rank_moved: rankMoved,
  top_crossed: topCrossed,
  overtaken,
  not_measured: notMeasured,
}

/**
 * Places between two measurements; against the best rank of the days before; or against a base, from when on it was last within
 * reach of it.
 */
function rankMoved(tx: Transaction, { slot }: DueScope): Fragment {
  return tx`
    select r.id as rule_id, format('%s:%s', m.target_id, m.app) as subject, m.slot, m.compared_slot, m.target_id, m.app,
      null::integer as rival, m.rank_before::float8 as before, m.rank::float8 as after, '{}'::jsonb as detail
    from (
      select r.id as rule_id, l.target_id, l.slot, l.compared_slot, l.app, l.rank, l.depth, l.rank_before, l.depth_before
      from rule r join place l on l.days = r.days and ${meansList(tx)} join lateral (select l.*) a on ${meansApp(tx)}
      where r.kind = 'rank_moved'
      union all
      ${bestRanks(tx, slot)}
      union all
      ${baseRanks(tx, slot)}
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
function presentRanks(tx: Transaction, slot: string): Fragment {
  return tx`
    rule r
    join list l on l.is_due and ${meansList(tx)}
    join ranking h on h.target_id = l.target_id and h.slot = ${slot}::timestamptz and h.gap is null
    join apps s on s.store = l.store
    cross join lateral unnest(s.ids, s.roles, s.app_ids) as a (app, role, app_id)
    cross join lateral (select array_position(h.app_ids, a.app) as rank offset 0) n` as Fragment
}

function bestRanks(tx: Transaction, slot: string): Fragment {
  return tx`
    select r.id, l.target_id, h.slot, past.slot, a.app, n.rank, h.depth, past.rank, null::smallint
    from ${presentRanks(tx, slot)}
    cross join lateral (
      select b.slot, array_position(b.app_ids, a.app) as rank from ranking b
      where b.target_id = l.target_id and b.gap is null and b.slot < h.slot
        and b.slot >= h.slot - make_interval(hours => 24 * coalesce(r.window_days, ${BEST_WITHIN_DAYS}))
        and a.app = any(b.app_ids)
        and exists (select from followed f where f.target_id = l.target_id and b.slot between f.first_slot and f.last_slot)
      order by 2, 1 desc limit 1
    ) past
    where r.kind = 'rank_moved' and r.compared_with = 'best' and ${meansApp(tx)} and (n.rank is not null or h.reason is null)` as Fragment
}

function baseRanks(tx: Transaction, slot: string): Fragment {
  return tx`
    select r.id, l.target_id, h.slot, within.slot, a.app, n.rank, h.depth, r.base::integer, null::smallint
    from ${presentRanks(tx, slot)}
    cross join lateral (
      select coalesce(max(b.slot), '-infinity') as slot from ranking b
      cross join lateral (select coalesce(array_position(b.app_ids, a.app), b.depth + 1) as rank offset 0) o
      where b.target_id = l.target_id and b.gap is null and b.slot < h.slot
        and abs(o.rank - r.base) < ${bandOf(tx, tx`least(o.rank, r.base)` as Fragment)}
    ) within
    where r.kind = 'rank_moved' and r.compared_with = 'base' and ${meansApp(tx)} and (n.rank is not null or h.reason is null)` as Fragment
}

/** Into the top N, or out of it. Where an app was not within depth, the depth says that it was not in the top. */
function topCrossed(tx: Transaction): Fragment {
  return tx`
    select r.id, format('%s:%s', l.target_id, l.app), l.slot, l.compared_slot, l.target_id, l.app, null::integer,
      l.rank_before, l.rank, jsonb_build_object('top', r.top)
    from rule r
    join place l on l.days = r.days and ${meansList(tx)}
    join lateral (select l.*) a on ${meansApp(tx)}
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
    join place l on l.days = r.days and l.role = 'own' and (r.app_id is null or r.app_id = l.app_id) and ${meansList(tx)}
    join place c on c.target_id = l.target_id and c.days = l.days and c.role = 'competitor'
    where r.kind = 'overtaken' and c.rank <= coalesce(r.top, c.rank) and c.rank < coalesce(l.rank, l.depth + 1)
      and l.rank_before < coalesce(c.rank_before, l.depth_before + 1)` as Fragment
}

/** Gaps: how long ago the list was measured last, or began to be followed. Told once, until it is measured again. */
function notMeasured(tx: Transaction, { slot }: DueScope): Fragment {
  return tx`
    select r.id, l.target_id::text, h.slot, since.slot, l.target_id, null::integer, null::integer, null::float8, null::float8,
      jsonb_build_object('gap', h.gap, 'reason', left(h.reason, 500),
        'days', floor(extract(epoch from h.slot - since.slot) / 86400))
    from rule r
    join list l on l.is_due and ${meansList(tx)}
    join ranking h on h.target_id = l.target_id and h.slot = ${slot}::timestamptz and h.gap is not null
    cross join lateral (
      select coalesce((
        select c.slot from ranking c where c.target_id = l.target_id and c.slot < h.slot and c.gap is null order by c.slot desc limit 1
      ), l.first_slot - l.every) as slot
    ) since
    where r.kind = 'not_measured' and h.slot - since.slot >= r.threshold * interval '24 hours'` as Fragment
}
