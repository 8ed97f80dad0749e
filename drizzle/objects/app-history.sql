create or replace view app_history as
select s.project, t.store, a.app_id, a.title, a.label, a.role, a.tags,
  (s.slot at time zone j.timezone)::date as day, coalesce(l.name, t.location_code::text) as location,
  t.location_code, t.language_code as language, s.slot, s.captured_at, s.rating, s.votes_count,
    s.reviews_count,
  trim_scale(s.price_micros * 0.000001) as price, s.currency, s.version, s.installs_count,
  case when s.gap is not null then s.gap when s.found then 'measured' else 'not_found' end as outcome,
  s.reason, s.updated_at, s.every, s.target_id, s.app
from app_slot s
join project j on j.name = s.project
join target t on t.id = s.target_id
left join location l on l.store = t.store and l.code = t.location_code
join project_app a on a.project = s.project and a.app = s.app
where t.function = 'app_info';
comment on view app_history is
  'The details of the watched apps, at every slot that was asked for. A filter on day alone reads the '
  'whole history: filter by slot, or ask ratings_daily(project, from, to).';
comment on column app_history.project is 'The project.';
comment on column app_history.store is 'ios_store or android_store.';
comment on column app_history.app_id is 'The id of the app in its store.';
comment on column app_history.title is 'The title of the app, as last seen; null until a result names it.';
comment on column app_history.label is 'What the project calls the app.';
comment on column app_history.role is 'own or competitor, as last said.';
comment on column app_history.tags is
  'The tags of the watch on the app, as they are now; none when the watch is gone.';
comment on column app_history.day is
  'The day of the slot in the time zone of the project. A filter on day alone reads the whole history: '
  'filter by slot too.';
comment on column app_history.location is
  'The name of the location; its code until the references are loaded.';
comment on column app_history.location_code is 'The code of the location at the service.';
comment on column app_history.language is 'The language code.';
comment on column app_history.slot is 'When the measurement was due.';
comment on column app_history.captured_at is 'When it was measured; null unless it was.';
comment on column app_history.rating is 'The average rating.';
comment on column app_history.votes_count is 'How many rated it.';
comment on column app_history.reviews_count is 'How many reviewed it.';
comment on column app_history.price is
  'The price, in the currency beside it, whichever that is; 0 when it is free.';
comment on column app_history.currency is 'The currency of the price.';
comment on column app_history.version is 'The version of the app.';
comment on column app_history.installs_count is 'How often it was installed, as far as the store tells.';
comment on column app_history.outcome is
  'measured; not_found (the store does not have it); or without a measurement: failed, budget, missed, '
  'html_only, pending.';
comment on column app_history.reason is 'Why there is no measurement, when that is known.';
comment on column app_history.updated_at is 'When the app was last updated in the store.';
comment on column app_history.every is 'How often it was asked for at the time.';
comment on column app_history.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column app_history.app is 'The app in the dictionary: app.id.';
grant select on app_history to storerank_editor, storerank_reader;
