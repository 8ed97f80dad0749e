-- As the plan reserves it: the greatest of the specification, the account's price list, and what was charged last (spec: rates.price).
create or replace view unit_price as
select v.store, v.function, y.priority::smallint as priority, v.unit_results,
  greatest(v.unit_micros * y.priority, (l.price ->> 'normalMicros')::bigint * y.priority,
    case y.priority when 2 then (l.price ->> 'highMicros')::bigint end, c.unit_micros) as unit_micros
from (values
  ('ios_store', 'app_searches', 100, 1200::bigint), ('ios_store', 'app_info', 1, 600), ('ios_store', 'app_list', 100, 1200),
  ('ios_store', 'app_reviews', 50, 750),
  ('android_store', 'app_searches', 30, 1200), ('android_store', 'app_info', 1, 600), ('android_store', 'app_list', 100, 1200),
  ('android_store', 'app_reviews', 150, 750)
) v (store, function, unit_results, unit_micros)
cross join (values (1), (2)) y (priority)
left join lateral (
  select p.price
  from (select u.prices from account_usage u order by u.fetched_at desc limit 1) latest
  cross join lateral jsonb_array_elements(latest.prices) p (price)
  where p.price ->> 'function' = v.function
  limit 1
) l on true
left join charged_price c on c.store = v.store and c.function = v.function and c.priority = y.priority;
comment on view unit_price is
  'What a billing unit of each function costs, as it is reserved.';
comment on column unit_price.store is 'ios_store or android_store.';
comment on column unit_price.function is 'app_searches, app_list, app_info or app_reviews.';
comment on column unit_price.priority is '1, or 2 at twice the price.';
comment on column unit_price.unit_results is 'How many results a billing unit pays for.';
comment on column unit_price.unit_micros is 'Its price in millionths of a dollar.';
grant select on unit_price to storerank_editor, storerank_reader;
