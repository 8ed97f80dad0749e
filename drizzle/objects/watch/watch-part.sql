-- Neither targets nor apps are joined: they may not be there yet.
--- What each watch asks for at present, one row per part: an app watch has the parts app and reviews.
--- .function: What the service is asked for; null for an app that is only ranked.
--- .category: Of a chart, with the age that it is for: family, ages_6_8. Null for all of the collection.
create or replace view watch_part as
select w.kind, w.watch_table, w.watch_id, w.project, w.store, w.function, w.subject, w.category,
  p.code::integer as location_code, w.location_code::integer as given_code, w.location_name as given_name,
  w.language_code, w.app_id, w.role, w.label, w.every, w.depth::integer as depth, w.html,
  w.priority::integer as priority, w.needs_place, w.is_wanted,
  w.is_wanted and pr.enabled and (p.code is not null or not w.needs_place) as is_asked
from (
  select 'keyword' as kind, 'keyword_watch' as watch_table, k.id as watch_id, k.project, k.store,
    'app_searches' as function, k.keyword as subject, null as category, k.location_code, k.location_name,
    k.language_code, null as app_id, null as role, null as label, k.every, k.depth, k.html, k.priority,
    true as needs_place, k.enabled as is_wanted
  from keyword_watch k
  union all
  -- The age is a part of the category, so that whatever tells charts apart by it tells them apart by both.
  select 'chart', 'chart_watch', c.id, c.project, c.store, 'app_list', c.collection,
    c.category || coalesce(', ' || c.age_rating, ''), c.location_code, c.location_name, c.language_code,
    null, null, null, c.every, c.depth, c.html, c.priority, true, c.enabled
  from chart_watch c
  union all
  -- An app is ranked on all keywords and charts of its project in the same store; only its page needs a
  -- place.
  select 'app', 'app_watch', a.id, a.project, a.store, case when a.info then 'app_info' end, a.app_id, null,
    a.location_code, a.location_name, a.language_code, a.app_id, a.role, a.label, a.every, null,
    a.html and a.info, a.priority, a.info, a.enabled
  from app_watch a
  union all
  select 'reviews', 'app_watch', a.id, a.project, a.store, 'app_reviews', a.app_id, null, a.location_code,
    a.location_name, a.language_code, a.app_id, null, null, a.every, a.reviews_depth, a.html, a.priority,
    true, a.enabled and a.reviews
  from app_watch a
) w
join project pr on pr.name = w.project
cross join lateral (
  select coalesce(w.location_code, (
    select l.code from location l
    where l.store = w.store and lower(l.name collate "C") = lower(w.location_name collate "C")
    order by l.code limit 1
  )) as code
) p;
