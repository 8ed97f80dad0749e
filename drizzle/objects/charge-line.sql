-- Outer joins, which fall away where nothing is asked of the target: every charge has one.
create or replace view charge_line as
select j.name as project, c.at, (c.at at time zone j.timezone)::date as day, t.store, t.function,
  case t.function when 'app_searches' then t.subject end as keyword,
  case t.function when 'app_list' then t.subject end as collection, t.category,
  case when t.function in ('app_info', 'app_reviews') then t.subject end as app_id,
  coalesce(l.name, t.location_code::text) as location, t.location_code, t.language_code as language,
  coalesce((select p.tags from project_target p where p.project = j.name and p.target_id = c.target_id),
    '{}') as tags,
  c.slot, c.kind, c.amount_micros * 0.000001 as usd, c.amount_micros, c.service_id, c.target_id
from charge c
join project j on j.id = c.project_id
left join target t on t.id = c.target_id
left join location l on l.store = t.store and l.code = t.location_code;
comment on view charge_line is
  'Money that the service took or gave back: one line per task, kind and project. A filter on at reads '
  'only that time; one on day alone reads all: ask spend_by_target(project, from, to).';
comment on column charge_line.project is 'The project.';
comment on column charge_line.at is 'When it counts: when the task was sent.';
comment on column charge_line.day is 'The day of that in the time zone of the project.';
comment on column charge_line.store is 'ios_store or android_store.';
comment on column charge_line.function is 'app_searches, app_list, app_info or app_reviews.';
comment on column charge_line.keyword is 'The keyword; null for anything else.';
comment on column charge_line.collection is 'The collection of a chart; null for anything else.';
comment on column charge_line.category is
  'The category of a chart; null for anything else, and for all of the collection.';
comment on column charge_line.app_id is
  'The id of the app whose page or reviews it is; null for keywords and charts.';
comment on column charge_line.location is
  'The name of the location; its code until the references are loaded.';
comment on column charge_line.location_code is 'The code of the location at the service.';
comment on column charge_line.language is 'The language code.';
comment on column charge_line.tags is 'The tags of the watch, as they are now; none when it is gone.';
comment on column charge_line.slot is 'When the measurement was due.';
comment on column charge_line.kind is
  'charge; refund (fewer results than asked for); duplicate (taken again for a task that was paid for '
  'already); adjustment (what the audit found).';
comment on column charge_line.usd is 'Dollars; negative when the service gave them back.';
comment on column charge_line.amount_micros is 'The same in millionths of a dollar.';
comment on column charge_line.service_id is 'The id of the task at the service.';
comment on column charge_line.target_id is 'The measured target: what ranking, task and charge call it.';
grant select on charge_line to storerank_editor, storerank_reader;
