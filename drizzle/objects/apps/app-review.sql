-- The join is by app alone: a review has one row, whichever of the places that show it was measured first.
--- The reviews of the apps whose reviews a project follows or has followed, each once. New ones of one and
--- two stars: where rating < 2.5 and written_at > now() - interval '7 days'.
--- .day: The day on which it was written, in the time zone of the project.
--- .location: The name of the location where it was first measured; its code until the references are loaded.
--- .language: The language code with which it was first measured.
--- .rating: The stars that this review gives.
--- .title: The title of the review; null in the android_store, where reviews have none.
--- .text: The text of the review, as it was last seen.
--- .version: The version of the app that it is about.
create or replace view app_review as
select w.project, a.store, a.app_id, a.title as app_title, a.label, a.role, a.tags,
  (r.written_at at time zone j.timezone)::date as day,
    (r.first_seen_at at time zone j.timezone)::date as first_seen_day,
  coalesce(l.name, r.location_code::text) as location, r.location_code, r.language_code as
    language, r.written_at, r.rating, r.title, r.text, r.author, r.version, r.helpful_count,
    answer.text as response, answer.responded_at, r.first_seen_at, r.last_seen_at, r.review_id, r.app
from (select distinct project, app from watch_period where kind = 'reviews') w
join project j on j.name = w.project
join project_app a on a.project = w.project and a.app = w.app
join review r on r.app = w.app
left join location l on l.store = a.store and l.code = r.location_code
left join lateral (
  select e.response ->> 'text' as text, (e.response ->> 'timestamp')::timestamptz as responded_at
  from jsonb_array_elements(r.responses) with ordinality e (response, place)
  order by responded_at desc nulls last, e.place desc limit 1
) answer on true;
