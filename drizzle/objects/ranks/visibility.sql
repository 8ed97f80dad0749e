-- One pass over the lists. What was due and measured is the same for all apps of a store that are ranked
-- until the same time (a cohort), so it is counted once for each list; an app has a line only where it is
-- found, and `any` says that it is not at half the cost of array_position. The members are a lateral, so that
-- they are joined to each list, and in `case`, which the planner takes for half of the rows.
--- What standings divides: by day, store and kind of list, for each app of a project that is found, for each
--- cohort of project_cohorts, and for everybody (0), how many lists, and what they weigh.
create or replace function standing_sums(
  {{days}}, in_curve text, in_tag text, in_location text
) returns table (
  day date, store text, is_chart boolean, member integer, lines integer, measured integer,
  most double precision, worth double precision, everybody double precision, bands integer[],
  best_rank integer, average_rank numeric
) {{begin}}
  with curve as (select * from rank_weights(in_curve))
  select s.day, s.store, s.is_chart, s.member, count(*)::integer,
    count(*) filter (where s.is_measured)::integer,
    sum(s.weight) filter (where s.is_measured) * (select weights[1] from curve),
    sum(s.weight * (select weights from curve)[s.rank]), sum(s.weight * s.everybody),
    array[count(*) filter (where s.rank = 1), count(*) filter (where s.rank between 2 and 3),
      count(*) filter (where s.rank between 4 and 10), count(*) filter (where s.rank between 11 and 30),
      count(*) filter (where s.rank between 31 and 100)]::integer[], min(s.rank), avg(s.rank)
  from (
    select d.day, d.store, d.list = 'chart' as is_chart, d.weight, m.member,
      case when m.member > 0 then array_position(d.app_ids, m.member) end as rank,
      case when m.member = 0 then places_worth(d.app_ids, c.weights, c.totals) end as everybody,
      -- A list that could be read in part is measured for the apps that are found in it alone.
      d.gap is null and (m.member > 0) = (d.reason is not null) as is_measured
    from list_daily(in_project, from_day, to_day) d
    cross join curve c
    cross join lateral (
      select c.member from project_cohorts(in_project) c
      where case when c.store <> d.store or d.slot >= c.ended_at then false when c.member <= 0 then true
        else c.member = any(d.app_ids) end
    ) m
    where is_of(d.tags, d.location, in_tag, in_location)
    offset 0
  ) s
  group by s.day, s.store, s.is_chart, s.member;
end;

--- What visibility, share_of_voice and rank_distribution select from: one line for each app of a project by
--- day, store and kind of list, and one with role rest for everybody else. visibility and share are null
--- where less than in_enough of what was due was measured; the counts are of what was.
create or replace function standings(
  {{days}}, in_curve text default 'reciprocal', {{tagged}}, in_enough numeric default 0.8
) returns table (
  day date, store text, list text, {{app}}, is_enough boolean, visibility numeric, share numeric,
  measured_share numeric, due integer, measured integer, ranked integer, top_1 integer, top_2_3 integer,
  top_4_10 integer, top_11_30 integer, top_31_100 integer, beyond integer, not_measured integer,
  best_rank integer, average_rank numeric, app integer
) {{begin}}
  with sums as (select * from standing_sums(in_project, from_day, to_day, in_curve, in_tag, in_location)),
  standing as (
    select l.day, l.store, l.is_chart, c.app, l.lines as due,
      l.measured + coalesce(f.measured, 0) as measured, coalesce(l.most, 0) + coalesce(f.most, 0) as most,
      coalesce(f.worth, 0) as worth, max(l.everybody) over w as everybody,
      coalesce(sum(f.worth) over w, 0) as watched, coalesce(f.lines, 0) as ranked,
      coalesce(f.bands, array[0, 0, 0, 0, 0]) as bands, f.best_rank, f.average_rank
    from sums l
    join (
      select a.app, a.cohort from project_app_ids(in_project) a union all select 0, 0
    ) c on c.cohort = l.member
    left join sums f on f.day = l.day and f.is_chart = l.is_chart and f.member = c.app and c.app > 0
    window w as (partition by l.day, l.store, l.is_chart)
  )
  select s.day, s.store, case when s.is_chart then 'chart' else 'keyword' end, a.app_id, a.title, a.label,
    coalesce(a.role, 'rest'), e.is_enough,
    case when e.is_enough and s.app > 0 then (100 * s.worth / nullif(s.most, 0))::numeric end,
    case when e.is_enough then (100 * case s.app when 0 then s.everybody - s.watched else s.worth end
      / nullif(s.everybody, 0))::numeric end,
    trim_scale(round(s.measured::numeric / s.due, 4)), s.due, s.measured, s.ranked, s.bands[1], s.bands[2],
    s.bands[3], s.bands[4], s.bands[5],
    s.measured - s.bands[1] - s.bands[2] - s.bands[3] - s.bands[4] - s.bands[5], s.due - s.measured,
    s.best_rank, s.average_rank, nullif(s.app, 0)
  from standing s
  cross join lateral (select s.measured >= in_enough * s.due as is_enough) e
  left join project_apps(in_project) a on a.app = s.app;
