-- Views join watch_period and not the watches, so that a deleted, disabled or changed watch keeps its history
-- and owes only what it asked for at the time. Grouped by its keys, so that the planner makes the dictionary
-- before it joins the history, with or without statistics: else it looks the target up once a slot.
-- Conditions on any column go inside. What is a subquery is looked up where it is asked for. A list is what
-- is no page: of `kind in (…)` the planner expects one row where there are no statistics, and takes a whole
-- project for one keyword. A period that goes on has its own watch; of one that ended, list_watch says which
-- watch it is now, at five times the cost.
create or replace view list_period as
select p.id as period_id, p.project, j.timezone, p.target_id, t.store,
  case t.function when 'app_list' then 'chart' else 'keyword' end as list,
  case t.function when 'app_searches' then t.subject end as keyword,
  case t.function when 'app_list' then t.subject end as collection, t.category,
  coalesce((select l.name from location l where l.store = t.store and l.code = t.location_code),
    t.location_code::text) as location, t.location_code, t.language_code as language,
  case when p.ended_at is not null then (select w.tags from list_watch w where w.project = p.project
    and w.target_id = p.target_id)
    when p.kind = 'chart' then (select c.tags from chart_watch c where c.id = p.watch_id)
    else (select k.tags from keyword_watch k where k.id = p.watch_id) end as tags,
  case when p.ended_at is not null then (select w.weight from list_watch w where w.project = p.project
    and w.target_id = p.target_id)
    when p.kind = 'chart' then 1
    else (select k.weight from keyword_watch k where k.id = p.watch_id) end as weight,
  p.every, p.first_slot, p.last_slot, p.ended_at, t.check_url
from watch_period p
join project j on j.name = p.project
join target t on t.id = p.target_id
where p.kind not in ('app', 'reviews')
group by p.id, j.name, t.id;
comment on view list_period is
  'What a project asked for on a keyword or chart, and from when to when: one row per watch period. The'
  ' rank views are made of it.';
comment on column list_period.period_id is 'The watch period: watch_period.id.';
comment on column list_period.project is 'The project.';
comment on column list_period.timezone is 'The time zone of the project.';
comment on column list_period.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column list_period.store is 'ios_store or android_store.';
comment on column list_period.list is 'keyword or chart.';
comment on column list_period.keyword is 'The keyword, as it was watched; null for a chart.';
comment on column list_period.collection is 'The collection of a chart; null for a keyword.';
comment on column list_period.category is
  'The category of a chart; null for a keyword, and for all of the collection.';
comment on column list_period.location is
  'The name of the location; its code until the references are loaded.';
comment on column list_period.location_code is 'The code of the location at the service.';
comment on column list_period.language is 'The language code.';
comment on column list_period.tags is
  'The tags of the watch on it, as they are now; none when the watch is gone.';
comment on column list_period.weight is
  'What the keyword is worth beside the others, as its watch says now; 1 for a chart, and when the watch '
  'is gone.';
comment on column list_period.check_url is
  'Where a person sees the same at the store, as the service said last; null until a result says it.';
comment on column list_period.every is 'How often it asked for it.';
comment on column list_period.first_slot is 'The first slot of the period.';
comment on column list_period.last_slot is 'Its last slot; null while it goes on.';
comment on column list_period.ended_at is 'When the period ended; null while it goes on.';
grant select on list_period to storerank_editor, storerank_reader;
