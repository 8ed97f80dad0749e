-- What all apps of a capture weigh is the weight of its places together, less the holes.
create or replace function share_of_voice(
  in_project text, from_day date, to_day date, in_curve text default 'reciprocal', in_tag text default null
) returns table (
  day date, store text, list text, app_id text, title text, label text, role text, share double precision, measured_share double precision, app integer
) language sql stable parallel safe
begin atomic
  with place as (
    select w.rank as ranks, sum(w.weight) over (order by w.rank) as total
    from unnest((select rank_weights(in_curve))) with ordinality w (weight, rank)
  ), everybody as (
    select s.day, s.store, s.list,
      sum(s.weight * (coalesce(p.total, 0) - case when 0 = any(s.app_ids) then (
        select coalesce(sum((select rank_weights(in_curve))[hole]), 0) from unnest(array_positions(s.app_ids, 0)) hole
      ) else 0 end)) as total,
      count(s.captured_at)::double precision / count(*) as measured_share
    from list_daily(in_project, from_day, to_day) s
    left join place p on s.gap is null
      and p.ranks = least(cardinality(s.app_ids), (select max(ranks) from place))
    where in_tag is null or in_tag = any(s.tags)
    group by 1, 2, 3
  ), watched as (
    select r.day, r.store, r.list, r.app, sum(r.weight * (select rank_weights(in_curve))[r.rank]) as own
    from (
      select s.day, s.store, s.list, s.weight, a.app, array_position(s.app_ids, a.app) as rank
      from list_daily(in_project, from_day, to_day) s
      join project_app a on a.project = in_project
        and case when a.store = s.store then s.slot < coalesce(a.ended_at, 'infinity') else false end
      where s.gap is null and (in_tag is null or in_tag = any(s.tags))
      offset 0
    ) r
    group by 1, 2, 3, 4
  )
  select e.day, e.store, e.list, a.app_id, a.title, a.label, a.role, 100 * coalesce(w.own, 0) / nullif(e.total, 0), e.measured_share, w.app
  from everybody e
  join watched w using (day, store, list)
  join project_app a on a.project = in_project and a.app = w.app
  union all
  select e.day, e.store, e.list, null, null, null, 'rest', 100 * (e.total - coalesce((
      select sum(w.own) from watched w where w.day = e.day and w.store = e.store and w.list = e.list
    ), 0)) / nullif(e.total, 0), e.measured_share, null
  from everybody e;
end;
comment on function share_of_voice(text, date, date, text, text) is
  'Whose the places are, by day: Σ keyword weight × weight(rank) of an app, of the same sum over all apps of the same measurements, in percent. One line for each app of the project, own or competitor, and one with role rest for everybody else; they add up to 100 in each store, for keywords and apart from them for charts. measured_share says how much of what was due was measured. The curve is one of rank_weight. With a tag, over the keywords that have it.';
