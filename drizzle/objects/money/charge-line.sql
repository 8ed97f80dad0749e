-- Outer joins, which fall away where nothing is asked of the target: every charge has one.
--- Money that the service took or gave back: one line per task, kind and project. A filter on at reads only
--- that time; one on day alone reads all: ask spend_by_target(project, from, to).
--- .at: When it counts: when the task was sent.
--- .kind: charge; refund (fewer results than asked for); duplicate (taken again for a task that was paid for
--- already); adjustment (what the audit found).
create or replace view charge_line as
select j.name as project, c.at, (c.at at time zone j.timezone)::date as day, t.store, t.function,
  {{subject t}},
  case when t.function in ('app_info', 'app_reviews') then t.subject end as app_id, {{place t l}},
  coalesce((select p.tags from project_target p where p.project = j.name and p.target_id = c.target_id),
    '{}') as tags,
  c.slot, c.kind, c.amount_micros * 0.000001 as usd, c.amount_micros, c.service_id, c.target_id
from charge c
join project j on j.id = c.project_id
left join target t on t.id = c.target_id
left join location l on l.store = t.store and l.code = t.location_code;
