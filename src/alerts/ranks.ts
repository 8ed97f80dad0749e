/**
 * What rules find in the ranks of one slot. "Not within depth" is known to be at least one beyond the depth, and is compared with nothing that
 * is deeper.
 */
import type { Fragment } from 'postgres'
import type { Transaction } from '../db/database.ts'
import { type Asked, type DueScope, meansApp, meansList, tellsRank } from './scope.ts'

const BEST_WITHIN_DAYS = 90

/** The queries of the kinds that speak of single lists. */
export const RANK_KINDS: Readonly<
  Record<string, (tx: Transaction, scope: DueScope, asked: Asked) => Fragment>
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
function rankMoved(tx: Transaction, scope: DueScope, { comparedWith }: Asked): Fragment {
  return tx`
    select r.id as rule_id, format('%s:%s', m.target_id, m.app) as subject, ${scope.slot}::timestamptz as slot, m.compared_slot, m.target_id, m.app,
      null::integer as rival, m.rank_before::float8 as before, m.rank::float8 as after,
      case when r.compared_with in ('best', 'base') then jsonb_build_object('compared_with', r.compared_with) else '{}' end as detail
    from (
      select r.id as rule_id, l.target_id, ${comparedSlot(tx, scope)} as compared_slot, l.app, l.rank, l.depth, l.rank_before, l.depth_before
      from moved l
      join meant m on m.kind = 'rank_moved' and m.app = l.app and m.days = l.days
      join rule r on r.id = m.rule_id and ${meansList(tx)}
      ${comparedWith.has('best') ? tx`union all ${bestRanks(tx, scope)}` : tx``}
      ${comparedWith.has('base') ? tx`union all ${baseRanks(tx, scope)}` : tx``}
    ) m
    join rule r on r.id = m.rule_id
    cross join lateral (
      select coalesce(m.rank, m.depth + 1) as after, coalesce(m.rank_before, m.depth_before + 1) as before
    ) e
    where (m.rank is not null or m.rank_before <= m.depth) and (m.rank_before is not null or m.rank <= m.depth_before)
      and abs(e.after - e.before) >= ${bandOf(tx, tx`least(e.after, e.before)` as Fragment)}
      and ${tellsRank(tx, tx`e.before` as Fragment, tx`e.after` as Fragment)}` as Fragment
}

