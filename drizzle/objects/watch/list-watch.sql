-- Asked by target and project, periods are read by the target alone: the index of the project, which `nullif`
-- keeps out, would read all periods of the project for each.
--- What the watch that follows a target now, or followed it last, says of it: an opinion of today on all of
--- its history.
create or replace view list_watch as
select nullif(p.project, '') as project, p.target_id, coalesce(k.tags, c.tags, '{}') as tags,
  coalesce(k.weight, k.volume, 1) as weight
from watch_period p
left join keyword_watch k on p.kind = 'keyword' and k.id = p.watch_id
left join chart_watch c on p.kind = 'chart' and c.id = p.watch_id
where p.target_id is not null and {{lasts_longest p id}};
