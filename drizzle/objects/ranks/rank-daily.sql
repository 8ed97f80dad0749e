--- The rank of every app of a project on every keyword and chart on each day of the project, from its last
--- measurement of the day; outcome and reason as in rank_history; with a tag or a location, what has it. A
--- day that has neither has the rank that another tool gave (source), as imported. Reads the partitions of
--- the range alone.
create or replace function rank_daily({{days}}, {{tagged}}) returns table (
  day date, {{list}}, {{app}}, rank integer, absolute_rank integer, outcome text, reason text, depth smallint,
  results_count bigint, slot timestamptz, captured_at timestamptz, check_url text, target_id integer,
  app integer, source text
) {{begin}}
  select s.day, {{list s}}, {{app a}}, found.rank, coalesce(s.absolute[found.rank], found.rank)::integer,
    rank_outcome(found.rank, s.gap, s.reason), s.reason, s.depth, s.results_count, s.slot, s.captured_at,
    s.check_url, s.target_id, a.app, null
  from list_daily(in_project, from_day, to_day) s
  join project_apps(in_project) a
    on case when a.store = s.store then s.slot < coalesce(a.ended_at, 'infinity') else false end
  cross join lateral (select array_position(s.app_ids, a.app) as rank offset 0) found
  where is_of(s.tags, s.location, in_tag, in_location)
  union all
  select i.day, i.store, 'keyword', i.keyword, null, null, i.location, i.location_code, i.language, i.tags,
    i.weight, {{app i}}, i.rank, null, 'imported', null, null, null, i.slot, null, null, i.target_id, i.app,
    i.source
  from (
    select distinct on (h.target_id, h.app, h.day) h.* from imported_history h
    where h.project = in_project and h.day between from_day and to_day
    order by h.target_id, h.app, h.day, h.source
  ) i
  where is_of(i.tags, i.location, in_tag, in_location) and not exists (
    select from ranking_row r
    where r.target_id = i.target_id and r.slot >= i.slot and r.slot < i.slot + interval '24 hours'
  );
end;
