-- Of several periods of a project on one list, the one that lasts longest.
create or replace view project_list as
select p.project, p.store, p.list, p.keyword, p.collection, p.category, p.location, p.location_code,
  p.language, p.tags, p.weight, p.every, p.ended_at, p.target_id
from list_period p
where not exists (
  select from (select * from watch_period t where t.target_id = p.target_id offset 0) longer
  where longer.project = p.project
    and (coalesce(longer.ended_at, 'infinity'), longer.id) > (coalesce(p.ended_at, 'infinity'), p.period_id)
  offset 0
);
comment on view project_list is
  'The keywords and charts of each project, each once, also those that it followed before.';
comment on column project_list.project is 'The project.';
comment on column project_list.store is 'ios_store or android_store.';
comment on column project_list.list is 'keyword or chart.';
comment on column project_list.keyword is 'The keyword, as it was watched; null for a chart.';
comment on column project_list.collection is 'The collection of a chart; null for a keyword.';
comment on column project_list.category is
  'The category of a chart; null for a keyword, and for all of the collection.';
comment on column project_list.location is
  'The name of the location; its code until the references are loaded.';
comment on column project_list.location_code is 'The code of the location at the service.';
comment on column project_list.language is 'The language code.';
comment on column project_list.tags is
  'The tags of the watch on it, as they are now; none when the watch is gone.';
comment on column project_list.weight is
  'What the keyword is worth beside the others, as its watch says now; 1 for a chart, and when the watch '
  'is gone.';
comment on column project_list.every is 'How often it is asked for, or was last.';
comment on column project_list.ended_at is 'When it was last followed; null while it is.';
comment on column project_list.target_id is 'The measured target: what ranking, task and charge call it.';
grant select on project_list to storerank_editor, storerank_reader;
