-- `* 0.000001` is exact in numeric.
create or replace view spend_daily as
select c.project, (c.at at time zone coalesce(p.timezone, 'UTC'))::date as day,
  count(distinct c.task_id) filter (where c.kind = 'charge') as tasks_charged,
  coalesce(sum(c.amount_micros) filter (where c.kind = 'charge'), 0) * 0.000001 as charged_usd,
  coalesce(-sum(c.amount_micros) filter (where c.kind = 'refund'), 0) * 0.000001 as refunded_usd,
  coalesce(sum(c.amount_micros) filter (where c.kind = 'duplicate'), 0) * 0.000001 as duplicate_usd,
  coalesce(sum(c.amount_micros) filter (where c.kind <> 'estimate'), 0) * 0.000001 as spent_usd,
  coalesce(sum(c.amount_micros) filter (where c.open), 0) * 0.000001 as reserved_usd,
  coalesce(sum(c.amount_micros) filter (where c.kind = 'adjustment'), 0) * 0.000001 as adjusted_usd
from charge c
left join project p on p.name = c.project
where c.kind <> 'estimate' or c.open
group by 1, 2;
comment on view spend_daily is
  'What each project spent and has reserved, by the days of its own time zone.';
comment on column spend_daily.project is 'The project.';
comment on column spend_daily.day is 'The day in the time zone of the project.';
comment on column spend_daily.tasks_charged is 'Tasks that the service charged; a shared one counts for each project.';
comment on column spend_daily.charged_usd is 'What the service took for tasks; of a shared one this project''s share.';
comment on column spend_daily.refunded_usd is 'What it gave back, because there were fewer results than asked for.';
comment on column spend_daily.duplicate_usd is 'What it took for a task that it had already taken money for.';
comment on column spend_daily.spent_usd is 'The sum: charged, duplicate and adjusted, less refunded.';
comment on column spend_daily.reserved_usd is 'What tasks that are not charged yet may cost; it counts against the budgets.';
comment on column spend_daily.adjusted_usd is 'What the audit found that the service took beyond the rest; negative when it took less. It counts on the day of the charge.';
grant select on spend_daily to storerank_editor, storerank_reader;
