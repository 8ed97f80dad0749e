-- The number of the day stands before the apps, so that `min` and `max` take the first and the last day.
--- The first and the last measurement of each keyword and chart of a project in a range of days, as apps by
--- rank. {{filter}}
create or replace function list_ends({{days}}, {{tagged}}) returns table (
  {{list}}, target_id integer, first_day date, last_day date, first_ids integer[], last_ids integer[]
) {{begin}}
  select {{list e}}, e.target_id, date '2000-01-01' + e.first[1], date '2000-01-01' + e.last[1], e.first[2:],
    e.last[2:]
  from (
    select {{list d}}, d.target_id, min(array_prepend(d.day - date '2000-01-01', d.app_ids)) as first,
      max(array_prepend(d.day - date '2000-01-01', d.app_ids)) as last
    from list_daily(in_project, from_day, to_day) d
    where d.gap is null and is_of(d.tags, d.location, in_tag, in_location)
    group by {{list d}}, d.target_id
  ) e;
end;

--- Who holds the top 10 (or another) of each keyword and chart at its last measurement in a range of days,
--- watched or not, and who is new there since the first one: rank_before is the rank then, null when it was
--- not among those looked at. role is null for an app that the project does not watch. {{filter}}
create or replace function top_holders({{days}}, in_top integer default 10, {{tagged}}) returns table (
  {{list}}, rank integer, app_id text, title text, developer text, role text, rank_before integer,
  is_new boolean, day date, day_before date, target_id integer, app integer
) {{begin}}
  select {{list e}}, h.rank::integer, n.app_id, n.title, n.developer, a.role,
    array_position(e.first_ids, h.app), coalesce(array_position(e.first_ids, h.app) > in_top, true),
    e.last_day, e.first_day, e.target_id, h.app
  from list_ends(in_project, from_day, to_day, in_tag, in_location) e
  cross join lateral unnest(e.last_ids[:in_top]) with ordinality h (app, rank)
  join app_name n on n.app = h.app
  left join project_apps(in_project) a on a.app = h.app and a.ended_at is null;
end;

--- The apps that a project does not watch and that hold a place in the top 10 (or another) of its keywords
--- (and apart from them of its charts), at the last measurement of each in a range of days: on how many, of
--- how many that were measured, in percent; on how many of these at the first measurement; and three keywords
--- on which they stand best. {{filter}}
create or replace function unwatched_apps({{days}}, in_top integer default 10, {{tagged}}) returns table (
  store text, list text, app_id text, title text, developer text, lists integer, lists_measured integer,
  share numeric, best_rank integer, average_rank numeric, lists_before integer, keywords text[], app integer
) {{begin}}
  select h.store, h.list, n.app_id, n.title, n.developer, h.lists, m.lists, 100.0 * h.lists / m.lists,
    h.best_rank, h.average_rank, h.lists_before, h.keywords, h.app
  from (
    select e.store, e.list, h.app, count(*)::integer as lists, min(h.rank)::integer as best_rank,
      avg(h.rank) as average_rank,
      count(*) filter (where h.app = any(e.first_ids[:in_top]))::integer as lists_before,
      (array_agg(e.keyword order by h.rank, e.keyword))[:3] as keywords
    from list_ends(in_project, from_day, to_day, in_tag, in_location) e
    cross join lateral unnest(e.last_ids[:in_top]) with ordinality h (app, rank)
    group by 1, 2, 3
  ) h
  join (
    select e.store, e.list, count(*)::integer as lists
    from list_ends(in_project, from_day, to_day, in_tag, in_location) e
    group by 1, 2
  ) m on m.store = h.store and m.list = h.list
  join app_name n on n.app = h.app
  where not exists (select from project_apps(in_project) a where a.app = h.app and a.ended_at is null);
end;
