-- What is otherwise where the history is distributed (docs/scale.md): `storerank migrate` applies it after
-- all other objects. Columns, comments and grants are those of the views that it replaces.
--
-- The history is asked through foreign tables of postgres_fdw: a session of the coordinator with itself,
-- which sends conditions to Citus. So any statement can ask the history. ranking_row is `ranking` itself;
-- distributed_slot and distributed_rank are it with the lists and apps of each project (queries.sql), so that
-- a project, an app and a keyword are conditions too, and the workers look for the apps. What is to be sent
-- has to be a constant or a value of an outer query. A function of (project, from, to) that is strict is not
-- inlined, and sends its range.
create or replace view ranking_row as
select r.target_id, r.slot, r.captured_at, r.gap, r.reason, r.depth, r.results_count, r.app_ids, r.absolute,
  r.paid_ids, r.paid_places
from distributed_ranking r;

create or replace view ranking_slot as
select p.project, h.store, h.list, h.keyword, h.collection, h.category, p.location, h.location_code,
  h.language, p.tags, p.weight, (h.slot at time zone p.timezone)::date as day, h.slot, h.captured_at, h.gap,
  h.reason, h.depth, h.results_count, case when h.gap is null then p.check_url end as check_url, h.app_ids,
  h.absolute, p.every, h.target_id
from distributed_slot h
join list_period p on p.project = h.project and p.target_id = h.target_id and {{shown p h}};

-- One query for all open slots of a project, where the view asks once for each.
create or replace function project_pending(in_project text)
returns table (period_id bigint, project text, kind text, target_id integer, every interval, slot timestamptz)
language sql stable strict parallel safe rows 1000
begin atomic
  with open as (
    select s.period_id, s.project, s.kind, s.target_id, s.every, s.slot from open_slot s
    where s.project = in_project and s.kind in ('keyword', 'chart')
  ), closed as materialized (
    select r.target_id, r.slot from ranking_row r
    where r.target_id = any(array(select target_id from open))
      and r.slot = any(array(select distinct slot from open))
  )
  select o.period_id, o.project, o.kind, o.target_id, o.every, o.slot from open o
  where not exists (select from closed c where c.target_id = o.target_id and c.slot = o.slot);
end;

create or replace view pending_ranking as
select s.period_id, j.name as project, s.kind, s.target_id, s.every, s.slot
from project j
cross join lateral project_pending(j.name) s;

-- Where the history is here, its partitions are what this is spared. There it would be a query for each slot.
create or replace function pending_rankings(in_project text, from_day date, to_day date)
returns table (period_id bigint, target_id integer, slot timestamptz)
language sql stable strict parallel safe rows 1000
begin atomic
  select s.period_id, s.target_id, s.slot
  from pending_ranking s
  where s.project = in_project and {{in_days s.slot}};
end;

create or replace view rank_history {{around}}
select p.project, h.store, h.list, h.keyword, h.collection, h.category, p.location, h.location_code,
  h.language, p.tags, p.weight, h.app_id, a.title, a.label, a.role,
  (h.slot at time zone p.timezone)::date as day, h.slot, h.captured_at, h.rank,
  coalesce(h.absolute_rank, h.rank)::integer as absolute_rank, h.depth, h.results_count,
  rank_outcome(h.rank, h.gap, h.reason) as outcome, h.reason,
  case when h.gap is null then p.check_url end as check_url, p.every, h.target_id, h.app, null::text as source
from distributed_rank h
join list_period p on p.project = h.project and p.target_id = h.target_id and {{shown p h}}
join project_app a on a.project = h.project and a.app = h.app and h.slot < coalesce(a.ended_at, 'infinity');

