/**
 * What rules find in a day of a project as a whole: sums over the lists that were measured then and in the day that it is compared with,
 * each by both of its ends. Nothing is said of a day of which less than four fifths can be compared.
 */
import type { Fragment } from 'postgres'
import type { Transaction } from '../db/database.ts'
import { appIds } from './pairs.ts'
import { type Asked, type DueScope, joinAll, listAll, meansApp, meansList, OF_DAY } from './scope.ts'

const ENOUGH = 0.8
const EXAMPLES = 3

/**
 * Common table expressions behind `pair`, for the kinds below: `summed`, the lists that were measured at both ends, by the scopes that mean
 * them; `part`, the lists that rules sum up, each once however many rules ask for the same; `known`, how many of them can be compared, of
 * how many; `stand`, what an app has in them.
 */
export function comparable(tx: Transaction, asked: Asked): Fragment {
  const worthsOf = (column: string) =>
    arrayOfApps(tx, asked, (place, isSummed) => {
      if (!isSummed) return tx`0` as Fragment
      const rank = tx`${tx(`l.${column}`)}[${place}::integer]`
      return tx`coalesce(sum(l.weight * (select weights from worth)[${rank}]), 0)` as Fragment
    })
  return tx`
    worth as materialized (select rank_weights('reciprocal') as weights, rank_weight_totals('reciprocal') as sums),
    summed as materialized (
      select l.days, l.is_ios, l.is_chart, l.scopes, count(*) as lists, sum(l.weight * (select weights[1] from worth)) as total,
        sum(l.weight * (select sums from worth)[least(l.size, (select cardinality(sums) from worth))]) as everybody,
        sum(l.weight * (select sums from worth)[least(l.size_before, (select cardinality(sums) from worth))]) as everybody_before,
        ${worthsOf('ranks')} as worths, ${worthsOf('ranks_before')} as worths_before${countsOf(tx, asked)}
      from pair l where l.is_whole and l.was_whole and l.days = any(${asked.compared.filter(({ isOfDay }) => isOfDay).map(({ days }) => days)}::integer[])
      group by 1, 2, 3, 4
    ),
    listed as materialized (
      select l.is_ios, l.is_chart, l.scopes, count(*) as lists from list l where l.is_daily group by 1, 2, 3
    ),
    parted as materialized (
      select r.*, dense_rank() over (order by r.days, r.scope) as part from rule r where r.kind = any(${OF_DAY})
    ),
    part as materialized (select distinct part, days, scope from parted),
    known as materialized (
      select o.part, o.is_ios, o.is_chart, n.total, n.everybody, n.everybody_before
      from (
        select r.part, l.is_ios, l.is_chart, sum(l.lists) as lists from part r join listed l on ${meansList(tx)} group by 1, 2, 3
      ) o
      join (
        select r.part, l.is_ios, l.is_chart, sum(l.lists) as lists, sum(l.total) as total, sum(l.everybody) as everybody,
          sum(l.everybody_before) as everybody_before
        from part r join summed l on l.days = r.days and ${meansList(tx)}
        group by 1, 2, 3
      ) n using (part, is_ios, is_chart)
      where n.lists >= ${ENOUGH}::float8 * o.lists
    ),
    stand as materialized (
      select s.*, a.is_ios, a.role, a.app_id
      from (
        select r.part, l.is_chart, l.app, sum(l.worth) as worth, sum(l.worth_before) as worth_before
        from part r
        join (
          select l.days, l.is_chart, l.scopes, unnest(${appIds(tx, asked)}) as app, unnest(l.worths) as worth, unnest(l.worths_before) as worth_before
          from summed l
        ) l on l.days = r.days and ${meansList(tx)}
        group by 1, 2, 3
      ) s
      join apps a on a.app = s.app
    )` as Fragment
}

