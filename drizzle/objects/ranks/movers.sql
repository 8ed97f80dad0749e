-- Both days of a list are one row before the apps are looked up in them; each day has one row, which `max`
-- takes.
create or replace function movers(
  in_project text, from_day date, to_day date, in_tag text default null, in_location text default null
) returns table (
  store text, list text, keyword text, collection text, category text, location text, location_code integer,
  language text, tags text[], weight double precision, app_id text, title text, label text, role text,
  rank_before integer, rank_after integer, change integer, outcome_before text, outcome_after text,
  movement text, target_id integer, app integer, depth_before smallint, depth_after smallint
) language sql stable parallel safe
begin atomic
  with ends as (
    select d.target_id, d.store, max(d.slot) filter (where d.is_after) as slot,
      bool_or(not d.is_after) as was_due, bool_or(d.is_after) as is_due,
      max(d.app_ids) filter (where not d.is_after) as ids_before,
      max(d.app_ids) filter (where d.is_after) as ids_after,
      max(d.gap) filter (where not d.is_after) as gap_before,
      max(d.gap) filter (where d.is_after) as gap_after,
      max(d.reason) filter (where not d.is_after) as reason_before,
      max(d.reason) filter (where d.is_after) as reason_after,
      max(d.depth) filter (where not d.is_after) as depth_before,
      max(d.depth) filter (where d.is_after) as depth_after
    from (
      select b.*, false as is_after from list_daily(in_project, from_day, from_day) b
      union all
      select n.*, true from list_daily(in_project, to_day, to_day) n
    ) d
    where is_of(d.tags, d.location, in_tag, in_location)
    group by d.target_id, d.store
  )
  select l.store, l.list, l.keyword, l.collection, l.category, l.location, l.location_code, l.language,
    l.tags, l.weight, a.app_id, a.title, a.label, a.role, r.rank_before, r.rank_after, c.change,
    o.outcome_before, o.outcome_after,
    rank_movement(c.change, o.outcome_before, o.outcome_after),
    l.target_id, a.app, e.depth_before, e.depth_after
  from ends e
  join newest_lists(in_project) l on l.target_id = e.target_id
  join project_apps(in_project) a on a.store = e.store and e.slot < coalesce(a.ended_at, 'infinity')
  cross join lateral (
    select array_position(e.ids_before, a.app) as rank_before,
      array_position(e.ids_after, a.app) as rank_after
    offset 0
  ) r
  cross join lateral (
    select rank_outcome(r.rank_after, e.gap_after, e.reason_after) as outcome_after,
      case when e.was_due then rank_outcome(r.rank_before, e.gap_before, e.reason_before) end
        as outcome_before
  ) o
  cross join lateral (
    select rank_climb(
      r.rank_before, o.outcome_before, e.depth_before, r.rank_after, o.outcome_after, e.depth_after) as change
  ) c
  where e.is_due;
end;
comment on function movers is
  'The ranks of two days side by side: change is how many ranks an app climbed, negative when it fell; at '
  'least so many where one day did not find it in the top; null where either day was not measured, or was '
  'looked at to another depth that does not tell. movement: up, down, same; entered and left (what was '
  'looked at); not_in_top (on neither day); null where nothing can be said. A gap is never a move. With a '
  'tag or a location, what has it.';

create or replace function entered_left_top(
  in_project text, from_day date, to_day date, in_top integer default 10, in_tag text default null,
  in_location text default null
) returns table (
  store text, list text, keyword text, collection text, category text, location text, location_code integer,
  language text, tags text[], weight double precision, app_id text, title text, label text, role text,
  movement text, rank_before integer, rank_after integer, instead text[], target_id integer, app integer
) language sql stable parallel safe
begin atomic
  with top as (
    select d.target_id, d.day, d.app_ids[:in_top] as app_ids from list_daily(in_project, from_day, from_day) d
    union all
    select d.target_id, d.day, d.app_ids[:in_top] from list_daily(in_project, to_day, to_day) d
  )
  select m.store, m.list, m.keyword, m.collection, m.category, m.location, m.location_code, m.language,
    m.tags, m.weight, m.app_id, m.title, m.label, m.role, case when n.is_in then 'entered' else 'left' end,
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
comment on function entered_left_top is
  'Which apps of a project entered or left the top 10 (or another) of which keyword or chart between two '
  'days that were both measured. instead: who came into it where one left, the best first; who left it where '
  'one entered. With a tag or a location, on what has it.';
