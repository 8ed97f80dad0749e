--- What each project measures, or has measured: keywords, charts, pages and reviews, each once.
create or replace view project_target as
select p.project, t.store, t.function, {{subject t}},
  case when t.function in ('app_info', 'app_reviews') then t.subject end as app_id, {{place t l}},
  coalesce(k.tags, c.tags, a.tags, '{}') as tags, p.every, p.depth, p.priority, p.ended_at, p.target_id
from watch_period p
join target t on t.id = p.target_id
left join location l on l.store = t.store and l.code = t.location_code
left join keyword_watch k on p.kind = 'keyword' and k.id = p.watch_id
left join chart_watch c on p.kind = 'chart' and c.id = p.watch_id
left join app_watch a on p.kind in ('app', 'reviews') and a.id = p.watch_id
where {{lasts_longest p id}};

-- `strict` for the same reason as project_lists.
create or replace function project_targets(in_project text)
returns table (
  {{measured}}, location_code integer, language text, tags text[], every interval, depth smallint,
  priority smallint, ended_at timestamptz, target_id integer
) language sql stable strict parallel safe rows 1000
begin atomic
  select {{measured t}}, t.location_code, t.language, t.tags, t.every, t.depth, t.priority, t.ended_at,
    t.target_id
  from project_target t
  where t.project = in_project;
end;
