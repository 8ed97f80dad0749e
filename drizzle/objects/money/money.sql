-- Money: how an amount is split, on which days it counts, and what each budget has left. Every transition of
-- src/ledger inserts what it moves into `spend`, so the totals are never computed from the charges.

--- Money as a person reads it: at least two decimals, and no zeros after what counts.
create or replace function dollars(micros bigint) returns text language sql immutable parallel safe
return case when micros < 0 then '-' else '' end || '$' || to_char(abs(micros) * 0.000001,
  'FM9999999999990.009999');

-- Shares of a negative amount add up too: the remainder has the sign of the amount.
--- The share of the payer at a place (from 1) of an amount: equal shares, and the remainder to the first.
--- They add up exactly. Without a place, which is that of one who does not pay, null.
create or replace function share_of(amount bigint, payers integer, place bigint) returns bigint
language sql immutable parallel safe
return amount / payers + case when place = 1 then amount % payers when place is not null then 0 end;

--- What a task of a depth costs, in micro-dollars: billing units, rounded up (spec: Task posting, rule 2).
create or replace function task_price(depth smallint, unit_results integer, unit_micros bigint) returns bigint
language sql immutable parallel safe
return (coalesce(depth, 1) + unit_results - 1) / unit_results * unit_micros;

-- Scope 0 is all projects together, in the UTC days of the service; a project has the days of its own time
-- zone. The day of an instant never changes, so that a reservation ends on the day on which it began: by
-- `project.timezone`, which a person may change beside a transaction that moves money, it would end on
-- another one.
--- The days on which money of a project counts: that of all projects together (scope 0), and its own.
create or replace function money_days(project_id integer, at timestamptz)
returns table (scope integer, begins_at timestamptz, ends_at timestamptz) {{begin}}
  select 0, date_trunc('day', at, 'UTC'), date_trunc('day', at, 'UTC') + interval '24 hours'
  union all
  select z.project_id, date_trunc('day', at at time zone z.timezone) at time zone z.timezone,
    (date_trunc('day', at at time zone z.timezone) + interval '1 day') at time zone z.timezone
  from (
    select m.project_id, m.timezone from money_zone m
    where m.project_id = money_days.project_id and m.since <= at order by m.since desc limit 1
  ) z;
end;

create or replace function begin_money_zone() returns trigger {{as_owner}} as $$
begin
  insert into money_zone (project_id, since, timezone) values (new.id, '-infinity', new.timezone);
  return null;
end $$;

-- The holder of the ledger's lock calls it, so that one transaction at a time folds, and only when there are
-- many rows: a claim that folds each time would delete as much as it reads. The sum of the rows of a day is
-- right at any moment.
--- Adds what transitions have written into spend to the totals of their days, and to ledger.
create or replace function fold_spend(at_least integer default 1) returns void language plpgsql as $$
begin
  if not exists (select from spend where change_id > 0 offset at_least - 1) then
    return;
  end if;
  with change as (delete from spend where change_id > 0 returning *),
  day as (
    select scope, begins_at, max(ends_at) as ends_at, 0, sum(reserved_micros) as reserved_micros,
      sum(charged_micros) as charged_micros, sum(refunded_micros) as refunded_micros,
        sum(duplicate_micros) as duplicate_micros,
      sum(adjusted_micros) as adjusted_micros, sum(tasks_charged) as tasks_charged
    from change group by scope, begins_at
  ),
  folded as (
    insert into spend as s (scope, begins_at, ends_at, change_id, reserved_micros, charged_micros,
      refunded_micros, duplicate_micros, adjusted_micros, tasks_charged)
    select * from day
    on conflict (scope, begins_at, change_id) do update set ends_at = greatest(s.ends_at, excluded.ends_at),
      reserved_micros = s.reserved_micros + excluded.reserved_micros,
      charged_micros = s.charged_micros + excluded.charged_micros,
      refunded_micros = s.refunded_micros + excluded.refunded_micros,
      duplicate_micros = s.duplicate_micros + excluded.duplicate_micros,
      adjusted_micros = s.adjusted_micros + excluded.adjusted_micros,
      tasks_charged = s.tasks_charged + excluded.tasks_charged
  )
  update ledger l set reserved_micros = l.reserved_micros + d.reserved,
    taken_micros = l.taken_micros + d.taken
  from (
    select sum(reserved_micros) as reserved, sum(charged_micros + duplicate_micros) as taken
    from change where scope = 0
  ) d where d.reserved is not null and (d.reserved, d.taken) <> (0, 0);