/** An array with what `of` says of each place of the ranks of a pair; `isSummed` where a rule asks what an app at that place is worth. */
function arrayOfApps(
  tx: Transaction,
  { apps }: Asked,
  of: (place: number, isSummed: boolean) => Fragment,
): Fragment {
  const [ios, android] = [apps.filter(({ isIos }) => isIos), apps.filter(({ isIos }) => !isIos)]
  const places = Array.from({ length: Math.max(ios.length, android.length) }, (_, n) =>
    of(
      n + 1,
      [ios[n], android[n]].some((app) => app?.isSummed === true),
    ),
  )
  return tx`array[${listAll(tx, places)}]::float8[]` as Fragment
}

/** The queries of the kinds that speak of a day. */
export const DAY_KINDS: Readonly<
  Record<string, (tx: Transaction, scope: DueScope, asked: Asked) => Fragment>
> = {
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

/** Of each top N that rules count in, on how many lists each app is in it, and was. */
function countsOf(tx: Transaction, asked: Asked): Fragment {
  const countOf = (column: string, top: number) =>
    arrayOfApps(
      tx,
      asked,
      (place) =>
        tx`count(*) filter (where ${tx(`l.${column}`)}[${place}::integer] <= ${top}::integer)` as Fragment,
    )
  const counts = asked.countedTops.map(
    (top) =>
      tx`, ${countOf('ranks', top)} as ${tx(`counts_${top}`)}, ${countOf('ranks_before', top)} as ${tx(`counts_${top}_before`)}`,
  )
  return tx`${counts.length === 0 ? tx`` : counts}` as Fragment
}

function topCountMoved(tx: Transaction, _scope: DueScope, asked: Asked): Fragment {
  const counted = asked.countedTops.map(
    (top) =>
      tx`
      select l.days, l.is_ios, l.is_chart, l.scopes, ${top}::integer as top, unnest(${appIds(tx, asked)}) as app,
        unnest(${tx(`counts_${top}`)}) as in_top, unnest(${tx(`counts_${top}_before`)}) as in_top_before
      from summed l` as Fragment,
  )
  const of = tx`
    parted r
    join (
      select r.id as rule_id, l.is_ios, l.is_chart, l.app, sum(l.in_top) as in_top, sum(l.in_top_before) as in_top_before
      from parted r join (${joinAll(tx, counted)}) l on l.days = r.days and l.top = r.top and ${meansList(tx)}
      where r.kind = 'top_count_moved'
      group by 1, 2, 3, 4
    ) s on s.rule_id = r.id
    join meant m on m.rule_id = r.id and m.app = s.app` as Fragment
  return tellMoved(tx, 'top_count_moved', of, {
    before: tx`s.in_top_before` as Fragment,
    after: tx`s.in_top` as Fragment,
    size: tx`abs(v.after - v.before)` as Fragment,
  })
}

/** @param of rules `r`, and what an app stands at in their lists, `s` */
function tellMoved(tx: Transaction, kind: string, of: Fragment, { before, after, size }: Measure): Fragment {
  return tx`
    select r.id, format('%s:%s', case when s.is_chart then 'app_list' else 'app_searches' end, s.app), day.begins_at,
      (day.day - r.days * interval '1 day') at time zone day.zone, null::integer, s.app, null::integer, v.before, v.after,
      jsonb_build_object('list', case when s.is_chart then 'chart' else 'keyword' end, 'tag', r.tag, 'keyword', r.keyword, 'top', r.top)
    from ${of}
    cross join day
    join known k on k.part = r.part and k.is_ios = s.is_ios and k.is_chart = s.is_chart
    cross join lateral (select round((${before})::numeric, 4)::float8 as before, round((${after})::numeric, 4)::float8 as after) v
    where r.kind = ${kind} and v.after <> v.before and ${size} >= r.threshold
      and case r.direction when 'up' then v.after > v.before when 'down' then v.after < v.before else true end` as Fragment
}

/**
 * An app that the project does not watch, in the top of enough lists, and not of so many before. Told once of each app. The lists that it is told
 * with are read once for all apps.
 */
function newApp(tx: Transaction, _scope: DueScope, asked: Asked): Fragment {
  return tx`(
    with fresh as materialized (
      select n.*, r.top
      from ${countFirst(tx, asked)} n
      join parted r on r.id = n.rule_id and n.lists >= r.threshold and n.lists_before < r.threshold
      join app d on d.id = n.app -- Which leaves out a hole, 0.
      join known k on k.part = r.part and k.is_ios = (d.store = 'ios_store') and k.is_chart = n.is_chart
      where not exists (select from apps s where s.app = n.app)
    )
    select h.rule_id, h.app::text, day.begins_at, timestamptz '-infinity', null::integer, h.app, null::integer,
      h.lists_before::float8, h.lists::float8, jsonb_build_object('top', h.top, 'keywords', x.names)
    from day
    cross join fresh h
    join (
      select e.rule_id, e.app, jsonb_agg(e.name order by e.place, e.name) as names
      from (
        select e.rule_id, e.app, e.place, t.name, row_number() over (partition by e.rule_id, e.app order by e.place, t.name) as n
        from (
          select r.id as rule_id, l.target_id, l.is_chart, unnest(${firstOf(tx, asked, 'first')}) as app,
            generate_subscripts(${firstOf(tx, asked, 'first')}, 1) as place
          from parted r join pair l on l.days = r.days and ${meansList(tx)}
          where r.kind = 'new_app' and exists (select from fresh)
        ) e
        cross join lateral (
          select coalesce(case when not e.is_chart then (select subject from target where id = e.target_id) end, 'a chart') as name
        ) t
        where (e.rule_id, e.app) in (select rule_id, app from fresh)
      ) e
      where e.n <= ${EXAMPLES}
      group by 1, 2
    ) x on x.rule_id = h.rule_id and x.app = h.app
  )` as Fragment
}

/**
 * The apps that are in the top of more lists than before, by rule: of how many, and of how many before. Where the top is the same, each app
 * in it is counted at both ends at once. A million apps are grouped by one number, which takes half of what three columns take: each rule
 * is a query of its own, for keywords and, where there are some, for charts.
 */
function countFirst(tx: Transaction, { newAppRules }: Asked): Fragment {
  const counts = newAppRules.flatMap(({ id, days, scope, top, isWholeTop }) =>
    [false, true].map((isChart) => {
      const firstOf = (column: 'first' | 'first_before') =>
        tx`${tx(`l.${column}`)}${isWholeTop ? tx`` : tx`[:${top}::integer]`}`
      const lists = tx`pair l where l.days = ${days}::integer and l.was_whole
        and ${isChart ? tx`l.is_chart and exists (select from list where is_chart)` : tx`not l.is_chart`}
        and ${scope === null ? tx`true` : tx`l.scopes[${scope}::integer]`}`
      return tx`
        select ${id}::bigint as rule_id, ${isChart ? tx`true` : tx`false`} as is_chart, app, sum(now) as lists, sum(before) as lists_before
        from (
          select unnest(${firstOf('first')}) as app, 1 as now, (l.first_before is null)::integer as before from ${lists}
          union all
          select unnest(${firstOf('first_before')}), 0, 1 from ${lists} and l.first_before is not null
        ) f
        group by app having sum(now) > sum(before)` as Fragment
    }),
  )
  return tx`(${joinAll(tx, counts)})` as Fragment
}

/** The top of a rule `r` in an array of the first apps of a pair `l`, which is as long as the deepest top that is asked for. */
function firstOf(tx: Transaction, { compared }: Asked, column: 'first' | 'first_before'): Fragment {
  const first = tx(`l.${column}`)
  return (compared.every(({ isTopOfNew }) => isTopOfNew) ? tx`${first}` : tx`${first}[:r.top]`) as Fragment
}
