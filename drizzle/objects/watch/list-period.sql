-- Grouped by its keys, so that the planner makes the dictionary before it joins the history, with or without
-- statistics: else it looks the target up once a slot. Conditions on any column go inside. What is a subquery
-- is looked up where it is asked for. Of `kind in (…)` the planner expects one row where there are no
-- statistics, and takes a whole project for one keyword. A period that goes on has its own watch; of one that
-- ended, list_watch says which watch it is now, at five times the cost.
--- What a project asked for on a keyword or chart, and from when to when: one row per watch period. The rank
--- views are made of it.
create or replace view list_period as
select p.id as period_id, p.project, j.timezone, p.target_id, t.store,
  case t.function when 'app_list' then 'chart' else 'keyword' end as list, {{subject t}},
  coalesce((select l.name from location l where l.store = t.store and l.code = t.location_code),
    t.location_code::text) as location, t.location_code, t.language_code as language,
  case when p.ended_at is not null then (select w.tags from list_watch w where w.project = p.project
    and w.target_id = p.target_id)
    when p.kind = 'chart' then (select c.tags from chart_watch c where c.id = p.watch_id)
    else (select k.tags from keyword_watch k where k.id = p.watch_id) end as tags,
  case when p.ended_at is not null then (select w.weight from list_watch w where w.project = p.project
    and w.target_id = p.target_id)
    when p.kind = 'chart' then 1
    else (select coalesce(k.weight, k.volume, 1) from keyword_watch k where k.id = p.watch_id) end as weight,
  p.every, p.first_slot, p.last_slot, p.ended_at, t.check_url
from watch_period p
join project j on j.name = p.project
join target t on t.id = p.target_id
where p.kind not in ('app', 'reviews')
group by p.id, j.name, t.id;
