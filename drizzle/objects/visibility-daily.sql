create or replace view visibility_daily as
select d.project, d.day, d.store, d.list, d.app_id, d.title, d.label, d.role, round(avg(d.visibility), 6) as visibility,
  count(d.best_rank) as ranked, count(*) filter (where d.measured > 0) as measured, count(*) as owed,
  round(count(*) filter (where d.measured > 0)::numeric / count(*), 4) as measured_share, d.app
from rank_daily d
group by d.project, d.day, d.store, d.list, d.app_id, d.title, d.label, d.role, d.app;
comment on view visibility_daily is
  'How well an app is found on all keywords of its project, or on all its charts, by days of the project''s own time zone. visibility = the average of 1/rank: over the measurements of the day for each keyword (0 where the app was not within depth), then over the keywords, each as heavy as any other. What was not measured is in neither side of it: a gap is never a loss, and measured_share says how much of the day it stands for.';
comment on column visibility_daily.project is 'The project.';
comment on column visibility_daily.day is 'The day of the slots in the time zone of the project.';
comment on column visibility_daily.store is 'ios_store or android_store.';
comment on column visibility_daily.list is 'keyword: over all keywords; chart: over all charts.';
comment on column visibility_daily.app_id is 'The id of the app in its store.';
comment on column visibility_daily.title is 'The title of the app, as last seen; null until a result names it.';
comment on column visibility_daily.label is 'What the project calls the app.';
comment on column visibility_daily.role is 'own or competitor, as last said.';
comment on column visibility_daily.visibility is '1 is first on every keyword, 0 within depth on none; null when none was measured.';
comment on column visibility_daily.ranked is 'Keywords (charts) on which the app was ranked that day.';
comment on column visibility_daily.measured is 'Keywords (charts) that were measured at least once that day: visibility is the average over these.';
comment on column visibility_daily.owed is 'Keywords (charts) that had a slot that day.';
comment on column visibility_daily.measured_share is 'measured, as a share of owed.';
comment on column visibility_daily.app is 'The app in the dictionary: app.id.';
grant select on visibility_daily to storerank_editor, storerank_reader;
