--- What the watchlist of a project would cost in 30 days at another interval (in_every) or depth of keywords
--- and charts (in_depth), beside what it costs now; as watch_cost counts. Add it up: select sum(monthly_usd),
--- sum(monthly_usd_now) from watch_cost_at('fitness', in_every => '12 hours').
create or replace function watch_cost_at(in_project text, in_every interval default null,
  in_depth integer default null)
returns table (
  {{measured}}, language text, tags text[], every interval, depth integer, monthly_usd numeric,
  monthly_usd_now numeric, target_id integer
) {{begin}}
  select {{measured c}}, c.language, c.tags, coalesce(in_every, c.every), n.depth,
    round(task_price(n.depth::smallint, u.unit_results, u.unit_micros) * 0.000001
      * (2592000 / extract(epoch from coalesce(in_every, c.every))), 6),
    c.monthly_usd, c.target_id
  from watch_cost c
  join unit_price u on u.store = c.store and u.function = c.function and u.priority = c.priority
  -- A page has no depth, and reviews have one of their own.
  cross join lateral (
    select case when c.function in ('app_searches', 'app_list') then coalesce(in_depth, c.depth)
      else c.depth end as depth
  ) n
  where c.project = in_project;
end;
