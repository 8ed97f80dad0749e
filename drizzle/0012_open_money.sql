CREATE INDEX "charge_open" ON "charge" USING btree ("amount_micros") WHERE open;--> statement-breakpoint

-- As before, read in two parts: with an `or` between them every claim read all money that was ever charged, behind the lock.
-- `between`, because the planner takes two bounds that it does not know for few rows, and one for a third of the table.
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
        where c.kind in ('charge', 'duplicate', 'adjustment') and c.at between (select a.fetched_at from account a) and 'infinity')
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
