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

create or replace function share_of_voice(
  in_project text, from_day date, to_day date, in_curve text default 'reciprocal', in_tag text default null
) returns table (
  day date, store text, list text, app_id text, title text, label text, role text, share double precision, measured_share double precision, app integer
) language sql stable parallel safe
begin atomic
  select v.day, v.store, v.list, a.app_id, a.title, a.label, coalesce(a.role, 'rest'), 100 * case when v.app is null then v.total - v.watched else v.worth end / nullif(v.total, 0),
    v.measured_share, v.app
  from (
    select g.*, sum(g.worth) filter (where g.app is null) over w as total,
      coalesce(sum(g.worth) filter (where g.app is not null) over w, 0) as watched
    from (
      select s.day, s.store, s.list, s.app, coalesce(sum(s.worth), 0) as worth,
        avg((s.gap is null)::integer)::double precision as measured_share
      from rank_worth(in_project, from_day, to_day, in_curve, in_tag) s
      group by s.day, s.store, s.list, s.app
    ) g
    window w as (partition by g.day, g.store, g.list)
  ) v
  left join project_apps(in_project) a on a.app = v.app;
end;
comment on function share_of_voice(text, date, date, text, text) is
  'Whose the places are, by day: Σ keyword weight × weight(rank) of an app, of the same sum over all apps of the same measurements, in percent. One line for each app of the project, own or competitor, and one with role rest for everybody else; they add up to 100 in each store, for keywords and apart from them for charts. measured_share says how much of what was due was measured. The curve is one of rank_weight. With a tag, over the keywords that have it.';
