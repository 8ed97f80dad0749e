-- The call window and the budgets: what no queue gives, and all runners share.

-- A permit for one call, stamped after its lock, so that permits have one order whoever asks. It holds for 500 ms;
-- the window therefore counts 60.5 s and no 60 seconds ever see more calls than allowed. A call without an end
-- counts as in flight until its deadline. Returns either a call, or how long to wait before asking again.
-- In a volatile function every statement has a snapshot of its own, so what is read after the lock is the present.
create function take_call_permit(
  of_kind text, of_path text, of_runner text, per_minute integer, at_once integer, timeout_ms integer,
  call_window interval default '60.5 seconds', out call_id bigint, out wait_ms integer
) language plpgsql as $$
declare
  stamp timestamptz;
  opens_at timestamptz;
  -- Limits per kind: spec, Limits (status, id_list); SERVICE-NOTES (tasks_ready).
  of_kind_per_minute integer := case of_kind when 'tasks_ready' then 20 when 'id_list' then 10 when 'status' then 10 end;
begin
  perform pg_advisory_xact_lock(hashtext('storerank'), hashtext('calls'));
  stamp := clock_timestamp();
  -- The account's own limit holds as well, once it is known; of none at all nobody could even ask again.
  per_minute := greatest(1, least(per_minute,
    (select u.calls_per_minute_limit from account_usage u order by u.fetched_at desc limit 1)));
  select greatest(
    (select c.permit_at from api_call c where c.permit_at > stamp - call_window
      order by c.permit_at desc offset per_minute - 1 limit 1),
    (select c.permit_at from api_call c where c.permit_at > stamp - call_window and c.kind = of_kind
      and of_kind_per_minute is not null order by c.permit_at desc offset of_kind_per_minute - 1 limit 1)
  ) + call_window into opens_at;
  if opens_at is not null then
    wait_ms := greatest(1, ceil(extract(epoch from opens_at - stamp) * 1000));
    return;
  end if;
  if (select count(*) from api_call c where c.ended_at is null and c.deadline_at > stamp) >= at_once then
    wait_ms := 25;
    return;
  end if;
  insert into api_call (kind, path, runner, permit_at, deadline_at)
  values (of_kind, of_path, of_runner, stamp, stamp + make_interval(secs => (timeout_ms + 500) / 1000.0))
  returning id into call_id;
end $$;
--> statement-breakpoint
comment on function take_call_permit(text, text, text, integer, integer, integer, interval) is
  'One call within the limits of all runners, or the milliseconds to wait.';
--> statement-breakpoint

-- Days and months of a project begin in its own time zone. An open estimate counts like money spent.
create function project_money(at_time timestamptz)
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
--> statement-breakpoint
comment on function project_money(timestamptz) is 'Budgets of each project, and what is spent or reserved in its day and month.';
--> statement-breakpoint

-- Effective budget = the least of our own settings, the account's limit and its balance. Days of the service are UTC.
create function overall_money(at_time timestamptz, max_day_micros bigint, max_month_micros bigint)
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
    select coalesce(sum(c.amount_micros), 0)::bigint as micros from charge c, account u
    where c.open or (c.kind in ('charge', 'duplicate') and c.at >= u.fetched_at)
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
--> statement-breakpoint
comment on function overall_money(timestamptz, bigint, bigint) is
  'Every budget that holds for all projects together, and how much of it is used.';
