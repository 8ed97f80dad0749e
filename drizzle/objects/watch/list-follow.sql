-- What list_period looks up once a row is joined here, and periods of one target are read side by side.
--- The rows of list_period, made to be read of a whole project, each with the time in which no other period
--- of the project on the same target has a slot.
create or replace view list_follow as
select p.id as period_id, p.project, p.timezone, p.target_id, t.store,
  case t.function when 'app_list' then 'chart' else 'keyword' end as list, {{subject t}}, {{place t l}},
  coalesce(k.tags, c.tags, '{}') as tags, coalesce(k.weight, k.volume, 1) as weight, p.every, p.first_slot,
  p.last_slot, p.ended_at, coalesce(p.left_before + interval '26 hours', '-infinity') as alone_from,
  coalesce(p.begun_after - interval '26 hours', 'infinity') as alone_to, t.check_url
from (
  select p.*, j.timezone, first_value(p.watch_id) over newest as newest_watch_id,
    max(p.last_slot) over (newest rows between 1 following and unbounded following) as left_before,
    min(p.first_slot) over (newest rows between unbounded preceding and 1 preceding) as begun_after
  from watch_period p
  join project j on j.name = p.project
  where p.kind in ('keyword', 'chart')
  window newest as (
    partition by p.project, p.target_id order by coalesce(p.ended_at, 'infinity') desc, p.id desc
  )
) p
join target t on t.id = p.target_id
left join location l on l.store = t.store and l.code = t.location_code
left join keyword_watch k on p.kind = 'keyword' and k.id = p.newest_watch_id
left join chart_watch c on p.kind = 'chart' and c.id = p.newest_watch_id;

-- `strict`, so that it is not inlined: the planner takes it for `rows` lists, where without statistics it
-- would expect one, and look all else up once per list. Columns of fixed length first: they are read once for
-- each list and day.
create or replace function project_lists(in_project text)
returns table (
  period_id bigint, target_id integer, every interval, first_slot timestamptz, last_slot timestamptz,
  ended_at timestamptz, alone_from timestamptz, alone_to timestamptz, weight double precision,
  location_code integer, timezone text, store text, list text, keyword text, collection text, category text,
  location text, language text, tags text[], check_url text
) language sql stable strict parallel safe rows 1000
begin atomic
  select p.period_id, p.target_id, p.every, p.first_slot, p.last_slot, p.ended_at, p.alone_from, p.alone_to,
    p.weight, p.location_code, p.timezone, p.store, p.list, p.keyword, p.collection, p.category, p.location,
    p.language, p.tags, p.check_url
  from list_follow p
  where p.project = in_project;
end;

--- Each keyword and chart of a project once, as the watch that follows it now, or followed it last, says.
create or replace function newest_lists(in_project text)
returns table (
  target_id integer, weight double precision, location_code integer, store text, list text, keyword text,
  collection text, category text, location text, language text, tags text[]
) language sql stable strict parallel safe rows 1000
begin atomic
  select distinct on (p.target_id) p.target_id, p.weight, p.location_code, p.store, p.list, p.keyword,
    p.collection, p.category, p.location, p.language, p.tags
  from project_lists(in_project) p
  order by p.target_id, coalesce(p.ended_at, 'infinity') desc, p.period_id desc;
end;
