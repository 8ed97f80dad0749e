--- What the watchlists of now cost, each project alone, when every result is as long as was asked for:
--- shared_usd says what is left of it where others share it, and short results are refunded.
create or replace view watch_cost as
select w.project, {{measured w}}, w.location_code, w.language, w.tags, w.every, w.depth, w.priority,
  task_price(w.depth, u.unit_results, u.unit_micros) * 0.000001 as task_usd,
  round(task_price(w.depth, u.unit_results, u.unit_micros) * 0.000001
    * (2592000 / extract(epoch from w.every)), 6) as monthly_usd,
  f.share_micros * 0.000001 as shared_usd, w.target_id
from project_target w
join unit_price u on u.store = w.store and u.function = w.function and u.priority = w.priority
left join (
  select l.project, l.target_id, sum(l.share_micros * l.slots) as share_micros
  from forecast_lines(storerank_now(), storerank_now() + interval '720 hours') l group by 1, 2
) f on f.project = w.project and f.target_id = w.target_id
where w.ended_at is null;
