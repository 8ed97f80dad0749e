-- One pass over the lists. What was due and measured is the same for all apps of a store that are ranked until the same time (a cohort), so
-- it is counted once for each list; an app has a line only where it is found: most apps are not in most lists. `any` says that they are
-- not at half the cost of array_position. The members are a lateral, so that they are joined to each list, and not all lists to each
-- member; and in `case`, which the planner takes for half of the rows. Other answers by app and day are columns here, or read from here.
create or replace function visibility(
  in_project text, from_day date, to_day date, in_curve text default 'reciprocal', in_tag text default null
) returns table (
  day date, store text, list text, app_id text, title text, label text, role text, visibility double precision, measured_share double precision,
  due integer, measured integer, ranked integer, top_1 integer, top_3 integer, top_10 integer, top_30 integer, top_100 integer,
  beyond integer, not_measured integer, best_rank integer, average_rank double precision, app integer
) language sql stable parallel safe
begin atomic
  with sums as materialized (
    select s.day, s.is_chart, s.member, count(*)::integer as lines, count(*) filter (where s.is_measured)::integer as measured,
      sum(s.weight) filter (where s.is_measured) * (select rank_weights(in_curve))[1] as most,
      sum(s.weight * (select rank_weights(in_curve))[s.rank]) as worth,
      count(*) filter (where s.rank = 1)::integer as top_1, count(*) filter (where s.rank <= 3)::integer as top_3,
      count(*) filter (where s.rank <= 10)::integer as top_10, count(*) filter (where s.rank <= 30)::integer as top_30,
      count(*) filter (where s.rank <= 100)::integer as top_100, min(s.rank) as best_rank,
      avg(s.rank)::double precision as average_rank
    from (
      select d.day, d.list = 'chart' as is_chart, d.weight, m.member,
        case when m.member > 0 then array_position(d.app_ids, m.member) end as rank,
        -- A list that could be read in part is measured for the apps that are found in it alone.
        case when m.member > 0 then d.reason is not null else d.gap is null and d.reason is null end as is_measured
      from list_daily(in_project, from_day, to_day) d
      cross join lateral (
        select c.member from project_cohorts(in_project) c
        where case when c.store <> d.store or d.slot >= c.ended_at then false when c.member < 0 then true
          else c.member = any(d.app_ids) end
        offset 0
      ) m
      where in_tag is null or in_tag = any(d.tags)
      offset 0
    ) s
    group by s.day, s.is_chart, s.member
  )
  select r.day, a.store, case when r.is_chart then 'chart' else 'keyword' end, a.app_id, a.title, a.label, a.role,
    100 * r.worth / nullif(r.most, 0), r.measured::double precision / r.due,
    r.due, r.measured, r.ranked, r.top_1, r.top_3, r.top_10, r.top_30, r.top_100, r.measured - r.top_100, r.due - r.measured,
    r.best_rank, r.average_rank, r.app
  from (
    select l.day, l.is_chart, c.app, coalesce(f.worth, 0) as worth, l.lines as due, l.measured + coalesce(f.measured, 0) as measured,
      case when f.most is null then l.most else coalesce(l.most, 0) + f.most end as most, coalesce(f.lines, 0) as ranked,
      coalesce(f.top_1, 0) as top_1, coalesce(f.top_3, 0) as top_3, coalesce(f.top_10, 0) as top_10, coalesce(f.top_30, 0) as top_30,
      coalesce(f.top_100, 0) as top_100, f.best_rank, f.average_rank
    from sums l
    join project_app_ids(in_project) c on c.cohort = l.member
    left join sums f on f.day = l.day and f.is_chart = l.is_chart and f.member = c.app
  ) r
  join project_apps(in_project) a on a.app = r.app;
end;
comment on function visibility(text, date, date, text, text) is
  'How well each app of a project is found, by day: visibility = Σ keyword weight × weight(rank) / Σ keyword weight × weight(1), in percent, over the keywords (and apart from them the charts) that were measured: 100 is first on each. Measured and not in the top counts 0; what was not measured counts not at all, and measured_share says how much was. The curve is one of rank_weight. Beside it how many keywords were due, measured, ranked, in the top 1, 3, 10, 30 and 100 (each with those above it), measured and beyond 100 or not in the top, and not measured. With a tag, over the keywords that have it.';

create or replace function rank_distribution(in_project text, from_day date, to_day date, in_tag text default null)
returns table (
  day date, store text, list text, app_id text, title text, label text, role text, top_1 integer, top_2_3 integer, top_4_10 integer,
  top_11_30 integer, top_31_100 integer, beyond integer, not_measured integer, app integer
) language sql stable parallel safe
begin atomic
  select v.day, v.store, v.list, v.app_id, v.title, v.label, v.role, v.top_1, v.top_3 - v.top_1, v.top_10 - v.top_3, v.top_30 - v.top_10,
    v.top_100 - v.top_30, v.beyond, v.not_measured, v.app
  from visibility(in_project, from_day, to_day, 'reciprocal', in_tag) v;
end;
comment on function rank_distribution(text, date, date, text) is
  'On how many keywords (and apart from them charts) each app of a project stands where, by day: ranks 1, 2 to 3, 4 to 10, 11 to 30, 31 to 100, beyond (measured, and beyond 100 or not in the top), and not measured. They add up to what was due. With a tag, over the keywords that have it.';