-- The latest slot of each list, from the last two intervals: the workers send one row a list. Where another
-- project has asked for that slot, and this one has not, or there is none, the slots of the last 40 days say
-- which it is, and what has none in 40 days is looked up by itself. Then the apps of the latest rows are
-- asked for. Compiling it takes longer than it runs.
--- Of each keyword and chart that a project follows the latest row of the history that any of its periods
--- asked for.
create or replace function latest_rankings(in_project text)
returns table (
  period_id bigint, target_id integer, slot timestamptz, captured_at timestamptz, gap text, reason text,
  depth smallint, results_count bigint, app_ids integer[], absolute smallint[]
) language sql stable strict parallel safe rows 1000 set jit = off
begin atomic
  with followed as (
    select p.period_id, p.target_id, p.every, p.first_slot from asked_period p
    where p.project = in_project and p.kind in ('keyword', 'chart') and p.ended_at is null
  ), newest as materialized (
    select h.target_id, max(h.slot) as slot
    from ranking_row h
    where h.target_id = any(array(select target_id from followed))
      and h.slot > (select storerank_now() - 2 * max(every) from followed)
    group by h.target_id
  ), fresh as (
    select f.period_id, f.target_id, n.slot
    from followed f join newest n on n.target_id = f.target_id
    where is_shown(f.every, f.first_slot, null, null, n.slot, null)
  ), unsettled as (
    select * from followed f where f.period_id not in (select n.period_id from fresh n)
  ), recent as (
    select distinct on (f.period_id) f.period_id, f.target_id, h.slot
    from unsettled f join ranking_row h on h.target_id = f.target_id
    where h.target_id = any(array(select target_id from unsettled))
      and h.slot > (select storerank_now() - interval '40 days')
      and case when is_shown(f.every, f.first_slot, null, null, h.slot, h.gap) then true
        else {{asked f in_project h}} end
    order by f.period_id, h.slot desc
  ), latest as (
    select n.period_id, n.target_id, n.slot from fresh n
    union all
    select r.period_id, r.target_id, r.slot from recent r
    union all
    select f.period_id, f.target_id, older.slot
    from unsettled f
    cross join lateral (
      select h.slot from ranking_row h
      where h.target_id = f.target_id
        and case when is_shown(f.every, f.first_slot, null, null, h.slot, h.gap) then true
          else {{asked f in_project h}} end
      order by h.slot desc
      limit 1
    ) older
    where f.period_id not in (select r.period_id from recent r)
  )
  select l.period_id, h.target_id, h.slot, h.captured_at, h.gap, h.reason, h.depth, h.results_count,
    h.app_ids, h.absolute
  from latest l join ranking_row h on h.target_id = l.target_id and h.slot = l.slot
  where h.target_id = any(array(select target_id from latest))
    and h.slot = any(array(select distinct slot from latest));
end;

--- The rows of the history 1, 7 and 30 days before those of latest_rankings.
create or replace function past_rankings(in_project text)
returns table (target_id integer, days integer, depth smallint, app_ids integer[], outcome text)
language sql stable strict parallel safe rows 3000
begin atomic
  with past as (
    select r.target_id, d.days, r.slot - d.days * interval '24 hours' as slot
    from latest_rankings(in_project) r
    cross join (values (1), (7), (30)) d (days)
  )
  select p.target_id, p.days, h.depth, h.app_ids, rank_outcome(null, h.gap, h.reason)
  from past p
  join ranking_row h on h.target_id = p.target_id and h.slot = p.slot
  where h.target_id = any(array(select target_id from past))
    and h.slot = any(array(select distinct slot from past))
    and {{asked p in_project h}};
end;

create or replace view rank_latest as
select k.project, {{list k}}, {{app a}}, (r.slot at time zone k.timezone)::date as day,
  r.slot::timestamptz(6), r.captured_at::timestamptz(6), found.rank,
  coalesce(r.absolute[found.rank], found.rank)::integer as absolute_rank, r.depth, r.results_count,
  rank_outcome(found.rank, r.gap, r.reason) as outcome, r.reason,
  case when r.gap is null then k.check_url end as check_url, k.every, k.target_id, a.app
