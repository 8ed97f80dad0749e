create or replace function head_to_head_daily(in_project text, from_day date, to_day date)
returns table (
  day date, store text, list text, keyword text, collection text, category text, location text, location_code integer,
  language text, tags text[], weight double precision, own_app_id text, own_label text, competitor_app_id text, competitor_label text, own_rank integer,
  competitor_rank integer, leader text, target_id integer, own_app integer, competitor_app integer
) language sql stable parallel safe
begin atomic
  select o.day, o.store, o.list, o.keyword, o.collection, o.category, o.location, o.location_code, o.language, o.tags, o.weight, o.app_id, coalesce(o.label, o.title, o.app_id), c.app_id, coalesce(c.label, c.title, c.app_id), o.rank, c.rank,
    case when o.rank < c.rank or c.rank is null and o.rank is not null then 'own'
      when c.rank < o.rank or o.rank is null and c.rank is not null then 'competitor' end,
    o.target_id, o.app, c.app
  from rank_daily(in_project, from_day, to_day) o
  join rank_daily(in_project, from_day, to_day) c on c.target_id = o.target_id and c.day = o.day
  where o.role = 'own' and c.role = 'competitor'
    and o.outcome in ('ranked', 'not_in_top') and c.outcome in ('ranked', 'not_in_top');
end;
comment on function head_to_head_daily(text, date, date) is
  'Each own app of a project against each competitor, on each keyword and chart of their store, on each day that was measured: leader is own or competitor, whoever stands higher; what is not in the top stands below what is; null when neither is.';

create or replace function overtakes(in_project text, from_day date, to_day date)
returns table (
  day date, store text, list text, keyword text, collection text, category text, location text, location_code integer,
  language text, tags text[], weight double precision, own_app_id text, own_label text, competitor_app_id text, competitor_label text, overtaken_by text,
  own_rank integer, competitor_rank integer, day_before date, own_rank_before integer, competitor_rank_before integer,
  target_id integer, own_app integer, competitor_app integer
) language sql stable parallel safe
begin atomic
  select h.day, h.store, h.list, h.keyword, h.collection, h.category, h.location, h.location_code, h.language, h.tags, h.weight, h.own_app_id, h.own_label, h.competitor_app_id, h.competitor_label, h.leader, h.own_rank, h.competitor_rank,
    h.day_before, h.own_rank_before, h.competitor_rank_before, h.target_id, h.own_app, h.competitor_app
  from (
    select d.*, lag(d.leader) over w as leader_before, lag(d.day) over w as day_before, lag(d.own_rank) over w as own_rank_before,
      lag(d.competitor_rank) over w as competitor_rank_before
    from head_to_head_daily(in_project, from_day, to_day) d
    where d.leader is not null
    window w as (partition by d.target_id, d.own_app, d.competitor_app order by d.day)
  ) h
  where h.leader <> h.leader_before;
end;
comment on function overtakes(text, date, date) is
  'Who overtook whom on which keyword or chart, and on which day: a competitor an own app (overtaken_by competitor) or an own app a competitor (own). Of each two, one day on which either stood in the top is compared with the one before it.';

create or replace function head_to_head(in_project text, from_day date, to_day date)
returns table (
  store text, list text, keyword text, collection text, category text, location text, location_code integer,
  language text, tags text[], weight double precision, own_app_id text, own_label text, competitor_app_id text, competitor_label text, day date, own_rank integer,
  competitor_rank integer, leader text, days_ahead integer, days_behind integer, overtakes integer, last_overtake date,
  target_id integer, own_app integer, competitor_app integer
) language sql stable parallel safe
begin atomic
  select l.store, l.list, l.keyword, l.collection, l.category, l.location, l.location_code, l.language, l.tags, l.weight, o.app_id, coalesce(o.label, o.title, o.app_id), c.app_id, coalesce(c.label, c.title, c.app_id),
    date '2000-01-01' + g.latest[1], g.latest[3], g.latest[4], (array['own', 'competitor'])[g.latest[5]], g.days_ahead, g.days_behind,
    coalesce(v.overtakes, 0), v.last_overtake, g.target_id, g.own_app, g.competitor_app
  from (
    select d.target_id, d.own_app, d.competitor_app,
      max(array[d.day - date '2000-01-01', 0, d.own_rank, d.competitor_rank, array_position(array['own', 'competitor'], d.leader)])
        as latest,
      count(*) filter (where d.leader = 'own')::integer as days_ahead,
      count(*) filter (where d.leader = 'competitor')::integer as days_behind
    from head_to_head_daily(in_project, from_day, to_day) d
    group by 1, 2, 3
  ) g
  left join (
    select o.target_id, o.own_app, o.competitor_app, count(*)::integer as overtakes, max(o.day) as last_overtake
    from overtakes(in_project, from_day, to_day) o
    group by 1, 2, 3
  ) v on v.target_id = g.target_id and v.own_app = g.own_app and v.competitor_app = g.competitor_app
  join project_list l on l.project = in_project and l.target_id = g.target_id
  join project_app o on o.project = in_project and o.app = g.own_app
  join project_app c on c.project = in_project and c.app = g.competitor_app;
end;
comment on function head_to_head(text, date, date) is
  'Each own app of a project against each competitor, keyword by keyword: their ranks on the latest day of the range that was measured, who leads (own, competitor, or null when neither is in the top), on how many days which was ahead, how often one overtook the other, and when last.';
