create or replace view app_number as
select n.day, a.store, a.app_id, a.title, n.location_code, e.votes, (e.rating / 100.0)::numeric(3, 2) as rating,
  (e.price_micros / 1e6)::numeric(14, 2) as price, n.currency, n.id as written, a.id as app
from app_numbers n
cross join lateral unnest(n.apps, n.votes, n.ratings, n.price_micros) e (place, votes, rating, price_micros)
join app a on a.id = n.block * 32768 + e.place;
comment on view app_number is
  'What searches and charts said of every app that they showed, watched or not: a row for each app, place and '
  'day of UTC on which a number changed; what is null is as before in the month, which begins anew with the '
  'first. app_numbers_daily fills it in.';

-- Each month by itself; the one before, for what a place has not measured yet in the month of in_from.
create or replace function numbers_until(in_from date, in_to date, in_locations integer[], in_apps integer[])
returns table (
  app integer, location_code integer, day date, votes integer, rating numeric, price numeric, currency text
) language sql stable parallel safe
begin atomic
  select w.app, w.location_code, w.day,
    (max(array[w.at, w.votes]) filter (where w.votes is not null) over so_far)[2],
    (max(array[w.at, w.rating]) filter (where w.rating is not null) over so_far)[2],
    coalesce((max(array[w.at, w.price]) filter (where w.price is not null) over so_far)[2], 0), w.currency
  from (
    select n.app, n.location_code, n.day, n.day - date '2000-01-01' as at, n.votes, n.rating, n.price, n.currency
    from app_number n
    where n.location_code = any(in_locations) and n.app = any(in_apps) and n.day <= in_to
      and n.day >= (date_trunc('month', in_from::timestamp) - interval '1 month')::date
  ) w
  window so_far as (partition by w.app, w.location_code, date_trunc('month', w.day::timestamp) order by w.at);
end;
comment on function numbers_until(date, date, integer[], integer[]) is
  'The numbers of apps in places as they were at each change up to a day, from the month before in_from on: '
  'what stays as it was is filled in.';
