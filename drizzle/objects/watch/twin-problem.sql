create or replace view twin_problem as
select w.watch_table, w.watch_id, w.project, w.store, w.subject, 'followed_already' as problem,
  case w.kind when 'reviews' then 'Reviews: ' else '' end || format(case when w.kind in ('app', 'reviews')
      then '%s %s of this project follows the same already: set %s = false in one of the two.'
      else
        '%s %s of this project follows the same already, and this row changes nothing: delete one of the '
        'two.'
    end, w.watch_table, twin.watch_id, case w.kind when 'app' then 'info' else w.kind end) as message
from watch_part w
cross join lateral (
  select other.watch_id
  from target t
  join watch_period other on other.target_id = t.id
  where t.store = w.store and t.function = w.function and subject_key(t.subject) collate "C"
    = subject_key(w.subject)
    and coalesce(t.category, '') = coalesce(w.category, '')
    and t.location_code = w.location_code and t.language_code = w.language_code
    and other.kind = w.kind and other.project || '' = w.project
      and coalesce(other.ended_at, 'infinity') = 'infinity' and other.watch_id <> w.watch_id
  limit 1
) twin
where w.is_asked and w.function is not null and not exists (
  select from watch_period p where p.kind = w.kind and p.watch_id = w.watch_id and p.ended_at is null
);
comment on view twin_problem is
  'Watches that another one of their project keeps from being followed: part of watch_problem. It looks '
  'through all watches.';
comment on column twin_problem.problem is 'followed_already.';
