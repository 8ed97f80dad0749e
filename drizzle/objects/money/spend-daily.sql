-- The day is that of the noon between begin and end, also when the time zone of the project was changed
-- since. `* 0.000001` is exact in numeric.
--- What each project spent and has reserved, by the days of its own time zone.
--- .spent_usd: The sum: charged, duplicate and adjusted, less refunded.
create or replace view spend_daily as
select p.name as project, ((s.begins_at + (s.ends_at - s.begins_at)
  / 2) at time zone p.timezone)::date as day, sum(s.tasks_charged)::bigint as tasks_charged,
  sum(s.charged_micros) * 0.000001 as charged_usd, -sum(s.refunded_micros) * 0.000001 as refunded_usd,
  sum(s.duplicate_micros) * 0.000001 as duplicate_usd,
  sum(s.charged_micros + s.refunded_micros + s.duplicate_micros + s.adjusted_micros) * 0.000001 as spent_usd,
  sum(s.reserved_micros) * 0.000001 as reserved_usd, sum(s.adjusted_micros) * 0.000001 as adjusted_usd
from spend s join project p on p.id = s.scope
where s.begins_at > '-infinity'
group by 1, 2
having sum(s.tasks_charged) > 0 or sum(s.reserved_micros) <> 0
  or bool_or(s.refunded_micros <> 0 or s.duplicate_micros <> 0 or s.adjusted_micros <> 0);