/** With what a row `l` is compared that was measured in the slot. */
function comparedSlot(tx: Transaction, { slot }: DueScope): Fragment {
  return tx`${slot}::timestamptz - l.days * interval '24 hours'` as Fragment
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
    join list l on l.is_due and ${meansList(tx)}
    join present h on h.target_id = l.target_id and h.gap is null
    join apps a on a.is_ios = l.is_ios
    cross join lateral (select case when a.app = any(h.app_ids) then array_position(h.app_ids, a.app) end as rank offset 0) n` as Fragment
}

function bestRanks(tx: Transaction, { project, slot }: DueScope): Fragment {
  return tx`
    select r.id, l.target_id, past.slot, a.app, n.rank, h.depth, past.rank, null::smallint
    from ${presentRanks(tx)}
    cross join lateral (
      select b.slot, array_position(b.app_ids, a.app) as rank from ranking_row b
      where b.target_id = l.target_id and b.gap is null and b.slot < ${slot}::timestamptz
        and b.slot >= ${slot}::timestamptz - make_interval(hours => 24 * coalesce(r.window_days, ${BEST_WITHIN_DAYS}))
        and a.app = any(b.app_ids)
        and exists (
          select from watch_period f
          where f.target_id = l.target_id and f.project = ${project.name} and f.kind in ('keyword', 'chart')
            and b.slot between f.first_slot and coalesce(f.last_slot, 'infinity')
          offset 0
        )
      order by 2, 1 desc limit 1
    ) past
    where r.kind = 'rank_moved' and r.compared_with = 'best' and ${meansApp(tx)} and (n.rank is not null or h.is_whole)` as Fragment
}

function baseRanks(tx: Transaction, { slot }: DueScope): Fragment {
  return tx`
    select r.id, l.target_id, within.slot, a.app, n.rank, h.depth, r.base::integer, null::smallint
    from ${presentRanks(tx)}
    cross join lateral (
      select coalesce(max(b.slot), '-infinity') as slot from ranking_row b
      cross join lateral (select coalesce(array_position(b.app_ids, a.app), b.depth + 1) as rank offset 0) o
      where b.target_id = l.target_id and b.gap is null and b.slot < ${slot}::timestamptz
        and abs(o.rank - r.base) < ${bandOf(tx, tx`least(o.rank, r.base)` as Fragment)}
    ) within
    where r.kind = 'rank_moved' and r.compared_with = 'base' and ${meansApp(tx)} and (n.rank is not null or h.is_whole)` as Fragment
}

/** Into the top N, or out of it. Where an app was not within depth, the depth says that it was not in the top. */
function topCrossed(tx: Transaction, scope: DueScope): Fragment {
  return tx`
    select r.id, format('%s:%s', l.target_id, l.app), ${scope.slot}::timestamptz, ${comparedSlot(tx, scope)}, l.target_id, l.app, null::integer,
      l.rank_before, l.rank, jsonb_build_object('top', r.top)
    from moved l
    join meant m on m.kind = 'top_crossed' and m.app = l.app and m.days = l.days
    join rule r on r.id = m.rule_id and ${meansList(tx)}
    where coalesce(l.rank <= r.top, false) <> coalesce(l.rank_before <= r.top, false)
      and (l.rank is not null or l.depth >= r.top) and (l.rank_before is not null or l.depth_before >= r.top)
      and case r.direction when 'up' then coalesce(l.rank <= r.top, false) when 'down' then coalesce(l.rank > r.top, true)
        else true end` as Fragment
}

/** An own app stood before a competitor, and stands behind it now. */
function overtaken(tx: Transaction, scope: DueScope): Fragment {
  return tx`
    select r.id, format('%s:%s:%s', l.target_id, l.app, c.app), ${scope.slot}::timestamptz, ${comparedSlot(tx, scope)}, l.target_id, l.app, c.app,
      l.rank_before, l.rank, jsonb_build_object('rival_before', c.rank_before, 'rival_after', c.rank)
    from place l
    join meant m on m.kind = 'overtaken' and m.app = l.app and m.days = l.days
    join rule r on r.id = m.rule_id and ${meansList(tx)}
    join place c on c.target_id = l.target_id and c.days = l.days
    join apps a on a.app = c.app and a.role = 'competitor'
    where c.rank <= coalesce(r.top, c.rank) and c.rank < coalesce(l.rank, l.depth + 1)
      and l.rank_before < coalesce(c.rank_before, l.depth_before + 1)` as Fragment
}

/** Gaps: how long ago the list was measured last, or began to be followed. Told once, until it is measured again. */
function notMeasured(tx: Transaction, { slot }: DueScope): Fragment {
  return tx`
    select r.id, l.target_id::text, ${slot}::timestamptz, since.slot, l.target_id, null::integer, null::integer, null::float8, null::float8,
      jsonb_build_object('gap', h.gap, 'reason', left(h.reason, 500),
        'days', floor(extract(epoch from ${slot}::timestamptz - since.slot) / 86400))
    from rule r
    join list l on l.is_due and ${meansList(tx)}
    join present h on h.target_id = l.target_id and h.gap is not null
    cross join lateral (
      select coalesce((
        select c.slot from ranking_row c where c.target_id = l.target_id and c.slot < ${slot}::timestamptz and c.gap is null
        order by c.slot desc limit 1
      ), l.first_slot - l.every) as slot
      offset 0
    ) since
    where r.kind = 'not_measured' and ${slot}::timestamptz - since.slot >= r.threshold * interval '24 hours'` as Fragment
}
