-- What is wrong is found, and not looked for: each branch begins with the few rows that may be wrong, so that
-- a million watches in order cost next to nothing. Open periods are looked up by `coalesce`, so that the
-- index of all that are open is not read beside.
--- What keeps a watch from being measured or an alert from being told, one row per problem, with a sentence
--- saying what to do.
--- .project: The project; null for a channel of alerts.
--- .store: The store of the watch; null for a project, for a channel, and for a rule of both.
--- .problem: project_disabled, references_missing, location_unknown, language_unknown, collection_unknown,
--- category_unknown, followed_already, money, dearer_than_budget, last_slot_failed, differs_in_case,
--- project_nearly_another, project_without_app, channel_settings, receiver_gone, delivery_failing,
--- delivery_dead, digest_without_time, recipient_refused, app_unknown or matches_nothing.
create or replace view watch_problem as
with wrong_place as (select * from place_problem)
select w.watch_table, w.watch_id, w.project, w.store, w.subject, 'project_disabled' as problem,
  format('Nothing of the project "%s" is '
  'measured, because it is disabled: update project set enabled = true where name = %L.', w.project,
    w.project) as message
from project pr
cross join lateral (
  select k.* from watch_part k where k.project = pr.name and k.is_wanted and k.kind <> 'reviews'
) w
where not pr.enabled
union all
select 'keyword_watch', w.id, w.project, w.store, w.keyword, p.problem, p.message
from wrong_place p
join keyword_watch w on
  (w.store, coalesce(w.location_code, 0), coalesce(w.location_name, ''), w.language_code)
  = (p.store, p.code, p.name, p.language_code)
where w.enabled
union all
select 'chart_watch', w.id, w.project, w.store, w.collection, p.problem, p.message
from wrong_place p
join chart_watch w on (w.store, coalesce(w.location_code, 0), coalesce(w.location_name, ''), w.language_code)
  = (p.store, p.code, p.name, p.language_code)
where w.enabled
union all
-- What is wrong with the place of an app is said of its row once, for the page and for the reviews.
select 'app_watch', w.id, w.project, w.store, w.app_id, p.problem, p.message
from wrong_place p
join app_watch w on (w.store, coalesce(w.location_code, 0), coalesce(w.location_name, ''), w.language_code)
  = (p.store, p.code, p.name, p.language_code)
where w.enabled and (w.info or w.reviews)
union all
select 'chart_watch', w.id, w.project, w.store, w.collection, told.problem, told.message
from (select distinct store, collection, category from chart_watch where enabled) d
cross join lateral (values ('collection_unknown', unknown_collection(d.store, d.collection, d.category)),
  ('category_unknown', unknown_category(d.store, d.category))) told (problem, message)
join chart_watch w on w.store = d.store and w.collection = d.collection
  and coalesce(w.category, '') = coalesce(d.category, '')
where w.enabled and told.message is not null
union all
select watch_table, watch_id, project, store, subject, problem, message from twin_problem
union all
select watch_table, watch_id, project, store, subject, problem, message from slot_problem
union all
select watch_table, watch_id, project, store, subject, problem, message from spelling_problem
union all
select 'project', p.project_id, p.project, null, p.project, p.problem, p.message
from project_problem p
union all
select watch_table, watch_id, project, store, subject, problem, message from alert_problem;
