-- What is watched at one time of day is due at one: the days are those of the project, like everywhere.
--- Every slot that a project asked for, of keywords, charts, pages and reviews, and what became of it. A
--- filter on day alone reads the whole history: filter by slot, or ask coverage(project, from, to).
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
join app_snapshot h on h.target_id = p.target_id and {{shown p h}}
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
