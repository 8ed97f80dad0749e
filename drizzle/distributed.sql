-- What is otherwise where the history is distributed (docs/scale.md): `storerank migrate` applies it after all other objects, on a database
-- on which `storerank migrate --distribute` was called. Columns, comments and grants are those of the views that it replaces.
--
-- ranking_row is a foreign table of postgres_fdw: a session of the coordinator with itself, which sends what is compared with target and
-- slot to Citus. So any statement can ask the history. What is to be sent has to be a constant or a value of an outer query:
-- a lateral subquery is one query for each target, and `distinct on (slot)`, which leaves all rows, keeps it one and lets conditions on slot
-- into it. A function of (project, from, to) that is strict is not inlined, and sends its range.
create or replace view ranking_row as
select r.target_id, r.slot, r.captured_at, r.gap, r.reason, r.depth, r.results_count, r.check_url, r.app_ids, r.absolute from distributed_ranking r;

create or replace view ranking_slot as
select p.project, p.store, p.list, p.keyword, p.collection, p.category, p.location, p.location_code, p.language, p.tags, p.weight,
  (r.slot at time zone p.timezone)::date as day, r.slot, r.captured_at, r.gap, r.reason, r.depth, r.results_count, r.check_url,
  r.app_ids, r.absolute, p.every, p.target_id
from list_period p
cross join lateral (
  select distinct on (h.slot) h.* from ranking_row h where h.target_id = p.target_id order by h.slot
) r
where is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, r.slot, r.gap);

create or replace view rank_history as
select p.project, p.store, p.list, p.keyword, p.collection, p.category, p.location, p.location_code, p.language, p.tags, p.weight,
  a.app_id, a.title, a.label, a.role, (r.slot at time zone p.timezone)::date as day, r.slot, r.captured_at, found.rank,
  coalesce(r.absolute[found.rank], found.rank)::integer as absolute_rank, r.depth, r.results_count,
  case when r.gap is not null then r.gap when found.rank is not null then 'ranked'
    when r.reason is not null then 'failed' else 'not_in_top' end as outcome,
  r.reason, r.check_url, p.every, p.target_id, a.app
from list_period p
cross join lateral (
  select distinct on (h.slot) h.* from ranking_row h where h.target_id = p.target_id order by h.slot
) r
join project_app a on a.project = p.project
  and case when a.store = p.store then r.slot < coalesce(a.ended_at, 'infinity') else false end
cross join lateral (select case when a.app = any(r.app_ids) then array_position(r.app_ids, a.app) end as rank offset 0) found
where is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, r.slot, r.gap)
union all
select p.project, p.store, p.list, p.keyword, p.collection, p.category, p.location, p.location_code, p.language, p.tags, p.weight,
  a.app_id, a.title, a.label, a.role, (s.slot at time zone p.timezone)::date, s.slot, null, null, null, null, null, 'pending', null,
  null, p.every, p.target_id, a.app
from pending_ranking s
join list_period p on p.period_id = s.period_id
join project_app a on a.project = p.project and a.store = p.store and s.slot < coalesce(a.ended_at, 'infinity');

-- Two rounds for a whole project: few and small columns of the last 40 days say which slot is the latest of each list, and then its apps are
-- asked for. What has no row in 40 days is looked up by itself.
create or replace function latest_rankings(in_project text)
returns table (
  period_id bigint, target_id integer, slot timestamptz, captured_at timestamptz, gap text, reason text, depth smallint,
  results_count bigint, check_url text, app_ids integer[], absolute smallint[]
) language sql stable strict parallel safe rows 1000
begin atomic
  with followed as materialized (
    select p.period_id, p.target_id, p.every, p.first_slot from asked_period p
    where p.project = in_project and p.kind in ('keyword', 'chart') and p.ended_at is null
  ), recent as materialized (
    select distinct on (f.period_id) f.period_id, f.target_id, h.slot
    from followed f
    join ranking_row h on h.target_id = f.target_id
    where h.target_id = any(array(select target_id from followed)) and h.slot > (select storerank_now() - interval '40 days')
      and case when is_shown(f.every, f.first_slot, null, null, h.slot, h.gap) then true
        else exists (
          select from asked_period p
          where p.target_id = f.target_id and p.project = in_project
            and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, h.slot, h.gap)
        ) end
    order by f.period_id, h.slot desc
  ), latest as materialized (
    select r.period_id, r.target_id, r.slot from recent r
    union all
    select f.period_id, f.target_id, older.slot
    from followed f
    cross join lateral (
      select h.slot from ranking_row h
      where h.target_id = f.target_id and case when is_shown(f.every, f.first_slot, null, null, h.slot, h.gap) then true
        else exists (
          select from asked_period p
          where p.target_id = f.target_id and p.project = in_project
            and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, h.slot, h.gap)
        ) end
      order by h.slot desc
      limit 1
    ) older
    where f.period_id not in (select r.period_id from recent r)
  )
  select l.period_id, h.target_id, h.slot, h.captured_at, h.gap, h.reason, h.depth, h.results_count, h.check_url, h.app_ids, h.absolute
  from latest l
  join ranking_row h on h.target_id = l.target_id and h.slot = l.slot
  where h.target_id = any(array(select target_id from latest)) and h.slot = any(array(select distinct slot from latest));
