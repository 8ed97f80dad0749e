--- By how many places the apps that two measurements have differ, on average.
create or replace function places_moved(in_ids integer[], ids_before integer[])
returns table (moved numeric) language sql immutable parallel safe
begin atomic
  select avg(abs(a.rank - b.rank))
  from unnest(in_ids) with ordinality a (app, rank)
  join unnest(ids_before) with ordinality b (app, rank) on b.app = a.app
  where a.app > 0;
end;

-- How far a list moved: an app that stands on both days counts its places, one that an own project follows
-- and that stands on one of them those to the first place that was not looked at.
--- What market_moves compares with the usual: by day, store and kind of list, how far all apps and the
--- watched ones moved since in_back days before.
create or replace function market_days(
  {{days}}, in_tag text, in_location text, in_back integer
) returns table (
  day date, store text, list text, due integer, compared integer, is_enough boolean, moved numeric,
  own_moved numeric, own_change numeric, competitors_change numeric
) {{begin}}
  with measured as (
    select d.day, d.store, d.list, d.target_id, d.slot, d.depth,
      case when d.gap is null and d.reason is null then d.app_ids end as app_ids
    from list_daily(in_project, from_day - in_back, to_day) d
    where is_of(d.tags, d.location, in_tag, in_location)
  ), pair as (
    select n.day, n.store, n.list, n.target_id, n.slot, least(n.depth, b.depth) as depth,
      n.app_ids[:least(n.depth, b.depth)] as app_ids, b.app_ids[:least(n.depth, b.depth)] as ids_before
    from measured n
    join measured b on b.target_id = n.target_id and b.day = n.day - in_back
    where n.day >= from_day
  ), everybody as (
    select p.day, p.store, p.list, count(*)::integer as due, count(m.moved)::integer as compared,
      avg(m.moved) as moved
    from pair p
    cross join lateral places_moved(p.app_ids, p.ids_before) m
    group by p.day, p.store, p.list
  ), watched as (
    select p.day, p.store, p.list, avg(abs(c.change)) filter (where a.role = 'own') as own_moved,
      avg(c.change) filter (where a.role = 'own') as own_change,
      avg(c.change) filter (where a.role = 'competitor') as competitors_change
    from pair p
    join project_apps(in_project) a on a.store = p.store and p.slot < coalesce(a.ended_at, 'infinity')
    cross join lateral (
      select coalesce(array_position(p.ids_before, a.app), p.depth + 1)
        - coalesce(array_position(p.app_ids, a.app), p.depth + 1) as change
      where a.app = any(p.ids_before) or a.app = any(p.app_ids)
    ) c
    group by p.day, p.store, p.list
  )
  select e.day, e.store, e.list, e.due, e.compared, e.compared >= 0.8 * e.due, e.moved, w.own_moved,
    w.own_change, w.competitors_change
  from everybody e left join watched w on w.day = e.day and w.store = e.store and w.list = e.list;
end;

--- How far everybody moved, by day, so that "the store changed" and "only we fell" are told apart: moved is
--- by how many places the apps of the lists differ from in_back days before, on average, watched or not, over
--- the compared lists that both days have measured, of due; usual the median of the in_usual days before it,
--- times the one by the other. own_moved and own_usual say the same of own apps, where not in the top counts
--- as the first place not looked at; own_change and competitors_change are places climbed. verdict: everybody
--- (moved is at least in_times the usual), own (not, but own apps moved in_times as far as usual and as
--- everybody), else nobody; null where less than four fifths can be compared, or no three days say what is
--- usual. {{filter}}
create or replace function market_moves(
  {{days}}, {{tagged}}, in_back integer default 1, in_usual integer default 14, in_times numeric default 2
) returns table (
  day date, store text, list text, due integer, compared integer, moved numeric, usual numeric, times numeric,
  own_moved numeric, own_usual numeric, own_change numeric, competitors_change numeric, verdict text
) {{begin}}
  with moves as (
    select * from market_days(in_project, from_day - in_usual, to_day, in_tag, in_location, in_back)
  )
  select m.day, m.store, m.list, m.due, m.compared, round(v.moved, 2), round(u.usual, 2),
    round(v.moved / nullif(u.usual, 0), 1), round(v.own_moved, 2), round(u.own_usual, 2),
    round(v.own_change, 2), round(v.competitors_change, 2),
    case when v.moved is null or u.days < least(3, in_usual) then null
      when v.moved >= in_times * u.usual then 'everybody'
      when v.own_moved >= in_times * greatest(u.own_usual, v.moved) then 'own' else 'nobody' end
  from moves m
  left join lateral (
    select m.moved, m.own_moved, m.own_change, m.competitors_change where m.is_enough
  ) v on true
  cross join lateral (
    select count(b.moved) as days,
      (percentile_cont(0.5) within group (order by b.moved::float8))::numeric as usual,
      (percentile_cont(0.5) within group (order by b.own_moved::float8))::numeric as own_usual
    from moves b
    where b.store = m.store and b.list = m.list and b.is_enough
      and b.day between m.day - in_usual and m.day - 1
  ) u
  where m.day >= from_day;
end;
