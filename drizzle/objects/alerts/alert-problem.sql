--- What keeps alerts from being found or told, one row per problem, with a sentence saying what to do. Part
--- of watch_problem.
create or replace view alert_problem as
select 'alert_channel' as watch_table, c.id as watch_id, null::text as project, null::text as store,
  c.name as subject, c.problem, c.message
from channel_problem c
union all
select 'alert_rule', r.id, r.project, r.store, r.name, p.problem, p.message
from alert_rule r
cross join lateral (
  select 'app_unknown' as problem, format('The project "%s" does not watch the app %s: correct app_id of the '
    'rule "%s", or insert the app into app_watch.', r.project, r.app_id, r.name) as message
  where r.app_id is not null and not exists (
    select from watch_period p join app a on a.id = p.app
    where p.kind = 'app' and p.project = r.project and p.ended_at is null and a.app_id = r.app_id
  )
  union all
  select 'matches_nothing', format('No keyword or chart that the project "%s" follows now is meant by the '
    'rule "%s": correct its %s.', r.project, r.name,
    concat_ws(' and ', case when r.keyword is not null then 'keyword' end,
      case when r.tag is not null then 'tag' end))
  where num_nonnulls(r.keyword, r.tag) > 0 and not exists (
    select from watch_period p
    join target t on t.id = p.target_id
    left join keyword_watch k on p.kind = 'keyword' and k.id = p.watch_id
    left join chart_watch c on p.kind = 'chart' and c.id = p.watch_id
    where p.project = r.project and p.kind in ('keyword', 'chart') and p.ended_at is null
      and (r.store is null or t.store = r.store)
      and (r.keyword is null or (t.subject = r.keyword and t.function = 'app_searches'))
      and (r.tag is null or r.tag = any(coalesce(k.tags, c.tags)))
  )
) p
where r.enabled;
