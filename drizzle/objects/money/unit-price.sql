-- As the plan reserves it: the greatest of the specification, the account's price list, and what was charged
-- last (spec: rates.price). A charge counts for eight days, so that one of a weekly measurement counts until
-- the next one, and a wrong one not for ever; and not at all while it is doubted. The billing unit is that of
-- the last charge: the service changes it. While charges of one depth fit a smaller unit and a dearer one, it
-- is reserved by the most that either costs (`charged_price.reserved_micros`).
--- What a billing unit of each function costs, as it is reserved.
create or replace view unit_price as
select v.store, v.function, y.priority::smallint as priority,
  coalesce(u.reserved_results, u.unit_results, v.unit_results) as unit_results,
  greatest(b.unit_micros, u.reserved_micros * y.priority / u.priority) as unit_micros,
  coalesce(u.unit_results, v.unit_results) as billed_results, b.unit_micros as billed_micros,
  v.unit_results as stated_results,
  coalesce(case y.priority when 2 then l.high_micros end, l.normal_micros * y.priority,
    v.unit_micros * y.priority)
    as listed_micros
from (values
  {{function_rules}}
) v (store, function, unit_results, unit_micros)
cross join (values (1), (2)) y (priority)
left join lateral (
  select (p.price ->> 'normalMicros')::bigint as normal_micros,
    (p.price ->> 'highMicros')::bigint as high_micros
  from (select u.prices from account_usage u order by u.fetched_at desc limit 1) latest
  cross join lateral jsonb_array_elements(latest.prices) p (price)
  where p.price ->> 'function' = v.function
  limit 1
) l on true
left join charged_price c on c.store = v.store and c.function = v.function and c.priority = y.priority
  and c.charged_at > (select now() - interval '8 days')
left join lateral (
  select o.unit_results, o.reserved_results, o.reserved_micros, o.priority from charged_price o
  where o.store = v.store and o.function = v.function and not o.is_doubted
    and o.charged_at > (select now() - interval '8 days')
  order by o.charged_at desc limit 1
) u on true
cross join lateral (
  select greatest(v.unit_micros * y.priority, l.normal_micros * y.priority, case y.priority when 2
    then l.high_micros end,
    case when not c.is_doubted then c.unit_micros end) as unit_micros
) b;
