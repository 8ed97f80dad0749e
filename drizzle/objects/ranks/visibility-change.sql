-- Like for like: a list counts where both spans of days have measured it, by its mean over the days that
-- were, and places beyond the depth of either span count in neither. App 0 is everybody; a rank that is none
-- is 32767. `first` is apart from the curve, which else would be sorted with each row.
--- What visibility_change and visibility_movers add up: each app of a project (0: everybody) on each keyword
--- and chart that both spans of in_days days have measured, which end on the two days, with its middle rank,
--- to the depth of both, and what it weighs; and how many were due in both.
create or replace function compared_ranks(
  {{days}}, in_curve text, in_tag text, in_location text, in_days integer
) returns table (
  store text, list text, target_id integer, app integer, due bigint, depth integer, rank_before integer,
  rank_after integer, most double precision, worth_before double precision, worth_after double precision,
  everybody_before double precision, everybody_after double precision
) {{begin}}
  with curve as materialized (
    select w.*, w.weights[1] as first from rank_weights(in_curve) w
  ), span as (
    select b.*, false as is_after from list_daily(in_project, from_day - in_days + 1, from_day) b
    union all
    select n.*, true from list_daily(in_project, to_day - in_days + 1, to_day) n
  ), looked_at as (
    select s.*, s.app_ids[:s.common_depth] as places
    from (
      select s.*, min(s.depth) filter (where s.gap is null) over (partition by s.target_id) as common_depth
      from span s
      where is_of(s.tags, s.location, in_tag, in_location)
    ) s
  ), due as (
    select s.store, s.list, s.target_id, a.app, max(s.common_depth)::integer as depth,
      max(s.weight * c.first) as most, count(*) over (partition by s.store, s.list, a.app) as due,
      percentile_disc(0.5) within group (order by m.rank) filter (where not s.is_after) as rank_before,
      percentile_disc(0.5) within group (order by m.rank) filter (where s.is_after) as rank_after,
      avg(s.weight * m.worth) filter (where not s.is_after) as worth_before,
      avg(s.weight * m.worth) filter (where s.is_after) as worth_after
    from looked_at s
    cross join curve c
    join (
      select p.app, p.store, p.ended_at from project_app_ids(in_project) p
      union all
      select 0, o.store, 'infinity' from (values ('ios_store'), ('android_store')) o (store)
    ) a on a.store = s.store and s.slot < a.ended_at
    cross join lateral (select array_position(s.places, a.app) as rank offset 0) f
    left join lateral (
      select coalesce(f.rank, 32767) as rank, coalesce(c.weights[f.rank], 0) as worth
      where a.app > 0 and s.gap is null and (s.reason is null or f.rank is not null)
      union all
      select 1, places_worth(s.places, c.weights, c.totals) where a.app = 0 and s.gap is null
    ) m on true
    group by s.store, s.list, s.target_id, a.app
    having bool_or(not s.is_after) and bool_or(s.is_after)
  )
  select d.store, d.list, d.target_id, d.app, d.due, d.depth, nullif(d.rank_before, 32767),
    nullif(d.rank_after, 32767), d.most, d.worth_before, d.worth_after,
    max(d.worth_before) filter (where d.app = 0) over w, max(d.worth_after) filter (where d.app = 0) over w
  from due d
  where d.rank_before > 0 and d.rank_after > 0
  window w as (partition by d.target_id);
end;

