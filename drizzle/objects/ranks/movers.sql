--- The ranks of two days side by side: change is how many ranks an app climbed, negative when it fell; at
--- least so many where one day did not find it in the top; null where either day was not measured, or was
--- looked at to another depth that does not tell. movement: up, down, same; entered and left (what was looked
--- at); not_in_top (on neither day); null where nothing can be said. A gap is never a move. {{filter}}
create or replace function movers({{days}}, {{tagged}}) returns table (
  {{list}}, {{app}}, rank_before integer, rank_after integer, change integer, outcome_before text,
  outcome_after text, movement text, target_id integer, app integer, depth_before smallint,
  depth_after smallint
) {{begin}}
  with before as materialized (
    select * from list_daily(in_project, from_day, from_day) d
    where is_of(d.tags, d.location, in_tag, in_location)
  ), after as materialized (
    select * from list_daily(in_project, to_day, to_day) d
    where is_of(d.tags, d.location, in_tag, in_location)
  )
  select {{list l}}, {{app a}}, r.rank_before, r.rank_after, c.change, o.outcome_before, o.outcome_after,
    rank_movement(c.change, o.outcome_before, o.outcome_after), l.target_id, a.app, b.depth, n.depth
  from after n
  left join before b on b.target_id = n.target_id
  join newest_lists(in_project) l on l.target_id = n.target_id
  join project_apps(in_project) a on a.store = n.store and n.slot < coalesce(a.ended_at, 'infinity')
  cross join lateral (
    select array_position(b.app_ids, a.app) as rank_before, array_position(n.app_ids, a.app) as rank_after
    offset 0
  ) r
  cross join lateral (
    select rank_outcome(r.rank_after, n.gap, n.reason) as outcome_after,
      case when b.target_id > 0 then rank_outcome(r.rank_before, b.gap, b.reason) end as outcome_before
  ) o
  cross join lateral (
    select rank_climb(r.rank_before, o.outcome_before, b.depth, r.rank_after, o.outcome_after, n.depth)
      as change
  ) c;
end;

--- Which apps of a project entered or left the top 10 (or another) of which keyword or chart between two days
--- that were both measured. instead: who came into it where one left, the best first; who left it where one
--- entered. {{filter}}
create or replace function entered_left_top({{days}}, in_top integer default 10, {{tagged}}) returns table (
  {{list}}, {{app}}, movement text, rank_before integer, rank_after integer, instead text[],
  target_id integer, app integer
) {{begin}}
  with top as (
    select d.target_id, d.day, d.app_ids[:in_top] as app_ids from list_daily(in_project, from_day, from_day) d
    union all
    select d.target_id, d.day, d.app_ids[:in_top] from list_daily(in_project, to_day, to_day) d
  )
  select {{list m}}, {{app m}}, case when n.is_in then 'entered' else 'left' end,
    m.rank_before, m.rank_after, array(
      select coalesce(p.label, w.title, w.app_id) from top h
      cross join unnest(h.app_ids) with ordinality o (app, rank)
      join top b on b.target_id = h.target_id and b.day <> h.day and o.app <> all(b.app_ids)
      join app_name w on w.app = o.app
      left join project_apps(in_project) p on p.app = o.app
      where h.target_id = m.target_id and h.day = case when n.is_in then from_day else to_day end
      order by o.rank
    ), m.target_id, m.app
  from movers(in_project, from_day, to_day, in_tag, in_location) m
  cross join lateral (
    select coalesce(m.rank_before <= in_top, false) as was_in,
      coalesce(m.rank_after <= in_top, false) as is_in
  ) n
  where m.movement is not null and n.was_in <> n.is_in;
end;
