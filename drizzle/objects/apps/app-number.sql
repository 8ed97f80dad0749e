--- What searches and charts said of every app that they showed, watched or not: a row for each app, place and
--- day of UTC on which a number changed; what is null is as before in the month, which begins anew with the
--- first. app_numbers_daily fills it in.
create or replace view app_number as
select n.day, a.store, a.app_id, a.title, n.location_code, e.votes,
  (e.rating / 100.0)::numeric(3, 2) as rating, (e.price_micros / 1e6)::numeric(14, 2) as price,
  n.currency, n.id as written, a.id as app
from app_numbers n
cross join lateral unnest(n.apps, n.votes, n.ratings, n.price_micros) e (place, votes, rating, price_micros)
join app a on a.id = n.block * 32768 + e.place;

-- Each month by itself; the one before, for what a place has not measured yet in the month of in_from.
--- The numbers of apps in places as they were at each change up to a day, from the month before in_from on:
--- what stays as it was is filled in.
create or replace function numbers_until(in_from date, in_to date, in_locations integer[], in_apps integer[])
returns table (
  app integer, location_code integer, day date, votes integer, rating numeric, price numeric, currency text
) {{begin}}
  select w.app, w.location_code, w.day,
    (max(array[w.at, w.votes]) filter (where w.votes is not null) over so_far)[2],
    (max(array[w.at, w.rating]) filter (where w.rating is not null) over so_far)[2],
    coalesce((max(array[w.at, w.price]) filter (where w.price is not null) over so_far)[2], 0), w.currency
  from (
    select n.app, n.location_code, n.day, n.day - date '2000-01-01' as at, n.votes, n.rating, n.price,
      n.currency
    from app_number n
    where n.location_code = any(in_locations) and n.app = any(in_apps) and n.day <= in_to
      and n.day >= (date_trunc('month', in_from::timestamp) - interval '1 month')::date
  ) w
  window so_far as (partition by w.app, w.location_code, date_trunc('month', w.day::timestamp) order by w.at);
end;

--- Votes, rating, price and developer of each app of a project, or of any other app (in_app_id), in the
--- places of its keywords and charts: a row for each day of UTC on which one of them changed, and
--- votes_change since the row before. With a tag or a location, in the places of what has it.
create or replace function app_numbers_daily(
  {{days}}, {{tagged}}, in_app_id text default null
) returns table (
  day date, store text, app_id text, title text, developer text, label text, role text, location text,
  location_code integer, votes integer, votes_change integer, rating numeric, price numeric, currency text,
  app integer
) {{begin}}
  with place as (
    select l.store, l.location, l.location_code from newest_lists(in_project) l
    where is_of(l.tags, l.location, in_tag, in_location)
    group by 1, 2, 3
  ), wanted as (
    select a.app from app_name a
    where case when in_app_id is null
      then a.app in (select p.app from project_apps(in_project) p) else a.app_id = in_app_id end
  )
  select n.day, a.store, a.app_id, a.title,
    coalesce(
      (select f.developer from jsonb_to_recordset(a.former_developers) f (developer text, until date)
        where f.until > n.day order by f.until limit 1),
      a.developer
    ), w.label, w.role, p.location, n.location_code, n.votes,
    n.votes - lag(n.votes) over (partition by n.app, n.location_code order by n.day), n.rating, n.price,
    n.currency, n.app
  from numbers_until(
    from_day, to_day, array(select location_code from place), array(select app from wanted)
  ) n
  join app_name a on a.app = n.app
  join place p on p.store = a.store and p.location_code = n.location_code
  left join project_apps(in_project) w on w.app = n.app and w.ended_at is null
  where n.day >= from_day;
end;
