--- Each own app of a project against each competitor, on each keyword and chart of their store, on each day
--- that was measured: leader is own or competitor, whoever stands higher; what is not in the top stands below
--- what is; null when neither is. {{filter}}
create or replace function head_to_head_daily({{days}}, {{tagged}}) returns table (
  day date, {{list}}, {{pair}}, own_rank integer, competitor_rank integer, leader text, target_id integer,
  own_app integer, competitor_app integer
) {{begin}}
  select d.day, {{list d}}, {{called o}}, {{called c}}, mine.rank, theirs.rank,
    case when mine.rank < theirs.rank or theirs.rank is null and mine.rank is not null then 'own'
      when theirs.rank < mine.rank or mine.rank is null and theirs.rank is not null then 'competitor' end,
    d.target_id, o.app, c.app
  from list_daily(in_project, from_day, to_day) d
  cross join lateral (
    select * from project_apps(in_project) a where a.store = d.store and a.role = 'own'
  ) o
  cross join lateral (select array_position(d.app_ids, o.app) as rank offset 0) mine
  cross join lateral (
    select * from project_apps(in_project) a where a.store = d.store and a.role = 'competitor'
  ) c
  cross join lateral (select array_position(d.app_ids, c.app) as rank offset 0) theirs
  where d.gap is null and d.slot < coalesce(o.ended_at, 'infinity')
    and d.slot < coalesce(c.ended_at, 'infinity')
    and (d.reason is null or mine.rank is not null and theirs.rank is not null)
    and is_of(d.tags, d.location, in_tag, in_location);
end;

-- Ids alone while it is sorted; names are looked up for what is left.
--- Who overtook whom on which keyword or chart, and on which day: a competitor an own app (overtaken_by
--- competitor) or an own app a competitor (own). Of each two, one day on which either stood in the top is
--- compared with the one before it. {{filter}}
create or replace function overtakes({{days}}, {{tagged}}) returns table (
  day date, {{list}}, {{pair}}, overtaken_by text, own_rank integer, competitor_rank integer,
  day_before date, own_rank_before integer, competitor_rank_before integer, target_id integer,
  own_app integer, competitor_app integer
) {{begin}}
  select h.day, {{list l}}, {{called o}}, {{called c}}, h.leader, h.own_rank, h.competitor_rank, h.day_before,
    h.own_rank_before, h.competitor_rank_before, h.target_id, h.own_app, h.competitor_app
  from (
    select d.target_id, d.own_app, d.competitor_app, d.day, d.leader, d.own_rank, d.competitor_rank,
      lag(d.leader) over w as leader_before, lag(d.day) over w as day_before,
      lag(d.own_rank) over w as own_rank_before, lag(d.competitor_rank) over w as competitor_rank_before
    from head_to_head_daily(in_project, from_day, to_day, in_tag, in_location) d
    where d.leader is not null
    window w as (partition by d.target_id, d.own_app, d.competitor_app order by d.day)
  ) h
  join newest_lists(in_project) l on l.target_id = h.target_id
  join project_apps(in_project) o on o.app = h.own_app
  join project_apps(in_project) c on c.app = h.competitor_app
  where h.leader <> h.leader_before;
end;

--- Each own app of a project against each competitor, keyword by keyword: their ranks on the latest day of
--- the range that was measured, who leads (own, competitor, or null when neither is in the top), on how many
--- days which was ahead, how often one overtook the other, and when last. {{filter}}
create or replace function head_to_head({{days}}, {{tagged}}) returns table (
  {{list}}, {{pair}}, day date, own_rank integer, competitor_rank integer, leader text, days_ahead integer,
  days_behind integer, overtakes integer, last_overtake date, target_id integer, own_app integer,
  competitor_app integer
) {{begin}}
  with daily as (
    select d.target_id, d.own_app, d.competitor_app, d.day, d.own_rank, d.competitor_rank, d.leader,
      lag(d.leader) over w as leader_before
    from head_to_head_daily(in_project, from_day, to_day, in_tag, in_location) d
    -- Days on which neither is in the top stand behind the others: nobody has overtaken anybody on them.
    window w as (partition by d.target_id, d.own_app, d.competitor_app order by d.leader is null, d.day)
  ), pair as (
    select d.target_id, d.own_app, d.competitor_app, max(d.day) as day,
      (array_agg(d.leader order by d.day desc))[1] as leader,
      max(array[d.day - date '2000-01-01', d.own_rank, d.competitor_rank]) as ranks,
      count(*) filter (where d.leader = 'own')::integer as days_ahead,
      count(*) filter (where d.leader = 'competitor')::integer as days_behind,
      count(*) filter (where d.leader <> d.leader_before)::integer as overtakes,
      max(d.day) filter (where d.leader <> d.leader_before) as last_overtake
    from daily d
    group by d.target_id, d.own_app, d.competitor_app
  )
  select {{list l}}, {{called o}}, {{called c}}, p.day, p.ranks[2], p.ranks[3], p.leader, p.days_ahead,
    p.days_behind, p.overtakes, p.last_overtake, p.target_id, p.own_app, p.competitor_app
  from pair p
  join newest_lists(in_project) l on l.target_id = p.target_id
  join project_apps(in_project) o on o.app = p.own_app
  join project_apps(in_project) c on c.app = p.competitor_app;
end;
