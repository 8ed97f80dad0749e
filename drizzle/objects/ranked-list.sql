create or replace view ranked_list as
select t.id as target_id, t.store, case t.function when 'app_list' then 'chart' else 'keyword' end as list,
  case t.function when 'app_searches' then t.subject end as keyword,
  case t.function when 'app_list' then t.subject end as collection, t.category,
  coalesce(l.name, t.location_code::text) as location, t.location_code, t.language_code as language
from target t
left join location l on l.store = t.store and l.code = t.location_code
where t.function in ('app_searches', 'app_list');
comment on view ranked_list is 'What apps are ranked on: each keyword and each chart in its place.';
comment on column ranked_list.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column ranked_list.store is 'ios_store or android_store.';
comment on column ranked_list.list is 'keyword or chart.';
comment on column ranked_list.keyword is 'The keyword, as it was watched; null for a chart.';
comment on column ranked_list.collection is 'The collection of a chart; null for a keyword.';
comment on column ranked_list.category is 'The category of a chart; null for a keyword, and for all of the collection.';
comment on column ranked_list.location is 'The name of the location; its code until the references are loaded.';
comment on column ranked_list.location_code is 'The code of the location at the service.';
comment on column ranked_list.language is 'The language code.';
grant select on ranked_list to storerank_editor, storerank_reader;
