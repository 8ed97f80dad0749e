/**
 * What rules find in a day of a project as a whole: sums over the lists that were measured then and in the day that it is compared with,
 * each by both of its ends. Nothing is said of a day of which less than four fifths can be compared.
 */
import type { Fragment } from 'postgres'
import type { Transaction } from '../db/database.ts'
import { type DueScope, meansApp, meansList } from './scope.ts'

const ENOUGH = 0.8
const EXAMPLES = 3

/** Common table expressions behind `pair`, for the kinds below: `known`, how many lists of a rule can be compared, of how many. */
export function comparable(tx: Transaction): Fragment {
  return tx`
    worth as materialized (
      select weights, array(
        select sum(u.weight) over (order by u.rank) from unnest(weights) with ordinality u (weight, rank)
      ) as sums
      from (select rank_weights('reciprocal') as weights) c
    ),
    known as materialized (
      select o.rule_id, o.store, o.function, n.total, n.total_before, n.everybody, n.everybody_before
      from (
        select r.id as rule_id, l.store, l.function, count(*) as lists
        from rule r join list l on l.every <= interval '24 hours' and ${meansList(tx)}
        group by 1, 2, 3
      ) o
      join (
        select r.id as rule_id, l.store, l.function, count(*) as lists, sum(l.weight * w.weights[1]) as total,
          sum(l.weight * w.weights[1]) as total_before, sum(l.weight * w.sums[least(l.size, cardinality(w.sums))]) as everybody,
          sum(l.weight * w.sums[least(l.size_before, cardinality(w.sums))]) as everybody_before
        from rule r join pair l on l.days = r.days and l.is_whole and l.was_whole and ${meansList(tx)}
        cross join worth w
        group by 1, 2, 3
      ) n using (rule_id, store, function)
      where n.lists >= ${ENOUGH}::float8 * o.lists
    ),
    stand as materialized (
      select r.id as rule_id, l.store, l.function, a.app,
        coalesce(sum(l.weight * w.weights[a.rank]), 0) as worth, coalesce(sum(l.weight * w.weights[a.rank_before]), 0) as worth_before,
        count(*) filter (where a.rank <= r.top) as in_top, count(*) filter (where a.rank_before <= r.top) as in_top_before
      from rule r
      join pair l on l.days = r.days and l.is_whole and l.was_whole and ${meansList(tx)}
      join apps s on s.store = l.store
      cross join lateral unnest(s.ids, s.roles, s.app_ids, l.ranks, l.ranks_before) as a (app, role, app_id, rank, rank_before)
      cross join worth w
      where r.kind in ('visibility_moved', 'share_of_voice_moved', 'top_count_moved') and ${meansApp(tx)}
      group by 1, 2, 3, 4
    )` as Fragment
}

/** The queries of the kinds that speak of a day. */
export const DAY_KINDS: Readonly<Record<string, (tx: Transaction, scope: DueScope) => Fragment>> = {
  visibility_moved: (tx) =>
    moved(tx, 'visibility_moved', {
      before: tx`100 * s.worth_before / nullif(k.total_before, 0)` as Fragment,
      after: tx`100 * s.worth / nullif(k.total, 0)` as Fragment,
      // From nothing, any rise is more than any percentage.
      size: tx`coalesce(100 * abs(v.after - v.before) / nullif(v.before, 0), 'infinity')` as Fragment,
    }),
  share_of_voice_moved: (tx) =>
    moved(tx, 'share_of_voice_moved', {
      before: tx`100 * s.worth_before / nullif(k.everybody_before, 0)` as Fragment,
      after: tx`100 * s.worth / nullif(k.everybody, 0)` as Fragment,
      size: tx`coalesce(100 * abs(v.after - v.before) / nullif(v.before, 0), 'infinity')` as Fragment,
    }),
  top_count_moved: (tx) =>
    moved(tx, 'top_count_moved', {
      before: tx`s.in_top_before` as Fragment,
      after: tx`s.in_top` as Fragment,
      size: tx`abs(v.after - v.before)` as Fragment,
    }),
  new_app: newApp,
}

interface Measure {
  readonly before: Fragment
  readonly after: Fragment
  /** How far it moved, as the threshold counts, of `v.before` and `v.after`. */
  readonly size: Fragment
}

function moved(tx: Transaction, kind: string, { before, after, size }: Measure): Fragment {
  return tx`
    select r.id, format('%s:%s', s.function, s.app), day.begins_at, (day.day - r.days * interval '1 day') at time zone day.zone,
      null::integer, s.app, null::integer, v.before, v.after, jsonb_build_object('list', case s.function when 'app_list' then 'chart'
        else 'keyword' end, 'tag', r.tag, 'keyword', r.keyword, 'top', r.top)
    from day
    cross join rule r
    join stand s on s.rule_id = r.id
    join known k on k.rule_id = r.id and k.store = s.store and k.function = s.function
    cross join lateral (select round((${before})::numeric, 4)::float8 as before, round((${after})::numeric, 4)::float8 as after) v
    where r.kind = ${kind} and v.after <> v.before and ${size} >= r.threshold
      and case r.direction when 'up' then v.after > v.before when 'down' then v.after < v.before else true end` as Fragment
}

/** An app that the project does not watch, in the top of enough lists, and not of so many before. Told once of each app. */
function newApp(tx: Transaction): Fragment {
  return tx`
    select h.rule_id, h.app::text, day.begins_at, timestamptz '-infinity', null::integer, h.app, null::integer,
      h.lists_before::float8, h.lists::float8, jsonb_build_object('top', h.top, 'keywords', (
        select jsonb_agg(x.name) from (
          select coalesce(l.keyword, 'a chart') as name from pair l join rule r on r.id = h.rule_id
          where l.days = r.days and ${meansList(tx)} and h.app = any(l.heads[:h.top])
          order by array_position(l.heads, h.app), 1 limit ${EXAMPLES}
        ) x
      ))
    from day
    cross join (
      select r.id as rule_id, r.top, l.store, l.function, f.app, r.threshold, count(*) filter (where f.is_now) as lists,
        count(*) filter (where not f.is_now) as lists_before
      from rule r
      join pair l on l.days = r.days and l.was_whole and ${meansList(tx)}
      cross join lateral (
        select app, true as is_now from unnest(l.heads[:r.top]) app
        union all
        select app, false from unnest(l.heads_before[:r.top]) app
      ) f
      where r.kind = 'new_app'
      group by r.id, r.top, l.store, l.function, f.app, r.threshold
    ) h
    join known k on k.rule_id = h.rule_id and k.store = h.store and k.function = h.function
    where h.lists >= h.threshold and h.lists_before < h.threshold and h.app <> 0
      and not exists (select from apps s where s.store = h.store and h.app = any(s.ids))` as Fragment
}
