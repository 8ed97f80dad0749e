--- The best rank of each app on each keyword and chart in a range of days, the first, the average of the days
--- on which it was ranked, and the latest, and on how many days it was ranked, measured and due. The average
--- is null where less than in_enough of the days due were measured (four fifths, unless said). change is
--- first against latest: ranks climbed, negative when it fell. With in_unit => 'week' or 'month', one line
--- for each, which begins says. First and latest are of measured days: null there is not in the top; so is a
--- null middle_rank, the median of the days that were measured. {{filter}}
create or replace function rank_summary(
  {{days}}, in_unit text default null, {{tagged}}, in_enough numeric default 0.8
) returns table (
  begins date, {{list}}, {{app}}, best_rank integer, best_day date, first_rank integer, first_day date,
  average_rank numeric, latest_rank integer, latest_outcome text, latest_day date, change integer,
  days_ranked integer, days_measured integer, days_due integer, middle_rank integer, target_id integer,
  app integer
) {{begin}}
  select g.begins, {{list l}}, {{app a}}, g.best[1], date '2000-01-01' + g.best[2], g.first[3],
    date '2000-01-01' + g.first[1],
    case when g.days_measured >= in_enough * g.days_due then g.average_rank end, g.latest[3],
      case when g.latest[3] is null then 'not_in_top' else 'ranked' end,
    date '2000-01-01' + g.latest[1], g.first[3] - g.latest[3], g.days_ranked, g.days_measured, g.days_due,
    nullif(g.middle_rank, 32767), g.target_id, g.app
  from (
    select r.begins, r.target_id, r.app,
      min(array[r.rank, r.number]) filter (where r.rank is not null) as best,
      min(array[r.number, 0, r.rank]) filter (where r.is_measured) as first,
      max(array[r.number, 0, r.rank]) filter (where r.is_measured) as latest,
      percentile_disc(0.5) within group (order by coalesce(r.rank, 32767)) filter (where r.is_measured)
        as middle_rank, avg(r.rank) as average_rank, count(r.rank)::integer as days_ranked,
      count(*) filter (where r.is_measured)::integer as days_measured, count(*)::integer as days_due
    from (
      select case when in_unit is null then from_day
        else date_trunc(in_unit, r.day::timestamp)::date end as begins, r.target_id, r.app, r.rank,
        r.outcome in ('ranked', 'not_in_top') as is_measured, r.day - date '2000-01-01' as number
      from rank_daily(in_project, from_day, to_day, in_tag, in_location) r where r.source is null
    ) r
    group by r.begins, r.target_id, r.app
  ) g
  join project_apps(in_project) a on a.app = g.app
  join newest_lists(in_project) l on l.target_id = g.target_id;
end;

--- Where an app of a project stands from 4 to 20 (or other ranks) at its latest measurement in a range of
--- days, and which way it goes since its first one there: up (also from not in the top), down or steady; null
--- when there is but one. {{filter}}
create or replace function striking_distance(
  {{days}}, in_best integer default 4, in_worst integer default 20, {{tagged}}
) returns table (
  {{list}}, {{app}}, rank integer, day date, rank_before integer, day_before date, change integer,
  direction text, target_id integer, app integer
) {{begin}}
  select {{list r}}, {{app r}}, r.latest_rank, r.latest_day, r.first_rank, r.first_day, r.change,
    case when r.first_day = r.latest_day then null when r.first_rank is null or r.change > 0 then 'up'
      when r.change < 0 then 'down' else 'steady' end, r.target_id, r.app
  from rank_summary(in_project, from_day, to_day, null, in_tag, in_location) r
  where r.latest_rank between in_best and in_worst;
end;
