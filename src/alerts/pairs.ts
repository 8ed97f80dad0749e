/**
 * The measurements that rules compare: both ends were measured, or there is no pair. The arrays of apps at both ends are read once, and what
 * is read for every list holds numbers alone: names, tags and rules are joined to the few rows in which something moved.
 */
import type { Fragment } from 'postgres'
import type { Transaction } from '../db/database.ts'
import {
  type AlertProject,
  type Asked,
  type Compared,
  type DueScope,
  joinAll,
  type ListScope,
  listAll,
  meansApp,
} from './scope.ts'

/**
 * Common table expressions behind `rule` and `due`: `list`, what the project follows now, with the scopes of the rules that mean it; `apps`,
 * its apps; `meant`, the apps of each rule; `present`, what was stored of the lists in the slot, gaps too; `pair`, two measurements of a
 * list, one of them in the slot (or, for the kinds of a day, the last of its day), with the ranks of the apps in both; `place`, an app on a list of
 * the slot on which a rank moved; `moved`, its rank moved.
 */
export function pairs(tx: Transaction, scope: DueScope, asked: Asked): Fragment {
  const pair = asked.compared.flatMap((each) => [
    ranksOf(tx, asked, each, pairsOfDue(tx, scope, each)),
    ...(each.isOfDay ? [ranksOf(tx, asked, each, pairsOfOthers(tx, scope, each))] : []),
  ])
  return tx`
    ${followed(tx, scope, asked)},
    present as materialized (
      ${measured(tx, scope, tx`array(select l.target_id from list l where l.is_due)` as Fragment)}
    ),
    pair as materialized (${pair.length === 0 ? noPair(tx) : joinAll(tx, pair)}),
    place as materialized (
      select p.* from (
        select l.target_id, l.days, l.is_whole, l.was_whole, l.depth, l.depth_before, l.scopes, unnest(${appIds(tx, asked)}) as app,
          unnest(l.ranks) as rank, unnest(l.ranks_before) as rank_before
        from pair l where l.is_due and l.ranks <> l.ranks_before
      ) p
      where (p.rank is not null or p.is_whole) and (p.rank_before is not null or p.was_whole)
        and coalesce(p.rank, p.rank_before) is not null
    ),
    moved as not materialized (select * from place where rank is distinct from rank_before)` as Fragment
}

/** What the project follows: its lists and apps, each with the rules that mean it. */
function followed(tx: Transaction, { project, slot }: DueScope, { scopes }: Asked): Fragment {
  return tx`
    day as materialized (
      select d.day at time zone z.name as begins_at, (d.day + interval '1 day') at time zone z.name as ends_at, d.day, z.name as zone
      from (select ${project.timezone}::text as name) z
      cross join lateral (select date_trunc('day', ${slot}::timestamptz at time zone z.name) as day) d
    ),
    list as materialized (
      ${followedAs(tx, project, scopes, 'keyword')} union all ${followedAs(tx, project, scopes, 'chart')}
    ),
    apps as materialized (
      select a.store, a.store = 'ios_store' as is_ios, a.app, a.role, a.app_id
      from project_app a where a.project = ${project.name} and a.ended_at is null
    ),
    meant as materialized (
      select r.id as rule_id, r.kind, r.days, a.app
      from rule r
      join apps a on (r.store is null or r.store = a.store) and case r.kind
        when 'overtaken' then a.role = 'own' and (r.app_id is null or r.app_id = a.app_id) else ${meansApp(tx)} end
    )` as Fragment
}

/** What is followed by watches of a kind. The target is asked only for the keyword that a rule names. */
function followedAs(
  tx: Transaction,
  { name }: AlertProject,
  scopes: readonly ListScope[],
  kind: 'keyword' | 'chart',
): Fragment {
  const isKeyword = kind === 'keyword'
  const isIn = ({ store, keyword, tag }: ListScope) => {
    const ofStore = store === null ? tx`true` : tx`w.store = ${store}`
    const ofKeyword = keyword === null ? tx`true` : isKeyword ? tx`t.subject = ${keyword}` : tx`false`
    return tx`(${ofStore} and ${ofKeyword} and ${tag === null ? tx`true` : tx`${tag} = any(w.tags)`})` as Fragment
  }
  const namesKeyword = isKeyword && scopes.some(({ keyword }) => keyword !== null)
  return tx`
    select p.target_id, w.store = 'ios_store' as is_ios, ${isKeyword ? tx`false` : tx`true`} as is_chart, p.target_id in (select target_id from due) as is_due,
      p.every <= interval '24 hours' as is_daily, ${isKeyword ? tx`w.weight` : tx`1::float8`} as weight, p.first_slot, p.every,
      array[${listAll(tx, scopes.map(isIn))}]::boolean[] as scopes
    from watch_period p
    join ${isKeyword ? tx`keyword_watch` : tx`chart_watch`} w on w.id = p.watch_id
    ${namesKeyword ? tx`join target t on t.id = p.target_id` : tx``}
    where p.project = ${name} and p.kind = ${kind} and p.ended_at is null` as Fragment
}

/** The apps of the arrays `ranks` and `ranks_before` of a pair `l`, in their order. */
export function appIds(tx: Transaction, { apps }: Asked): Fragment {
  const idsOf = (isIos: boolean) => apps.filter((app) => app.isIos === isIos).map(({ app }) => app)
  return tx`case when l.is_ios then ${idsOf(true)}::integer[] else ${idsOf(false)}::integer[] end` as Fragment
}