end $$;

-- A day is found by its end. When the time zone of a project is changed, a day of the old zone may overlap
-- one of the new: for at most a day too much is counted, and never too little. `spend` is read by the days
-- that a budget of its project has: a claim asks for all of its payers behind the lock.
--- The budgets of each project, or of some, and what is spent or reserved of each budget in its day and
--- month; null where it has no such budget.
create or replace function project_money(at_time timestamptz, of_projects integer[] default null)
returns table (
  project_id integer, project text, day_begins timestamptz, daily_micros bigint, monthly_micros bigint,
  day_micros bigint, month_micros bigint
)
language sql stable
begin atomic
  select p.id, p.name, z.day_begins, (p.daily_usd * 1000000)::bigint, (p.monthly_usd * 1000000)::bigint,
    case when p.daily_usd is not null then s.day_micros end,
    case when p.monthly_usd is not null then s.month_micros end
  from project p
  cross join lateral (
    select date_trunc('day', at_time at time zone m.timezone) at time zone m.timezone as day_begins,
      date_trunc('month', at_time at time zone m.timezone) at time zone m.timezone as month_begins
    from money_zone m where m.project_id = p.id and m.since <= at_time
    order by m.since desc limit 1
  ) z
  cross join lateral (
    select coalesce(sum({{committed t}}) filter (where t.ends_at > z.day_begins), 0)::bigint as day_micros,
      coalesce(sum({{committed t}}) filter (where t.ends_at > z.month_begins), 0)::bigint as month_micros
    from spend t
    where t.scope = p.id and t.begins_at > case when p.monthly_usd is not null then z.month_begins
      when p.daily_usd is not null then z.day_begins end - interval '2 days'
  ) s
  where of_projects is null or p.id = any (of_projects);
end;

-- Days of the service are UTC. The money that the account says it has spent includes all charges until it was
-- read; the charges since then are the rise of `ledger_taken()`. An adjustment counts on top only when its
-- charge is younger than that: an older one is in the account's own figure in full, whenever it is adjusted.
--- Every budget that holds for all projects together, and how much of it is used: its name for people,
--- whether the settings or the account set it, and its period (day, month or balance).
create or replace function overall_money(at_time timestamptz, max_day_micros bigint, max_month_micros bigint)
returns table (limited_by text, set_by text, period text, limit_micros bigint, used_micros bigint)
language sql stable
begin atomic
  with used as (
    select coalesce(sum({{committed s}}) filter (where s.ends_at > z.day), 0)::bigint as day,
      coalesce(sum({{committed s}}) filter (where s.ends_at > z.month), 0)::bigint as month
    from (select date_trunc('day', at_time, 'UTC') as day, date_trunc('month', at_time, 'UTC') as month) z
    left join spend s on s.scope = 0 and s.begins_at > z.month - interval '2 days'
  ), account as (
    select u.* from account_usage u order by u.fetched_at desc limit 1
  ), since as (
    select (l.reserved_micros + coalesce(c.reserved, 0) + ledger_taken() - coalesce(a.taken_micros, 0)
      + coalesce(d.adjusted, 0))::bigint as micros
    from ledger l
    left join account a on true
    cross join (select sum(reserved_micros) as reserved from spend where scope = 0 and change_id > 0) c
    cross join lateral (
      select sum(amount_micros) as adjusted from charge where kind = 'adjustment' and at >= a.fetched_at
    ) d
  )
  select 'MAX_USD_PER_DAY', 'settings', 'day', max_day_micros, used.day from used
    where max_day_micros is not null
  union all
  select 'MAX_USD_PER_MONTH', 'settings', 'month', max_month_micros, used.month from used
    where max_month_micros is not null
  union all
  select 'the account''s limit per day', 'account', 'day', a.day_limit_micros, greatest(used.day, since.micros
      + case when a.fetched_at >= date_trunc('day', at_time, 'UTC') then coalesce(a.day_spent_micros, 0)
        else 0 end)
  from used, account a, since where a.day_limit_micros is not null
  union all
  select 'the account''s balance', 'account', 'balance', a.balance_micros, since.micros
  from account a, since where a.balance_micros is not null;
