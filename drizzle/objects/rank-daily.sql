-- One pass over the slots and one aggregate. A calendar joined lateral would open only the days that a filter on `day` leaves,
-- but takes 4 times as long for a year, and its guessed costs wake the JIT compiler, which takes seconds.
create or replace view rank_daily as
select h.project, (h.slot at time zone p.timezone)::date as day, h.store, h.list, h.keyword, h.collection, h.category,
  h.location, h.location_code, h.language, h.app_id, h.title, h.label, h.role,
  min(h.rank) as best_rank,
  (array_agg(h.rank order by h.slot desc) filter (where h.outcome in ('ranked', 'not_in_top')))[1] as last_rank,
  min(h.depth) as depth,
  round(avg(case h.outcome when 'ranked' then 1.0 / h.rank when 'not_in_top' then 0 end), 6) as visibility,
  count(*) filter (where h.outcome in ('ranked', 'not_in_top')) as measured, count(*) as owed, h.target_id, h.app
from rank_history h
join project p on p.name = h.project
group by h.project, day, h.store, h.list, h.keyword, h.collection, h.category, h.location, h.location_code, h.language,
  h.app_id, h.title, h.label, h.role, h.target_id, h.app;
comment on view rank_daily is
  'rank_history by days of the project''s own time zone: one row per day, keyword or chart, and app. A filter on day alone reads the whole history of the project: filter by app or keyword too, or ask rank_history by slot.';
comment on column rank_daily.project is 'The project.';
comment on column rank_daily.day is 'The day of the slots in the time zone of the project.';
comment on column rank_daily.store is 'ios_store or android_store.';
comment on column rank_daily.list is 'keyword or chart.';
comment on column rank_daily.keyword is 'The keyword, as it was watched; null for a chart.';
comment on column rank_daily.collection is 'The collection of a chart; null for a keyword.';
comment on column rank_daily.category is 'The category of a chart; null for a keyword, and for all of the collection.';
comment on column rank_daily.location is 'The name of the location; its code until the references are loaded.';
comment on column rank_daily.location_code is 'The code of the location at the service.';
comment on column rank_daily.language is 'The language code.';
comment on column rank_daily.app_id is 'The id of the app in its store.';
comment on column rank_daily.title is 'The title of the app, as last seen; null until a result names it.';
comment on column rank_daily.label is 'What the project calls the app.';
comment on column rank_daily.role is 'own or competitor, as last said.';
comment on column rank_daily.best_rank is 'The best organic rank of the day; null when it was not measured (measured is 0), or never within depth.';
comment on column rank_daily.last_rank is 'The organic rank at the last measurement of the day; null when there was none, or it was not within depth.';
comment on column rank_daily.depth is 'How many ranks were asked for, where that changed the fewest: "not within depth" means not among these.';
comment on column rank_daily.visibility is 'The average of 1/rank over the measurements of the day: 1 is first every time, 0 never within depth; null when it was not measured.';
comment on column rank_daily.measured is 'Slots of the day that were measured.';
comment on column rank_daily.owed is 'Slots of the day that were asked for: measurements, gaps and what is pending.';
comment on column rank_daily.target_id is 'The measured target: what ranking, task and charge call it.';
comment on column rank_daily.app is 'The app in the dictionary: app.id.';
grant select on rank_daily to storerank_editor, storerank_reader;
