-- The join is by app alone: a review has one row, whichever of the places that show it was measured first.
create or replace view app_review as
select w.project, a.store, a.app_id, a.title as app_title, a.label, a.role, a.tags,
  (r.written_at at time zone j.timezone)::date as day,
    (r.first_seen_at at time zone j.timezone)::date as first_seen_day,
  coalesce(l.name, r.location_code::text) as location, r.location_code, r.language_code as
    language, r.written_at,
  r.rating, r.title, r.text, r.author, r.version, r.helpful_count, answer.text as response,
    answer.responded_at, r.first_seen_at,
  r.last_seen_at, r.review_id, r.app
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
comment on view app_review is
  'The reviews of the apps whose reviews a project follows or has followed, each once. New ones of one '
  'and two stars: where rating < 2.5 and written_at > now() - interval ''7 days''.';
comment on column app_review.project is 'The project.';
comment on column app_review.store is 'ios_store or android_store.';
comment on column app_review.app_id is 'The id of the app in its store.';
comment on column app_review.app_title is 'The title of the app, as last seen; null until a result names it.';
comment on column app_review.label is 'What the project calls the app.';
comment on column app_review.role is 'own or competitor, as last said.';
comment on column app_review.tags is
  'The tags of the watch on the app, as they are now; none when the watch is gone.';
comment on column app_review.day is 'The day on which it was written, in the time zone of the project.';
comment on column app_review.first_seen_day is
  'The day on which it was first measured, in the time zone of the project.';
comment on column app_review.location is
  'The name of the location where it was first measured; its code until the references are loaded.';
comment on column app_review.location_code is 'The code of the location at the service.';
comment on column app_review.language is 'The language code with which it was first measured.';
comment on column app_review.written_at is 'When it was written, as the store says.';
comment on column app_review.rating is 'The stars that this review gives.';
comment on column app_review.title is
  'The title of the review; null in the android_store, where reviews have none.';
comment on column app_review.text is 'The text of the review, as it was last seen.';
comment on column app_review.author is 'Who wrote it.';
comment on column app_review.version is 'The version of the app that it is about.';
comment on column app_review.helpful_count is
  'How many people found it helpful; null in the ios_store, which does not say.';
comment on column app_review.response is
  'What the developer answered last; null without an answer, and in the ios_store, which gives none. '
  'review.responses has all answers.';
comment on column app_review.responded_at is 'When the developer answered last.';
comment on column app_review.first_seen_at is 'When it was first measured.';
comment on column app_review.last_seen_at is
  'When it was last measured: older ones fall out of the depth that is asked for.';
comment on column app_review.review_id is 'The id of the review in the store.';
comment on column app_review.app is 'The app in the dictionary: app.id.';
grant select on app_review to storerank_editor, storerank_reader;
