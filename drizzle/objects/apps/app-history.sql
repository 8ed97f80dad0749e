--- The details of the watched apps, at every slot that was asked for. A filter on day alone reads the whole
--- history: filter by slot, or ask ratings_daily(project, from, to).
--- .outcome: measured; not_found (the store does not have it); or without a measurement: failed, budget,
--- missed, html_only, pending.
create or replace view app_history as
select s.project, t.store, {{app a}}, a.tags, (s.slot at time zone j.timezone)::date as day, {{place t l}},
  s.slot, s.captured_at, s.rating, s.votes_count, s.reviews_count,
  trim_scale(s.price_micros * 0.000001) as price, s.currency, s.version, s.installs_count,
  case when s.gap is not null then s.gap when s.found then 'measured' else 'not_found' end as outcome,
  s.reason, s.updated_at, s.every, s.target_id, s.app
from app_slot s
join project j on j.name = s.project
join target t on t.id = s.target_id
left join location l on l.store = t.store and l.code = t.location_code
join project_app a on a.project = s.project and a.app = s.app
where t.function = 'app_info';