end;
comment on function latest_rankings(text) is
  'Of each keyword and chart that a project follows the latest row of the history that any of its periods asked for.';

create or replace function past_rankings(in_project text)
returns table (target_id integer, days integer, depth smallint, app_ids integer[], outcome text)
language sql stable strict parallel safe rows 3000
begin atomic
  with past as materialized (
    select r.target_id, d.days, r.slot - d.days * interval '24 hours' as slot
    from latest_rankings(in_project) r
    cross join (values (1), (7), (30)) d (days)
  )
  select p.target_id, p.days, h.depth, h.app_ids,
    case when h.gap is not null then h.gap when h.reason is not null then 'failed' else 'not_in_top' end
  from past p
  join ranking_row h on h.target_id = p.target_id and h.slot = p.slot
  where h.target_id = any(array(select target_id from past)) and h.slot = any(array(select distinct slot from past))
    and exists (
      select from asked_period a
      where a.target_id = p.target_id and a.project = in_project
        and is_shown(a.every, a.first_slot, a.last_slot, a.ended_at, h.slot, h.gap)
    );
end;
comment on function past_rankings(text) is
  'The rows of the history 1, 7 and 30 days before those of latest_rankings.';

create or replace view rank_latest as
select k.project, k.store, k.list, k.keyword, k.collection, k.category, k.location, k.location_code, k.language, k.tags, k.weight,
  a.app_id, a.title, a.label, a.role, (r.slot at time zone k.timezone)::date as day, r.slot::timestamptz(6), r.captured_at::timestamptz(6), found.rank,
  coalesce(r.absolute[found.rank], found.rank)::integer as absolute_rank, r.depth, r.results_count,
  case when r.gap is not null then r.gap when found.rank is not null then 'ranked'
    when r.reason is not null then 'failed' else 'not_in_top' end as outcome,
  r.reason, r.check_url, k.every, k.target_id, a.app
from project j
cross join lateral latest_rankings(j.name) r
join list_period k on k.project = j.name and k.period_id = r.period_id
join project_app a on a.project = k.project and a.store = k.store and a.ended_at is null
cross join lateral (select array_position(r.app_ids, a.app) as rank offset 0) found
where k.ended_at is null;

create or replace view rank_change as
select l.project, l.store, l.list, l.keyword, l.collection, l.category, l.location, l.location_code, l.language, l.tags, l.weight,
  l.app_id, l.title, l.label, l.role, l.day, l.slot, l.captured_at, l.rank, l.absolute_rank, l.depth, l.results_count, l.outcome,
  l.reason, l.check_url, l.every, l.target_id, l.app,
  past.rank_1d, rank_climb(past.rank_1d, past.outcome_1d, was.depth_1d, l.rank, l.outcome, l.depth) as change_1d,
  past.rank_7d, rank_climb(past.rank_7d, past.outcome_7d, was.depth_7d, l.rank, l.outcome, l.depth) as change_7d,
  past.rank_30d, rank_climb(past.rank_30d, past.outcome_30d, was.depth_30d, l.rank, l.outcome, l.depth) as change_30d,
  past.outcome_1d, past.outcome_7d, past.outcome_30d
from rank_latest l
left join (
  select j.name as project, r.target_id, max(r.app_ids) filter (where r.days = 1) as ids_1d,
    max(r.app_ids) filter (where r.days = 7) as ids_7d, max(r.app_ids) filter (where r.days = 30) as ids_30d,
    max(r.depth) filter (where r.days = 1) as depth_1d, max(r.depth) filter (where r.days = 7) as depth_7d,
    max(r.depth) filter (where r.days = 30) as depth_30d, max(r.outcome) filter (where r.days = 1) as unranked_1d,
    max(r.outcome) filter (where r.days = 7) as unranked_7d, max(r.outcome) filter (where r.days = 30) as unranked_30d
  from project j
  cross join lateral past_rankings(j.name) r
  group by j.name, r.target_id
) was on was.project = l.project and was.target_id = l.target_id
cross join lateral (
  select f.rank_1d, f.rank_7d, f.rank_30d, case when f.rank_1d is null then was.unranked_1d else 'ranked' end as outcome_1d,
    case when f.rank_7d is null then was.unranked_7d else 'ranked' end as outcome_7d,
    case when f.rank_30d is null then was.unranked_30d else 'ranked' end as outcome_30d
  from (
    select array_position(was.ids_1d, l.app) as rank_1d, array_position(was.ids_7d, l.app) as rank_7d,
      array_position(was.ids_30d, l.app) as rank_30d offset 0
  ) f
) past;

create or replace view ranked_apps as
select p.project, p.store, p.list, p.keyword, p.collection, p.category, p.location, p.location_code, p.language, p.tags, p.weight,
  (r.slot at time zone p.timezone)::date as day, r.slot, r.captured_at, found.rank::integer as rank,
  coalesce(r.absolute[found.rank], found.rank)::integer as absolute_rank, a.app_id, a.title, a.developer, r.depth, p.target_id,
  a.id as app
from list_period p
cross join lateral (
  select distinct on (h.slot) h.* from ranking_row h where h.target_id = p.target_id order by h.slot
) r
cross join lateral unnest(r.app_ids) with ordinality found (app, rank)
join app a on a.id = found.app
where is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, r.slot, r.gap);

alter function list_daily(text, date, date) strict;
alter function owed_slots(text, date, date) strict;
