create or replace view ranked_apps as
select p.project, p.store, p.list, p.keyword, p.collection, p.category, p.location, p.location_code,
  p.language, p.tags, p.weight,
  (r.slot at time zone p.timezone)::date as day, r.slot, r.captured_at, found.rank::integer as rank,
  coalesce(r.absolute[found.rank], found.rank)::integer as absolute_rank, a.app_id, a.title, a.developer,
    r.depth, p.target_id,
  a.id as app
from list_period p
join ranking_row r on r.target_id = p.target_id
  and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, r.slot, r.gap)
cross join lateral unnest(r.app_ids) with ordinality found (app, rank)
join app a on a.id = found.app;
comment on view ranked_apps is
  'Every app of every measurement of a project''s keywords and charts, watched or not. A filter on day '
  'alone reads the whole history: filter by slot.';
comment on column ranked_apps.project is 'The project.';
comment on column ranked_apps.store is 'ios_store or android_store.';
comment on column ranked_apps.list is 'keyword or chart.';
comment on column ranked_apps.keyword is 'The keyword, as it was watched; null for a chart.';
comment on column ranked_apps.collection is 'The collection of a chart; null for a keyword.';
comment on column ranked_apps.category is
  'The category of a chart; null for a keyword, and for all of the collection.';
comment on column ranked_apps.location is
  'The name of the location; its code until the references are loaded.';
comment on column ranked_apps.location_code is 'The code of the location at the service.';
comment on column ranked_apps.language is 'The language code.';
comment on column ranked_apps.tags is
  'The tags of the watch on it, as they are now; none when the watch is gone.';
comment on column ranked_apps.weight is
  'What the keyword is worth beside the others, as its watch says now; 1 for a chart, and when the watch '
  'is gone.';
comment on column ranked_apps.day is 'The day of the slot in the time zone of the project.';
comment on column ranked_apps.slot is 'When the measurement was due.';
comment on column ranked_apps.captured_at is 'When it was measured.';
comment on column ranked_apps.rank is 'The organic rank.';
comment on column ranked_apps.absolute_rank is 'The rank when advertisements and bundles are counted too.';
comment on column ranked_apps.app_id is 'The id of the app in its store.';
comment on column ranked_apps.title is 'The title of the app, as last seen; null until a result names it.';
comment on column ranked_apps.developer is 'The developer, as last seen.';
comment on column ranked_apps.depth is 'How many ranks were asked for.';
comment on column ranked_apps.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column ranked_apps.app is 'The app in the dictionary: app.id.';
grant select on ranked_apps to storerank_editor, storerank_reader;
