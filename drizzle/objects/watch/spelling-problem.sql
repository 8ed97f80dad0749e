--- Keywords that differ in case alone, once for all spellings, at the one that came last: part of
--- watch_problem.
create or replace view spelling_problem as
with folded as materialized (
  -- Most lists are in small letters, and the index of targets with capitals is small.
  select distinct t.store, t.location_code, t.language_code, folded_subject(t.subject) as subject
  from target t where t.function = 'app_searches' and t.subject <> folded_subject(t.subject)
), spelling as (
  select t.store, t.location_code, t.language_code, f.subject as folded, t.subject,
    min(p.watch_id) as watch_id,
    min(p.project) as project, max(task_price(p.depth, u.unit_results, u.unit_micros) * 2592000
      / extract(epoch from p.every)) as micros
  from folded f
  cross join lateral (
    select o.* from target o
    where o.function = 'app_searches' and o.subject <> folded_subject(o.subject)
      and folded_subject(o.subject) = f.subject
    union all
    select o.* from target o
    where subject_key(o.subject) collate "C" = subject_key(f.subject) and o.function = 'app_searches'
  ) t
  cross join lateral (
    select p.* from watch_period p where p.target_id = t.id and p.kind = 'keyword'
      and coalesce(p.ended_at, 'infinity') = 'infinity'
  ) p
  join unit_price u on u.store = t.store and u.function = t.function and u.priority = p.priority
  where (t.store, t.location_code, t.language_code) = (f.store, f.location_code, f.language_code)
  group by t.id, t.store, t.location_code, t.language_code, f.subject, t.subject
)
select 'keyword_watch' as watch_table, (array_agg(s.watch_id order by s.watch_id desc))[1] as watch_id,
  (array_agg(s.project order by s.watch_id desc))[1] as project, s.store,
  (array_agg(s.subject order by s.watch_id desc))[1] as subject, 'differs_in_case' as problem,
  format(
    '%s differ in case alone, which the stores do not tell apart, and each is measured: all but the first'
    ' cost %s a month. Keep one '
    'of them, and delete the others.', string_agg(format('"%s" (keyword_watch %s)', s.subject, s.watch_id),
      ', ' order by s.watch_id),
    dollars((sum(s.micros) - (array_agg(s.micros order by s.watch_id))[1])::bigint)) as message
from spelling s
group by s.store, s.location_code, s.language_code, s.folded
having count(*) > 1;
