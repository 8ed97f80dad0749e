--- Keywords and charts on which two own apps stand in the top 20 (or another) on one day: the better one on
--- the last such day first, on how many days both did, of how many that were measured, and how often they
--- changed places (turns). {{filter}}
create or replace function cannibalization({{days}}, in_top integer default 20, {{tagged}}) returns table (
  {{list}}, app_id text, title text, label text, rank integer, other_app_id text, other_title text,
  other_label text, other_rank integer, day date, days_both integer, days_measured integer, turns integer,
  target_id integer, app integer, other_app integer
) {{begin}}
  with own as (
    select * from project_apps(in_project) a where a.role = 'own'
  ), daily as (
    select d.target_id, d.day, a.app, b.app as other, r.rank, r.other_rank,
      coalesce(r.rank <= in_top and r.other_rank <= in_top, false) as is_both
    from list_daily(in_project, from_day, to_day) d
    join own a on a.store = d.store and d.slot < coalesce(a.ended_at, 'infinity')
    join own b on b.store = a.store and b.app > a.app and d.slot < coalesce(b.ended_at, 'infinity')
    cross join lateral (
      select array_position(d.app_ids, a.app) as rank, array_position(d.app_ids, b.app) as other_rank offset 0
    ) r
    where d.gap is null and is_of(d.tags, d.location, in_tag, in_location)
  ), pair as (
    select d.target_id, d.app, d.other, count(*)::integer as days_measured,
      (count(*) filter (where d.is_both))::integer as days_both,
      (count(*) filter (where d.is_both and d.was_ahead <> (d.rank < d.other_rank)))::integer as turns,
      max(d.day) filter (where d.is_both) as day,
      (max(array[d.day - date '2000-01-01', d.rank, d.other_rank]) filter (where d.is_both))[2:3] as ranks
    from (
      select d.*, lag(d.rank < d.other_rank) over (
        partition by d.target_id, d.app, d.other, d.is_both order by d.day
      ) as was_ahead
      from daily d
    ) d
    group by d.target_id, d.app, d.other
    having bool_or(d.is_both)
  )
  select {{list l}}, a.app_id, a.title, a.label, least(p.ranks[1], p.ranks[2]), b.app_id, b.title, b.label,
    greatest(p.ranks[1], p.ranks[2]), p.day, p.days_both, p.days_measured, p.turns, l.target_id, a.app, b.app
  from pair p
  join newest_lists(in_project) l on l.target_id = p.target_id
  join own a on a.app = case when p.ranks[1] < p.ranks[2] then p.app else p.other end
  join own b on b.app = case when p.ranks[1] < p.ranks[2] then p.other else p.app end;
end;
