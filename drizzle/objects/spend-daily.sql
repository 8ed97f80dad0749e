-- The day is that of the noon between begin and end, also when the time zone of the project was changed
-- since. `* 0.000001` is exact in numeric.
create or replace view spend_daily as
select p.name as project, ((s.begins_at + (s.ends_at - s.begins_at)
  / 2) at time zone p.timezone)::date as day,
  sum(s.tasks_charged)::bigint as tasks_charged,
  sum(s.charged_micros) * 0.000001 as charged_usd,
  -sum(s.refunded_micros) * 0.000001 as refunded_usd,
  sum(s.duplicate_micros) * 0.000001 as duplicate_usd,
  sum(s.charged_micros + s.refunded_micros + s.duplicate_micros + s.adjusted_micros) * 0.000001 as spent_usd,
  sum(s.reserved_micros) * 0.000001 as reserved_usd,
  sum(s.adjusted_micros) * 0.000001 as adjusted_usd
from (select * from spend union all select * from spend_change) s
join project p on p.id = s.scope
group by 1, 2
having sum(s.tasks_charged) > 0 or sum(s.reserved_micros) <> 0
  or bool_or(s.refunded_micros <> 0 or s.duplicate_micros <> 0 or s.adjusted_micros <> 0);
comment on view spend_daily is
  'What each project spent and has reserved, by the days of its own time zone.';
comment on column spend_daily.project is 'The project.';
comment on column spend_daily.day is 'The day in the time zone of the project.';
comment on column spend_daily.tasks_charged is
  'Tasks that the service charged; a shared one counts for each project.';
comment on column spend_daily.charged_usd is
  'What the service took for tasks; of a shared one this project''s share.';
comment on column spend_daily.refunded_usd is
  'What it gave back, because there were fewer results than asked for.';
comment on column spend_daily.duplicate_usd is 'What it took for a task that it had already taken money for.';
comment on column spend_daily.spent_usd is 'The sum: charged, duplicate and adjusted, less refunded.';
comment on column spend_daily.reserved_usd is
  'What tasks that are not charged yet may cost; it counts against the budgets.';
comment on column spend_daily.adjusted_usd is
  'What the audit found that the service took beyond the rest; negative when it took less. It counts on '
  'the day of the charge.';
grant select on spend_daily to storerank_editor, storerank_reader;