end;

--- How well each app of a project is found, by day: visibility = Σ keyword weight × weight(rank) / Σ
--- keyword weight × weight(1), in percent, over the keywords (and apart from them the charts) that were
--- measured: 100 is first on each. Measured and not in the top counts 0; what was not measured counts not
--- at all. The curve is one of rank_weight. Beside it how many keywords were due, measured, ranked, in the
--- top 1, 3, 10, 30 and 100 (each with those above it), measured and beyond 100 or not in the top, and not
--- measured. Where less than in_enough of the day was measured (four fifths, unless said), all but what was
--- measured is null: such a day is no worst and no best. {{filter}} To compare days ask visibility_change.
create or replace function visibility(
  {{days}}, in_curve text default 'reciprocal', {{tagged}}, in_enough numeric default 0.8
) returns table (
  day date, store text, list text, {{app}}, visibility numeric, measured_share numeric, due integer,
  measured integer, ranked integer, top_1 integer, top_3 integer, top_10 integer, top_30 integer,
  top_100 integer, beyond integer, not_measured integer, best_rank integer, average_rank numeric, app integer
) {{begin}}
  select s.day, s.store, s.list, {{app s}}, s.visibility, s.measured_share, s.due, s.measured, e.ranked,
    e.top_1, e.top_3, e.top_3 + e.top_4_10, e.top_3 + e.top_4_10 + e.top_11_30,
    e.top_3 + e.top_4_10 + e.top_11_30 + e.top_31_100, e.beyond, s.not_measured, e.best_rank, e.average_rank,
    s.app
  from standings(in_project, from_day, to_day, in_curve, in_tag, in_location, in_enough) s
  left join lateral (
    select s.ranked, s.top_1, s.top_1 + s.top_2_3 as top_3, s.top_4_10, s.top_11_30, s.top_31_100, s.beyond,
      s.best_rank, s.average_rank
    where s.is_enough
  ) e on true
  where s.app is not null;
end;

--- Whose the places are, by day: Σ keyword weight × weight(rank) of an app, of the same sum over all apps
--- of the same measurements, in percent. One line for each app of the project, own or competitor, and one
--- with role rest for everybody else; they add up to 100 in each store, for keywords and apart from them
--- for charts. measured_share says how much of what was due was measured; share is null where that is less
--- than in_enough (four fifths, unless said). The curve is one of rank_weight. {{filter}} To compare days
--- ask visibility_change.
create or replace function share_of_voice(
  {{days}}, in_curve text default 'reciprocal', {{tagged}}, in_enough numeric default 0.8
) returns table (
  day date, store text, list text, {{app}}, share numeric, measured_share numeric, app integer
) {{begin}}
  select s.day, s.store, s.list, {{app s}}, s.share, s.measured_share, s.app
  from standings(in_project, from_day, to_day, in_curve, in_tag, in_location, in_enough) s;
end;

-- Of `in_unit` one of the two halves is left: it is a constant where the function is inlined.
--- On how many keywords (and apart from them charts) each app of a project stands where, by day: ranks 1, 2
--- to 3, 4 to 10, 11 to 30, 31 to 100, beyond (measured, and beyond 100 or not in the top), and not measured.
--- They add up to what was due. With in_unit => 'week' or 'month', by the middle rank of each over the days
--- that were measured, where day is the first one of each. {{filter}}
create or replace function rank_distribution({{days}}, {{tagged}}, in_unit text default null) returns table (
  day date, store text, list text, {{app}}, top_1 integer, top_2_3 integer, top_4_10 integer,
  top_11_30 integer, top_31_100 integer, beyond integer, not_measured integer, app integer
) {{begin}}
  select s.day, s.store, s.list, {{app s}}, s.top_1, s.top_2_3, s.top_4_10, s.top_11_30, s.top_31_100,
    s.beyond, s.not_measured, s.app
  from standings(in_project, from_day, to_day, in_tag => in_tag, in_location => in_location) s
  where in_unit is null and s.app is not null
  union all
  select r.begins, r.store, r.list, {{app r}}, count(*) filter (where r.middle_rank = 1)::integer,
    count(*) filter (where r.middle_rank between 2 and 3)::integer,
    count(*) filter (where r.middle_rank between 4 and 10)::integer,
    count(*) filter (where r.middle_rank between 11 and 30)::integer,
    count(*) filter (where r.middle_rank between 31 and 100)::integer,
    count(*) filter (where r.days_measured > 0 and coalesce(r.middle_rank, 101) > 100)::integer,
    count(*) filter (where r.days_measured = 0)::integer, r.app
  from rank_summary(in_project, from_day, to_day, in_unit, in_tag, in_location) r
  where in_unit is not null
  group by r.begins, r.store, r.list, {{app r}}, r.app;
end;
