/**
 * What rules find in a day of a project as a whole: sums over the lists that were measured then and in the day that it is compared with,
 * each by both of its ends. Nothing is said of a day of which less than four fifths can be compared.
 */
import type { Fragment } from 'postgres'
import type { Transaction } from '../db/database.ts'
import { OF_DAY } from './ranks.ts'
import { type DueScope, meansApp, meansList } from './scope.ts'

const ENOUGH = 0.8
const EXAMPLES = 3

/**
 * Common table expressions behind `pair`, for the kinds below: `part`, the lists that rules sum up, each once however many rules ask for the
 * same; `known`, how many of them can be compared, of how many; `stand`, what an app has in them.
 */
export function comparable(tx: Transaction): Fragment {
  return tx`
    worth as materialized (
      select weights, array(
        select sum(u.weight) over (order by u.rank) from unnest(weights) with ordinality u (weight, rank)
      ) as sums
      from (select rank_weights('reciprocal') as weights) c
    ),
    parted as materialized (
      select r.*, dense_rank() over (order by r.days, r.store, r.keyword, r.tag) as part from rule r where r.kind = any(${OF_DAY})
    ),
    part as materialized (select distinct part, days, store, keyword, tag from parted),
    known as materialized (
      select o.part, o.store, o.function, n.total, n.everybody, n.everybody_before
      from (
        select r.part, l.store, l.function, count(*) as lists
        from part r join list l on l.every <= interval '24 hours' and ${meansList(tx)}
        group by 1, 2, 3
      ) o
      join (
        select r.part, l.store, l.function, count(*) as lists, sum(l.weight * (select weights[1] from worth)) as total,
          sum(l.weight * (select sums from worth)[least(l.size, (select cardinality(sums) from worth))]) as everybody,
          sum(l.weight * (select sums from worth)[least(l.size_before, (select cardinality(sums) from worth))]) as everybody_before
        from part r join pair l on l.days = r.days and l.is_whole and l.was_whole and ${meansList(tx)}
        group by 1, 2, 3
      ) n using (part, store, function)
      where n.lists >= ${ENOUGH}::float8 * o.lists
    ),
    stand as materialized (
      select s.*, case when s.is_chart then 'app_list' else 'app_searches' end as function, a.store, a.role, a.app_id
      from (
        select r.part, l.function = 'app_list' as is_chart, l.app, coalesce(sum(l.weight * (select weights from worth)[l.rank]), 0) as worth,
          coalesce(sum(l.weight * (select weights from worth)[l.rank_before]), 0) as worth_before
        from part r join place l on l.days = r.days and l.are_whole and ${meansList(tx)}
        group by 1, 2, 3
      ) s
      join apps a on a.app = s.app
    )` as Fragment
}

/** The queries of the kinds that speak of a day. */
export const DAY_KINDS: Readonly<Record<string, (tx: Transaction, scope: DueScope) => Fragment>> = {
  visibility_moved: (tx) =>
    moved(tx, 'visibility_moved', {
      before: tx`100 * s.worth_before / nullif(k.total, 0)` as Fragment,
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
  top_count_moved: topCountMoved,
  new_app: newApp,
}

interface Measure {
  readonly before: Fragment
  readonly after: Fragment
  /** How far it moved, as the threshold counts, of `v.before` and `v.after`. */
  readonly size: Fragment
}

function moved(tx: Transaction, kind: string, measure: Measure): Fragment {
  const of = tx`parted r join stand s on s.part = r.part and ${meansApp(tx, 's')}` as Fragment
  return tellMoved(tx, kind, of, measure)
}

function topCountMoved(tx: Transaction): Fragment {
  const of = tx`
    parted r
    join lateral (
      select l.store, l.function, l.app, count(*) filter (where l.rank <= r.top) as in_top,
        count(*) filter (where l.rank_before <= r.top) as in_top_before
      from place l
      where l.days = r.days and l.are_whole and ${meansList(tx)} and ${meansApp(tx, 'l')} and (l.rank <= r.top or l.rank_before <= r.top)
      group by 1, 2, 3
    ) s on r.kind = 'top_count_moved'` as Fragment
  return tellMoved(tx, 'top_count_moved', of, {
    before: tx`s.in_top_before` as Fragment,
    after: tx`s.in_top` as Fragment,
    size: tx`abs(v.after - v.before)` as Fragment,
  })
}

/** @param of rules `r`, and what an app stands at in their lists, `s` */
function tellMoved(tx: Transaction, kind: string, of: Fragment, { before, after, size }: Measure): Fragment {
  return tx`
    select r.id, format('%s:%s', s.function, s.app), day.begins_at, (day.day - r.days * interval '1 day') at time zone day.zone,
      null::integer, s.app, null::integer, v.before, v.after, jsonb_build_object('list', case s.function when 'app_list' then 'chart'
        else 'keyword' end, 'tag', r.tag, 'keyword', r.keyword, 'top', r.top)
    from ${of}
    cross join day
    join known k on k.part = r.part and k.store = s.store and k.function = s.function
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
          where l.days = r.days and ${meansList(tx)} and h.app = any(l.first[:h.top])
          order by array_position(l.first[:h.top], h.app), 1 limit ${EXAMPLES}
        ) x
      ))
    from day
    cross join (
      select r.id as rule_id, case when n.is_chart then 'app_list' else 'app_searches' end as function, n.app, n.lists,
        coalesce(b.lists, 0) as lists_before, r.part, r.top, d.store
      from ${countFirst(tx, 'first')} n
      join parted r on r.id = n.rule_id and n.lists >= r.threshold
      join app d on d.id = n.app
      left join ${countFirst(tx, 'first_before')} b using (rule_id, is_chart, app)
      where coalesce(b.lists, 0) < r.threshold
    ) h
    join known k on k.part = h.part and k.store = h.store and k.function = h.function
    where h.app <> 0 and not exists (select from apps s where s.store = h.store and s.app = h.app)` as Fragment
}

/** On how many lists an app is among the first of `column`, by rule. */
function countFirst(tx: Transaction, column: string): Fragment {
  return tx`(
    select f.rule_id, f.is_chart, f.app, count(*) as lists
    from (
      select r.id as rule_id, l.function = 'app_list' as is_chart, unnest(l.${tx(column)}[:r.top]) as app
      from parted r join pair l on l.days = r.days and l.was_whole and ${meansList(tx)} where r.kind = 'new_app'
    ) f
    group by 1, 2, 3
  )` as Fragment
}