--- How each app of a project is found on one day and on another, like for like: visibility, share of voice,
--- how many keywords in the top 10 (or in_top), and the average rank where it is ranked on either (not found
--- counts as the first rank that was not looked at), all over the keywords (and apart from them the charts)
--- that both days have measured; changes are in points. compared is how many these are, of due that were due
--- on both; with in_enough => 0.8 nothing is compared where that is less than four fifths. With in_days => 7,
--- the week up to from_day against the week up to to_day: each keyword by its mean over the days that were
--- measured, and its middle rank. One line has role rest, for everybody who is not watched. The curve is one
--- of rank_weight. {{filter}} visibility_movers says which keywords made the change.
create or replace function visibility_change(
  {{days}}, in_curve text default 'reciprocal', {{tagged}}, in_top integer default 10,
  in_days integer default 1, in_enough numeric default 0
) returns table (
  store text, list text, {{app}}, visibility_before numeric, visibility_after numeric, change numeric,
  share_before numeric, share_after numeric, share_change numeric, top_before integer, top_after integer,
  average_rank_before numeric, average_rank_after numeric, compared integer, due integer, app integer
) {{begin}}
  with sums as (
    select c.store, c.list, c.app, max(c.due)::integer as due, count(*)::integer as compared,
      sum(c.most) as most, sum(c.worth_before) as worth_before, sum(c.worth_after) as worth_after,
      sum(c.everybody_before) as everybody_before, sum(c.everybody_after) as everybody_after,
      count(*) filter (where c.rank_before <= in_top)::integer as top_before,
      count(*) filter (where c.rank_after <= in_top)::integer as top_after,
      avg(coalesce(c.rank_before, c.depth + 1)) filter (where c.is_ranked) as average_rank_before,
      avg(coalesce(c.rank_after, c.depth + 1)) filter (where c.is_ranked) as average_rank_after
    from (
      select c.*, coalesce(c.rank_before, c.rank_after) > 0 as is_ranked
      from compared_ranks(in_project, from_day, to_day, in_curve, in_tag, in_location, in_days) c
    ) c
    group by c.store, c.list, c.app
  ), owned as (
    select s.*, coalesce(sum(s.worth_before) filter (where s.app > 0) over w, 0) as owned_before,
      coalesce(sum(s.worth_after) filter (where s.app > 0) over w, 0) as owned_after
    from sums s
    window w as (partition by s.store, s.list)
  )
  select s.store, s.list, a.app_id, a.title, a.label, coalesce(a.role, 'rest'), v.visibility_before,
    v.visibility_after, v.visibility_after - v.visibility_before, v.share_before, v.share_after,
    v.share_after - v.share_before, v.top_before, v.top_after, v.average_rank_before, v.average_rank_after,
    s.compared, s.due, a.app
  from owned s
  left join project_apps(in_project) a on a.app = s.app
  left join lateral (
    select (100 * s.worth_before / nullif(s.most, 0))::numeric as visibility_before,
      (100 * s.worth_after / nullif(s.most, 0))::numeric as visibility_after,
      (100 * s.worth_before / nullif(s.everybody_before, 0))::numeric as share_before,
      (100 * s.worth_after / nullif(s.everybody_after, 0))::numeric as share_after, s.top_before, s.top_after,
      s.average_rank_before, s.average_rank_after
    where s.app > 0 and s.compared >= in_enough * s.due
    union all
    select null, null, (100 * (s.worth_before - s.owned_before) / nullif(s.worth_before, 0))::numeric,
      (100 * (s.worth_after - s.owned_after) / nullif(s.worth_after, 0))::numeric, null, null, null, null
    where s.app = 0 and s.compared >= in_enough * s.due
  ) v on true;
end;

--- The keywords and charts that made what visibility_change says: one line for each app on each that both
--- days have measured, with its rank on both (of several days the middle one) and its part of the change of
--- visibility and of share of voice, in points. The parts add up to the change. {{filter}}
create or replace function visibility_movers(
  {{days}}, in_curve text default 'reciprocal', {{tagged}}, in_days integer default 1
) returns table (
  {{list}}, {{app}}, rank_before integer, rank_after integer, points numeric, share_points numeric,
  target_id integer, app integer
) {{begin}}
  select {{list l}}, {{app a}}, c.rank_before, c.rank_after,
    (100 * (c.worth_after - c.worth_before) / nullif(sum(c.most) over w, 0))::numeric,
    (100 * (c.worth_after / nullif(sum(c.everybody_after) over w, 0)
      - c.worth_before / nullif(sum(c.everybody_before) over w, 0)))::numeric,
    c.target_id, a.app
  from compared_ranks(in_project, from_day, to_day, in_curve, in_tag, in_location, in_days) c
  join newest_lists(in_project) l on l.target_id = c.target_id
  join project_apps(in_project) a on a.app = c.app
  window w as (partition by c.app, c.list);
end;

--- The best and the worst day of each app by visibility, and the day on which it moved most, in points like
--- for like: days of which less than four fifths were measured are none of these. {{filter}}
create or replace function extreme_days({{days}}, {{tagged}}) returns table (
  store text, list text, {{app}}, best_day date, best numeric, worst_day date, worst numeric,
  moved_most_on date, moved_by numeric, app integer
) {{begin}}
  select v.store, v.list, {{app v}}, (array_agg(v.day order by v.visibility desc, v.day))[1],
    max(v.visibility), (array_agg(v.day order by v.visibility, v.day))[1], min(v.visibility),
    (array_agg(v.day order by abs(c.change) desc nulls last, v.day) filter (where c.change is not null))[1],
    (array_agg(c.change order by abs(c.change) desc nulls last, v.day))[1], v.app
  from visibility(in_project, from_day, to_day, in_tag => in_tag, in_location => in_location) v
  left join (
    select d.day::date as day, m.app, m.list, m.change
    from generate_series(from_day + 1, to_day, interval '1 day') d (day)
    cross join lateral visibility_change(in_project, d.day::date - 1, d.day::date, in_tag => in_tag,
      in_location => in_location, in_enough => 0.8) m
  ) c on c.day = v.day and c.app = v.app and c.list = v.list
  where v.visibility is not null
  group by v.store, v.list, {{app v}}, v.app;
end;
