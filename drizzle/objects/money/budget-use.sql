--- What the budgets of this day and this month have used: of each project in its time zone, and of all
--- together in UTC. Spent and reserved count both.
--- .project: The project; null: all together.
create or replace view budget_use as
select s.project, b.period, coalesce(sum(m.spent) filter (where m.ends_at > b.begins_at), 0)
  * 0.000001 as spent_usd,
  coalesce(sum(m.reserved) filter (where m.ends_at > b.begins_at), 0) * 0.000001 as reserved_usd, b.limit_usd
from (
  select 0 as scope, null::text as project, 'UTC' as timezone, null::numeric as daily_usd,
    null::numeric as monthly_usd
  union all
  select p.id, p.name, (
      select z.timezone from money_zone z
      where z.project_id = p.id and z.since <= (select storerank_now()) order by z.since desc limit 1
    ), p.daily_usd, p.monthly_usd
  from project p
) s
cross join lateral (values
  ('day', date_trunc('day', storerank_now() at time zone s.timezone) at time zone s.timezone, s.daily_usd),
  ('month', date_trunc('month', storerank_now() at time zone s.timezone) at time zone s.timezone,
    s.monthly_usd)
) b (period, begins_at, limit_usd)
left join lateral (
  select t.ends_at, t.reserved_micros as reserved, t.charged_micros + t.refunded_micros + t.duplicate_micros
    + t.adjusted_micros as spent
  from spend t where t.scope = s.scope and t.begins_at > storerank_now() - interval '34 days'
) m on true
group by s.scope, s.project, b.period, b.limit_usd;