/**
 * The ranks of the apps at both ends of `of`. Most of what an evaluation costs is to look for an app in an array of a hundred. So it is
 * not looked for where it stands now where it stood before, or beside; and one of which rules ask only whether it is in a top, only where it is in it at either
 * end. Else its rank is null, as if it were not within depth. An app is in an array once. `first_before` is null where it is the same as
 * `first`. `offset 0` keeps Postgres from doing it twice.
 */
function ranksOf(tx: Transaction, { apps }: Asked, { days, top, isOfDay }: Compared, of: Fragment): Fragment {
  const arrayOf = (rankOf: (app: number, place: number, isInTop: boolean) => Fragment) => {
    const ofStore = (isIos: boolean) => {
      const ranks = apps
        .filter((app) => app.isIos === isIos)
        .map(({ app, reaches }, n) => {
          const reach = reaches.get(days)
          return reach === undefined ? (tx`null` as Fragment) : rankOf(app, n + 1, reach !== null)
        })
      return listAll(tx, ranks)
    }
    return tx`case when l.is_ios then array[${ofStore(true)}]::integer[] else array[${ofStore(false)}]::integer[] end` as Fragment
  }
  const before = arrayOf(
    (app, _place, isInTop) =>
      tx`case when ${isInTop ? tx`${app} = any(l.first) or ${app} = any(l.first_before)` : tx`${app} = any(l.app_ids_before)`}
        then array_position(l.app_ids_before, ${app}) end` as Fragment,
  )
  const now = arrayOf(
    (app, place, isInTop) =>
      tx`case ${app}::integer when l.app_ids[l.ranks_before[${place}::integer]] then l.ranks_before[${place}::integer]
        when l.app_ids[l.ranks_before[${place}::integer] - 1] then l.ranks_before[${place}::integer] - 1
        when l.app_ids[l.ranks_before[${place}::integer] + 1] then l.ranks_before[${place}::integer] + 1
        else case when l.ranks_before[${place}::integer] is not null or ${app} = any(${isInTop ? tx`l.first` : tx`l.app_ids`})
        then array_position(l.app_ids, ${app}) end end` as Fragment,
  )
  return tx`
    select l.target_id, l.days, l.is_ios, l.is_chart, l.is_due, l.is_whole, l.was_whole, l.depth, l.depth_before, l.weight,
      cardinality(l.app_ids) as size, cardinality(l.app_ids_before) as size_before, l.scopes, l.ranks_before, ${now} as ranks,
      ${isOfDay ? tx`l.first, nullif(l.first_before, l.first) as first_before` : tx`null::integer[] as first, null::integer[] as first_before`}
    from (
      select l.*, ${before} as ranks_before
      from (
        select l.*, l.app_ids[:${top}::integer] as first, l.app_ids_before[:${top}::integer] as first_before from (${of} offset 0) l offset 0
      ) l
      offset 0
    ) l` as Fragment
}

/** What was stored of some targets in the slot. */
function measured(tx: Transaction, { slot }: DueScope, targets: Fragment): Fragment {
  return tx`
    select h.target_id, h.depth, h.gap, h.reason is null as is_whole, h.app_ids, h.reason
    from ranking_row h where h.target_id = any(${targets}) and h.slot = ${slot}::timestamptz` as Fragment
}

/** The columns of a pair, of a list `l` and its measurements `h` and, before, `b`. */
function pairColumns(tx: Transaction, days: number): Fragment {
  return tx`l.target_id, ${days}::integer as days, l.is_ios, l.is_chart, l.is_due, l.weight, l.scopes, h.depth, b.depth as depth_before, h.is_whole,
    b.reason is null as was_whole, h.app_ids, b.app_ids as app_ids_before` as Fragment
}

/**
 * Read by an array of their ids: the slot is the same for all, and so is the partition. Where rules mean few of the lists, what was
 * stored of those is read once more, for a join would copy all that was.
 */
function pairsOfDue(tx: Transaction, scope: DueScope, { days, scopes }: Compared): Fragment {
  const isMeant = (scopes ?? []).map((each) => tx`or l.scopes[${each}::integer]`)
  const targets = tx`array(
    select l.target_id from list l where l.is_due and (${scopes === null ? tx`true` : tx`false ${isMeant}`})
  )` as Fragment
  return tx`
    select ${pairColumns(tx, days)}
    from ${scopes === null ? tx`present` : tx`(${measured(tx, scope, targets)})`} h
    join list l on l.target_id = h.target_id
    join ranking_row b on b.target_id = h.target_id
    where b.target_id = any(${targets})
      and b.slot = ${scope.slot}::timestamptz - make_interval(hours => ${24 * days}) and b.gap is null and h.gap is null
      and ${wasFollowed(tx, scope)}` as Fragment
}

/** Each by itself: their slots differ. `offset 0` keeps the planner from reading the whole history for them. */
function pairsOfOthers(tx: Transaction, scope: DueScope, { days }: Compared): Fragment {
  return tx`
    select ${pairColumns(tx, days)}
    from list l
    cross join lateral (
      select n.slot, n.app_ids, n.depth, n.reason is null as is_whole from ranking_row n, day
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
    select l.target_id, 0 as days, l.is_ios, l.is_due, true as is_whole, true as was_whole, h.depth, h.depth as depth_before, l.scopes,
      '{}'::integer[] as ranks, '{}'::integer[] as ranks_before
    from list l join present h on false` as Fragment
}

/** Whether the project followed the list at the time of the measurement `b`: since then without a pause, as a rule. */
function wasFollowed(tx: Transaction, { project }: DueScope): Fragment {
  return tx`(l.first_slot <= b.slot or exists (
    select from watch_period f
    where f.target_id = b.target_id and f.project = ${project.name} and f.kind in ('keyword', 'chart')
      and b.slot between f.first_slot and coalesce(f.last_slot, 'infinity')
  ))` as Fragment
}
