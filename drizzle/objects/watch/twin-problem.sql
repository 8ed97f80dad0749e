--- Watches that another one of their project keeps from being followed: part of watch_problem.
create or replace view twin_problem as
with mixed as materialized (
  -- Where keywords have one place by its name and by its code: elsewhere no row has the target of another.
  select n.store, n.name, n.language_code, c.code
  from keyword_place n
  join location l on l.store = n.store and lower(l.name collate "C") = lower(n.name collate "C")
  join keyword_place c on (c.store, c.code, c.name, c.language_code) = (n.store, l.code, '', n.language_code)
  where n.name <> ''
), candidate as materialized (
  select 'keyword_watch' as watch_table, unnest(array[k.id, o.id]) as watch_id
  from mixed m
  join keyword_watch k on k.store = m.store and coalesce(k.location_code, 0) = 0
    and coalesce(k.location_name, '') = m.name and k.language_code = m.language_code
  join keyword_watch o on o.project = k.project and o.store = k.store
    and subject_key(o.keyword) = subject_key(k.keyword) and coalesce(o.location_code, 0) = m.code
    and lower(coalesce(o.location_name, '') collate "C") = '' and o.language_code = k.language_code
  union all
  select 'chart_watch', id from chart_watch
  union all
  select 'app_watch', id from app_watch where info or reviews
)
select w.watch_table, w.watch_id, w.project, w.store, w.subject, 'followed_already' as problem,
  case w.kind when 'reviews' then 'Reviews: ' else '' end || format(case when w.kind in ('app', 'reviews')
      then '%s %s of this project follows the same already: set %s = false in one of the two.'
      else
        '%s %s of this project follows the same already, and this row changes nothing: delete one of the '
        'two.'
    end, w.watch_table, twin.watch_id, case w.kind when 'app' then 'info' else w.kind end) as message
from candidate i
join watch_part w using (watch_table, watch_id)
cross join lateral (
  select other.watch_id
  from target t
  join watch_period other on other.target_id = t.id
  where {{same_target w}}
    and other.kind = w.kind and other.project || '' = w.project
      and coalesce(other.ended_at, 'infinity') = 'infinity' and other.watch_id <> w.watch_id
  limit 1
) twin
where w.is_asked and w.function is not null and not exists (
  select from watch_period p where p.kind = w.kind and p.watch_id = w.watch_id and p.ended_at is null
);
