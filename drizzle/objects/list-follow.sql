-- For a whole project at once: what list_period looks up once a row is joined here, and periods of one target
-- are read side by side.
create or replace view list_follow as
select p.id as period_id, p.project, p.timezone, p.target_id, t.store,
  case t.function when 'app_list' then 'chart' else 'keyword' end as list,
  case t.function when 'app_searches' then t.subject end as keyword,
  case t.function when 'app_list' then t.subject end as collection, t.category,
  coalesce(l.name, t.location_code::text) as location, t.location_code, t.language_code as language,
  coalesce(k.tags, c.tags, '{}') as tags, coalesce(k.weight, 1) as weight, p.every, p.first_slot, p.last_slot,
  p.ended_at, coalesce(p.left_before + interval '26 hours', '-infinity') as alone_from,
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
comment on view list_follow is
  'The rows of list_period, made to be read of a whole project, each with the time in which no other period '
  'of the project on the same target has a slot.';
comment on column list_follow.period_id is 'The watch period: watch_period.id.';
comment on column list_follow.project is 'The project.';
comment on column list_follow.timezone is 'The time zone of the project.';
comment on column list_follow.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column list_follow.store is 'ios_store or android_store.';
comment on column list_follow.list is 'keyword or chart.';
comment on column list_follow.keyword is 'The keyword, as it was watched; null for a chart.';
comment on column list_follow.collection is 'The collection of a chart; null for a keyword.';
comment on column list_follow.category is
  'The category of a chart; null for a keyword, and for all of the collection.';
comment on column list_follow.location is
  'The name of the location; its code until the references are loaded.';
comment on column list_follow.location_code is 'The code of the location at the service.';
comment on column list_follow.language is 'The language code.';
comment on column list_follow.tags is
  'The tags of the watch on it, as they are now; none when the watch is gone.';
comment on column list_follow.weight is
  'What the keyword is worth beside the others, as its watch says now; 1 for a chart, and when the watch '
  'is gone.';
comment on column list_follow.every is 'How often it asked for it.';
comment on column list_follow.first_slot is 'The first slot of the period.';
comment on column list_follow.last_slot is 'Its last slot; null while it goes on.';
comment on column list_follow.ended_at is 'When the period ended; null while it goes on.';
comment on column list_follow.check_url is
  'Where a person sees the same at the store, as the service said last; null until a result says it.';
comment on column list_follow.alone_from is
  'After it, no earlier period on the same target has a slot on the same day.';
comment on column list_follow.alone_to is
  'Before it, no later period on the same target has a slot on the same day.';

-- `strict`, so that it is not inlined: the planner takes it for `rows` lists, where without statistics it
-- would expect one, and look all else up once per list. Columns of fixed length first: they are read once for
-- each list and day.
create or replace function project_lists(in_project text)
returns table (
  period_id bigint, target_id integer, every interval, first_slot timestamptz, last_slot timestamptz,
  ended_at timestamptz,
  alone_from timestamptz, alone_to timestamptz, weight double precision, location_code integer, timezone text,
  store text, list text,
  keyword text, collection text, category text, location text, language text, tags text[], check_url text
) language sql stable strict parallel safe rows 1000
begin atomic
  select p.period_id, p.target_id, p.every, p.first_slot, p.last_slot, p.ended_at, p.alone_from, p.alone_to,
    p.weight, p.location_code,
    p.timezone, p.store, p.list, p.keyword, p.collection, p.category, p.location, p.language, p.tags,
    p.check_url
  from list_follow p
  where p.project = in_project;
end;
comment on function project_lists(text) is 'The rows of list_follow of one project.';

create or replace function newest_lists(in_project text)
returns table (
  target_id integer, weight double precision, location_code integer, store text, list text, keyword text,
  collection text, category text, location text, language text, tags text[]
) language sql stable strict parallel safe rows 1000
begin atomic
  select distinct on (p.target_id) p.target_id, p.weight, p.location_code, p.store, p.list, p.keyword,
    p.collection,
    p.category, p.location, p.language, p.tags
  from project_lists(in_project) p
  order by p.target_id, coalesce(p.ended_at, 'infinity') desc, p.period_id desc;
end;
comment on function newest_lists(text) is
  'Each keyword and chart of a project once, as the watch that follows it now, or followed it last, says.';
grant select on list_follow to storerank_editor, storerank_reader;