end;

-- The balance has no period of its own, so it is measured by what yesterday cost, or today so far if that is
-- more: UTC days, as the ledger counts them. People who may only read ask it too, from the dashboard of
-- operators.
--- That the balance of the account may not last for another day, as a sentence; null while it does, and while
--- it is not known.
create or replace function low_balance() returns text language sql stable
security definer set search_path = public, pg_temp
begin atomic
  with dearest_day as (
    select coalesce(max(d.micros), 0) + (select reserved_micros from ledger)
      + (select coalesce(sum(reserved_micros), 0) from spend where scope = 0 and change_id > 0) as micros
    from (
      select sum(charged_micros + duplicate_micros + refunded_micros + adjusted_micros) as micros
      from spend where scope = 0 and ends_at > storerank_now() - interval '1 day' group by begins_at
    ) d
  )
  select format('What is left of %s is no more than yesterday or today cost: add money to the account.',
    b.limited_by)
  from overall_money(storerank_now(), null, null) b, dearest_day
  where b.period = 'balance' and b.limit_micros - b.used_micros <= dearest_day.micros;
end;

-- For a database whose money was changed by hand. The caller holds the ledger's lock; transitions that commit
-- meanwhile would be counted twice or not at all, so nothing else may run. Days whose charges are pruned, or
-- some of them, stay as they are.
--- Computes the totals anew from charges and tasks. Only while nothing else runs.
create or replace function recount_spend() returns void language plpgsql as $$
declare
  charges_from timestamptz := coalesce((select max(ends_at) from spend where begins_at = '-infinity'),
    '-infinity');
begin
  perform fold_spend();
  delete from spend where begins_at >= charges_from;
  update ledger set (reserved_micros, taken_micros) = (
    select coalesce(sum(reserved_micros), 0), coalesce(sum(charged_micros + duplicate_micros), 0) from spend
      where scope = 0 and begins_at > '-infinity');
  insert into spend (scope, begins_at, ends_at, reserved_micros, charged_micros, refunded_micros,
    duplicate_micros, adjusted_micros, tasks_charged)
  select d.scope, d.begins_at, d.ends_at, coalesce(sum(m.micros) filter (where m.kind = 'reserved'), 0),
    coalesce(sum(m.micros) filter (where m.kind = 'charge'), 0),
      coalesce(sum(m.micros) filter (where m.kind = 'refund'), 0),
    coalesce(sum(m.micros) filter (where m.kind = 'duplicate'), 0),
    coalesce(sum(m.micros) filter (where m.kind = 'adjustment'), 0), count(*) filter (where m.kind = 'charge')
  from (
    select y.project_id, k.reserved_at as at, 'reserved' as kind,
      share_of(k.estimate_micros, cardinality(k.payers), y.place) as micros
    from reserving_task k cross join lateral unnest(k.payers) with ordinality as y (project_id, place)
    union all
    select c.project_id, c.at, c.kind, c.amount_micros from charge c
  ) m cross join lateral money_days(m.project_id, m.at) d
  where d.begins_at >= charges_from
  group by 1, 2, 3;
  perform fold_spend();
end $$;

insert into ledger default values on conflict do nothing;
