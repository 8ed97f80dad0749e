create or replace view watch_cost as
select w.project, w.store, w.function, w.keyword, w.collection, w.category, w.app_id, w.location,
  w.location_code, w.language, w.tags,
  w.every, w.depth, w.priority, task_price(w.depth, u.unit_results, u.unit_micros) * 0.000001 as task_usd,
  round(task_price(w.depth, u.unit_results, u.unit_micros) * 0.000001
    * (2592000 / extract(epoch from w.every)), 6) as monthly_usd,
  f.share_micros * 0.000001 as shared_usd, w.target_id
from project_target w
join unit_price u on u.store = w.store and u.function = w.function and u.priority = w.priority
left join (
  select l.project, l.target_id, sum(l.share_micros * l.slots) as share_micros
  from forecast_lines(storerank_now(), storerank_now() + interval '720 hours') l group by 1, 2
) f on f.project = w.project and f.target_id = w.target_id
where w.ended_at is null;
comment on view watch_cost is
  'What the watchlists of now cost, each project alone, when every result is as long as was asked for: '
  'shared_usd says what is left of it where others share it, and short results are refunded.';
comment on column watch_cost.project is 'The project.';
comment on column watch_cost.store is 'ios_store or android_store.';
comment on column watch_cost.function is 'app_searches, app_list, app_info or app_reviews.';
comment on column watch_cost.keyword is 'The keyword; null for anything else.';
comment on column watch_cost.collection is 'The collection of a chart; null for anything else.';
comment on column watch_cost.category is
  'The category of a chart; null for anything else, and for all of the collection.';
comment on column watch_cost.app_id is
  'The id of the app whose page or reviews it is; null for keywords and charts.';
comment on column watch_cost.location is
  'The name of the location; its code until the references are loaded.';
comment on column watch_cost.location_code is 'The code of the location at the service.';
comment on column watch_cost.language is 'The language code.';
comment on column watch_cost.tags is 'The tags of the watch.';
comment on column watch_cost.every is 'How often it is asked for.';
comment on column watch_cost.depth is 'How many results are asked for; null for a page.';
comment on column watch_cost.priority is '1, or 2 at twice the price.';
comment on column watch_cost.task_usd is 'What one measurement costs.';
comment on column watch_cost.monthly_usd is 'What 30 days cost.';
comment on column watch_cost.shared_usd is
  'What this project pays of the slots of the next 30 days, where it shares them with others; storerank '
  'forecast adds it up.';
comment on column watch_cost.target_id is 'The measured target: what ranking, task and charge call it.';
grant select on watch_cost to storerank_editor, storerank_reader;