from project j
cross join lateral latest_rankings(j.name) r
join list_period k on k.project = j.name and k.period_id = r.period_id
join project_app a on a.project = k.project and case when a.store = k.store then true else false end
  and a.ended_at is null
cross join lateral (select array_position(r.app_ids, a.app) as rank offset 0) found
where k.ended_at is null;

create or replace view rank_change {{around}}
left join (
  select j.name as project, r.target_id, max(r.app_ids) filter (where r.days = 1) as ids_1d,
    max(r.app_ids) filter (where r.days = 7) as ids_7d, max(r.app_ids) filter (where r.days = 30) as ids_30d,
    max(r.depth) filter (where r.days = 1) as depth_1d, max(r.depth) filter (where r.days = 7) as depth_7d,
    max(r.depth) filter (where r.days = 30) as depth_30d, max(r.outcome)
      filter (where r.days = 1) as unranked_1d,
    max(r.outcome) filter (where r.days = 7) as unranked_7d, max(r.outcome)
      filter (where r.days = 30) as unranked_30d
  from project j
  cross join lateral past_rankings(j.name) r
  group by j.name, r.target_id
) was on was.project = l.project and was.target_id = l.target_id;

-- Reference tables are written on all nodes by a commit in two phases: only what they do not have yet. In a
-- statement of its own for each, of periods by their ids, because Citus takes no transition table. Never by a
-- generic plan, in which Citus takes no parameters.
--- Adds to distributed_list and distributed_app what some periods, or all (null), ask for and is not there
--- yet.
create or replace function keep_distributed_lists(in_periods bigint[]) returns void language plpgsql
set plan_cache_mode = force_custom_plan as $$
begin
  if exists (
    select from watch_period p join project j on j.name = p.project
    where p.kind in ('keyword', 'chart') and (in_periods is null or p.id = any(in_periods))
      and not exists (select from distributed_list d where d.target_id = p.target_id and d.project_id = j.id)
  ) then
    insert into distributed_list (target_id, project_id, store, list, keyword, collection, category,
      location_code, language)
    select distinct t.id, j.id, t.store, case t.function when 'app_list' then 'chart' else 'keyword' end,
      case t.function when 'app_searches' then t.subject end, case t.function when 'app_list'
        then t.subject end, t.category, t.location_code, t.language_code
    from watch_period p
    join project j on j.name = p.project
    join target t on t.id = p.target_id
    where p.kind in ('keyword', 'chart') and (in_periods is null or p.id = any(in_periods))
    on conflict do nothing;
  end if;
  if exists (
    select from watch_period p join project j on j.name = p.project
    where p.kind = 'app' and (in_periods is null or p.id = any(in_periods))
      and not exists (select from distributed_app d where d.project_id = j.id and d.app = p.app)
  ) then
    insert into distributed_app (project_id, app, store, app_id)
    select distinct j.id, a.id, a.store, a.app_id
    from watch_period p
    join project j on j.name = p.project
    join app a on a.id = p.app
    where p.kind = 'app' and (in_periods is null or p.id = any(in_periods))
    on conflict do nothing;
  end if;
end $$;

create or replace function keep_distributed() returns trigger {{as_owner}} as $$
begin
  perform keep_distributed_lists(array(select id from fresh));
  return null;
end $$;

create or replace trigger keep_distributed after insert on watch_period
referencing new table as fresh for each statement execute function keep_distributed();

create or replace function keep_distributed_project() returns trigger {{as_owner}} as $$
begin
  if tg_op = 'INSERT' then
    insert into distributed_project (id, name) values (new.id, new.name);
  elsif tg_op = 'UPDATE' then
    update distributed_project set name = new.name where id = new.id;
  else
    delete from distributed_project where id = old.id;
    delete from distributed_list where project_id = old.id;
    delete from distributed_app where project_id = old.id;
  end if;
  return null;
end $$;

create or replace trigger keep_distributed after insert or update of name or delete on project
for each row execute function keep_distributed_project();

alter function list_daily(text, date, date) strict;
alter function owed_slots(text, date, date) strict;
