-- What is watched at one time of day is due at one: the days are those of the project, like everywhere.
create or replace view owed_slot as
select s.project, s.store, case s.list when 'chart' then 'app_list' else 'app_searches' end as function,
  coalesce(s.keyword, s.collection) as subject, s.tags, s.day, s.slot, s.gap, s.reason, s.target_id
from ranking_slot s
union all
select p.project, t.store, t.function, t.subject, coalesce((select w.tags from app_watch w
  where w.id = p.watch_id), '{}'),
  (h.slot at time zone j.timezone)::date, h.slot, h.gap, h.reason, p.target_id
from watch_period p
join project j on j.name = p.project
join target t on t.id = p.target_id
join app_snapshot h on h.target_id = p.target_id
  and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, h.slot, h.gap)
where p.kind in ('app', 'reviews')
union all
select s.project, t.store, t.function, t.subject, coalesce(case
    when s.kind in ('app', 'reviews') then (select w.tags from app_watch w where w.id = p.watch_id)
    else (select l.tags from list_period l where l.period_id = s.period_id) end, '{}'),
  (s.slot at time zone j.timezone)::date, s.slot, 'pending', null, s.target_id
from pending_slot s
join watch_period p on p.id = s.period_id
join project j on j.name = s.project
join target t on t.id = s.target_id;
comment on view owed_slot is
  'Every slot that a project asked for, of keywords, charts, pages and reviews, and what became of it. '
  'A filter on day alone reads the whole history: filter by slot, or ask coverage(project, from, to).';
comment on column owed_slot.project is 'The project.';
comment on column owed_slot.store is 'ios_store or android_store.';
comment on column owed_slot.function is 'app_searches, app_list, app_info or app_reviews.';
comment on column owed_slot.subject is 'The keyword, the id of the app, or the collection of a chart.';
comment on column owed_slot.tags is 'The tags of the watch, as they are now; none when it is gone.';
comment on column owed_slot.day is 'The day of the slot in the time zone of the project.';
comment on column owed_slot.slot is 'When the measurement was due.';
comment on column owed_slot.gap is
  'Null when it was measured; else failed, budget, missed, html_only, or pending.';
comment on column owed_slot.reason is
  'Why there is no measurement, when that is known; of a measurement, what of it could not be read.';
comment on column owed_slot.target_id is 'The measured target: what ranking, task and charge call it.';
grant select on owed_slot to storerank_editor, storerank_reader;
