create or replace function dollars(micros bigint) returns text language sql immutable parallel safe
return case when micros < 0 then '-' else '' end || '$' || to_char(abs(micros) * 0.000001, 'FM9999999999990.009999');
comment on function dollars(bigint) is 'Money as a person reads it: at least two decimals, and no zeros after what counts.';

-- Days and months of a project begin in its own time zone. An open estimate counts like money spent.
create or replace function project_money(at_time timestamptz)
returns table (project text, daily_micros bigint, monthly_micros bigint, day_micros bigint, month_micros bigint)
language sql stable
begin atomic
  select p.name, (p.daily_usd * 1000000)::bigint, (p.monthly_usd * 1000000)::bigint, d.micros, m.micros
  from project p
  cross join lateral (
    select coalesce(sum(c.amount_micros), 0)::bigint as micros from charge c
    where (c.kind <> 'estimate' or c.open) and c.project = p.name
      and c.at >= date_trunc('day', at_time at time zone p.timezone) at time zone p.timezone
  ) d
  cross join lateral (
    select coalesce(sum(c.amount_micros), 0)::bigint as micros from charge c
    where (c.kind <> 'estimate' or c.open) and c.project = p.name
      and c.at >= date_trunc('month', at_time at time zone p.timezone) at time zone p.timezone
  ) m;
end;
comment on function project_money(timestamptz) is 'Budgets of each project, and what is spent or reserved in its day and month.';

-- Effective budget = the least of our own settings, the account's limit and its balance. Days of the service are UTC. What the
-- account had spent when it was asked last holds what was charged until then, however late we learn how much it was; an
-- adjustment is dated like the charge that it corrects.
-- What is reserved and what was charged since are read in two parts: with an `or` between them every claim read all money that
-- was ever charged, behind the lock. `between`, because the planner takes two bounds that it does not know for few rows, and one
-- for a third of the table.
create or replace function overall_money(at_time timestamptz, max_day_micros bigint, max_month_micros bigint)
returns table (limited_by text, limit_micros bigint, used_micros bigint)
language sql stable
begin atomic
  with used as (
    select coalesce(sum(c.amount_micros) filter (where c.at >= date_trunc('day', at_time, 'UTC')), 0)::bigint as day,
      coalesce(sum(c.amount_micros), 0)::bigint as month
    from charge c
    where (c.kind <> 'estimate' or c.open) and c.at >= date_trunc('month', at_time, 'UTC')
  ), account as (
    select u.* from account_usage u order by u.fetched_at desc limit 1
  ), since as (
    select (
      (select coalesce(sum(c.amount_micros), 0) from charge c where c.open)
      + (select coalesce(sum(c.amount_micros), 0) from charge c
        where c.kind in ('charge', 'duplicate', 'adjustment')
          and c.at between (select a.fetched_at from account a) and 'infinity')
    )::bigint as micros
  )
  select 'MAX_USD_PER_DAY', max_day_micros, used.day from used where max_day_micros is not null
  union all
  select 'MAX_USD_PER_MONTH', max_month_micros, used.month from used where max_month_micros is not null
  union all
  select 'the account''s limit per day', a.day_limit_micros,
    greatest(used.day, since.micros
      + case when a.fetched_at >= date_trunc('day', at_time, 'UTC') then coalesce(a.day_spent_micros, 0) else 0 end)
  from used, account a, since where a.day_limit_micros is not null
  union all
  select 'the account''s balance', a.balance_micros, since.micros from account a, since where a.balance_micros is not null;
end;
comment on function overall_money(timestamptz, bigint, bigint) is
  'Every budget that holds for all projects together, and how much of it is used.';
