-- Everybody is one more app of each list, null, which weighs what the places of the measurement weigh together, less the holes.
create or replace function rank_worth(
  in_project text, from_day date, to_day date, in_curve text default 'reciprocal', in_tag text default null
) returns table (
  day date, store text, list text, target_id integer, app integer, rank integer, gap text, reason text, depth smallint, worth double precision
) language sql stable parallel safe
begin atomic
  select s.day, s.store, s.list, s.target_id, s.app, s.rank, s.gap, s.reason, s.depth,
    s.weight * case when s.app is not null then (select rank_weights(in_curve))[s.rank] when s.gap is null
      then (select rank_weight_totals(in_curve))[least(cardinality(s.app_ids), (select cardinality(rank_weights(in_curve))))]
        - case when 0 = any(s.app_ids) then (
            select coalesce(sum((select rank_weights(in_curve))[hole]), 0) from unnest(array_positions(s.app_ids, 0)) hole
          ) else 0 end
    end
  from (
    select d.day, d.store, d.list, d.target_id, a.app, d.weight, d.gap, d.reason, d.depth, d.app_ids,
      case when a.app = any(d.app_ids) then array_position(d.app_ids, a.app) end as rank
    from list_daily(in_project, from_day, to_day) d
    cross join lateral (
      select a.app from project_app_ids(in_project) a
      where case when a.store = d.store then d.slot < a.ended_at else false end
      union all select null
    ) a
    where in_tag is null or in_tag = any(d.tags)
    offset 0
  ) s;
end;
comment on function rank_worth(text, date, date, text, text) is
  'On each keyword and chart of a project on each day: the rank of each app of the project, and keyword weight × weight(rank); and a line without an app, of all places of the measurement together. The curve is one of rank_weight. With a tag, of what has it. Reads the partitions of the range alone.';
