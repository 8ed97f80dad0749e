-- The audit: what the service says that it took, against our book of charges, and what it lists as failed.

-- What other programs post must not flood: one row counts what one path took of them in one day.
alter table audit_difference add column tasks integer not null default 1;
--> statement-breakpoint

-- As before, and adjustments: what the account had spent when it was asked last holds what was charged until then, however
-- late we learn how much it was. An adjustment is dated like the charge that it corrects.
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
    select coalesce(sum(c.amount_micros), 0)::bigint as micros from charge c, account u
    where c.open or (c.kind in ('charge', 'duplicate', 'adjustment') and c.at >= u.fetched_at)
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
--> statement-breakpoint
comment on column spend_daily.spent_usd is 'The sum: charged, duplicate and adjusted, less refunded.';
comment on column spend_daily.adjusted_usd is 'What the audit found that the service took beyond the rest; negative when it took less. It counts on the day of the charge.';
--> statement-breakpoint

-- A task is kept at least as long as what the audit found of it.
create view audit_problem as
select d.found_at as at, d.kind, d.posted_at, d.path, g.store, g.function, g.subject, g.location_code, g.language_code,
  k.slot, k.id as task_id, d.service_id, d.tag, d.tasks, d.service_micros * 0.000001 as service_usd,
  d.our_micros * 0.000001 as our_usd,
  case d.kind when 'cost' then (d.service_micros - d.our_micros) * 0.000001 end as adjusted_usd,
  case
    when d.kind = 'cost' then format('The service took %s for this task, and our books said %s. They were adjusted by %s, so '
      'that they say the same.', dollars(d.service_micros), dollars(d.our_micros),
      dollars(d.service_micros - d.our_micros))
    when d.kind = 'missing' then format('We paid %s for this task, and the service does not list it. Our charge stays; ask '
      'the service what became of the task.', dollars(d.our_micros))
    when k.id is not null then format('The service took %s for this task, which is ours, and nobody is left to charge it to: '
      'its rows in charge are gone.', dollars(d.service_micros))
    else format('The service took %s for %s that this database knows nothing of, posted on %s; the first is %s. %s',
      dollars(d.service_micros), case d.tasks when 1 then '1 task' else d.tasks || ' tasks' end,
      to_char(d.posted_at at time zone 'UTC', 'YYYY-MM-DD'), d.service_id,
      case when d.task_id is null then 'The tag is not ours: another program uses the account. If you know of none, change '
          'its password.'
        else 'The tag is that of a storerank: another one uses the account, or this database was restored from a copy that '
          'is older than the task.' end)
  end as message
from audit_difference d
left join task k on k.id = d.task_id
left join target g on g.id = k.target_id;
--> statement-breakpoint
comment on view audit_problem is
  'Where the service''s own list of tasks and our charges did not say the same, one row per task, for 90 days; of other programs one row per path and day.';
comment on column audit_problem.at is 'When the audit found it.';
comment on column audit_problem.kind is 'missing (we were charged, the service does not list it), unknown (listed, and no charge of ours) or cost (another one; adjusted).';
comment on column audit_problem.posted_at is 'When the service says that it was posted; of a missing task, when we say so.';
comment on column audit_problem.path is 'The path of the call that posted it, as the service lists it; null when it does not.';
comment on column audit_problem.store is 'ios_store or android_store; null when the task is not ours.';
comment on column audit_problem.function is 'app_searches, app_info, app_list or app_reviews; null when the task is not ours.';
comment on column audit_problem.subject is 'The keyword, the id of the app, or the collection; null when the task is not ours.';
comment on column audit_problem.location_code is 'The code of the location at the service.';
comment on column audit_problem.language_code is 'The language code.';
comment on column audit_problem.slot is 'When the measurement was due; null when the task is not ours.';
comment on column audit_problem.task_id is 'The task; null when it is not ours.';
comment on column audit_problem.service_id is 'The id of the task at the service; of several, that of the first.';
comment on column audit_problem.tag is 'The tag at the service, where it lists the task; of several, that of the first.';
comment on column audit_problem.tasks is 'How many tasks the row speaks of: more than one only when they are not ours.';
comment on column audit_problem.service_usd is 'What the service took, net of refunds; null when it does not list the task.';
comment on column audit_problem.our_usd is 'What our books said before an adjustment; null when they had no charge.';
comment on column audit_problem.adjusted_usd is 'By how much our books were adjusted; null unless kind is cost.';
comment on column audit_problem.message is 'What differs, and what to do, as a sentence.';
--> statement-breakpoint

-- As before, with dollars as a person reads them, and what the service lists as failed of tasks whose result is still to come:
-- of the others, their own rows say how they ended.
create or replace view task_problem as
select t.ended_at as at, 'failed' as kind, g.store, g.function, g.subject, g.location_code, g.language_code, t.slot,
  t.id as task_id, t.service_id, t.status_code, coalesce(t.problem, 'The task failed.') as message
from task t
join target g on g.id = t.target_id
where t.state = 'failed' and not exists (select from rejected_result r where r.task_id = t.id)
union all
select r.received_at, 'rejected', g.store, g.function, g.subject, g.location_code, g.language_code, r.slot,
  r.task_id, r.service_id, null,
  format('The result was refused at %s: %s. Its body is kept in rejected_result.', r.path, rtrim(r.problem, '.'))
from rejected_result r
join target g on g.id = r.target_id
union all
select p.send_before, 'unknown', p.store, p.function, null, null, null, null, null, null, null,
  format('Whether the service took %s tasks is unknown since %s: %s. Their money stays reserved until %s.', count(t.id),
    to_char(p.send_before at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'),
    coalesce(rtrim(p.problem, '.'), 'no answer came'),
    case when p.scanned_at is null then 'the service''s own list has been searched for them twice'
      else format('the service''s own list is searched for them a second time; the first search began %s',
        to_char(p.scanned_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')) end)
from post p
left join task t on t.post_id = p.id and t.state = 'posting'
where p.state = 'unknown'
group by p.id
union all
select min(c.at), 'duplicate', g.store, g.function, g.subject, g.location_code, g.language_code, c.slot,
  c.task_id, c.service_id, null,
  format('The service took another %s for a task that was paid for already.', dollars(sum(c.amount_micros)::bigint))
from charge c
join target g on g.id = c.target_id
where c.kind = 'duplicate'
group by g.id, c.slot, c.task_id, c.service_id
union all
select coalesce(t.ask_at, t.posted_at), 'overdue', g.store, g.function, g.subject, g.location_code, g.language_code, t.slot,
  t.id, t.service_id, t.status_code, format('It was posted at %s, and %s. It stays open and is asked for by its id.',
    to_char(t.posted_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'),
    coalesce('the last answer was: ' || rtrim(t.problem, '.'), 'no ready list has named it'))
from task t
join target g on g.id = t.target_id
where t.state = 'posted' and (t.ask_at < now() or t.problem is not null)
union all
select f.at, 'service_failure', g.store, g.function, g.subject, g.location_code, g.language_code, t.slot,
  t.id, f.service_id, f.error_code,
  case when f.function in ('pingback_url', 'postback_url') then format('The service could not deliver its webhook (%s%s%s). %s',
      f.function, ', HTTP ' || nullif(f.http_code, 0), ': ' || rtrim(f.error_message, '.'),
      case when f.resent_at is null then 'The ready list names the task instead, and its result is fetched.'
        else format('It was asked at %s to send it again.',
          to_char(f.resent_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')) end)
    else format('The service lists it as failed at %s%s. It stays open until its result says so.', f.function,
      ': ' || rtrim(f.error_message, '.')) end
from service_failure f
cross join lateral (
  select c.task_id from charge c where c.service_id = f.service_id and c.kind <> 'estimate' limit 1
) booked
join task t on t.id = booked.task_id
join target g on g.id = t.target_id
where t.state not in ('collected', 'failed')
union all
select t.ended_at, 'without_pages', g.store, g.function, g.subject, g.location_code, g.language_code, t.slot,
  t.id, t.service_id, t.status_code, t.problem
from task t
join target g on g.id = t.target_id
where t.state = 'collected' and t.problem is not null;
--> statement-breakpoint
comment on view task_problem is
  'What went wrong with tasks: failed, unreadable, of unknown outcome, paid twice, overdue, listed as failed by the service, or stored without the pages that were asked for.';
comment on column task_problem.kind is 'failed, rejected, unknown, duplicate, overdue, service_failure or without_pages.';
comment on column task_problem.function is 'app_searches, app_info, app_list or app_reviews.';
comment on column task_problem.subject is 'The keyword, the id of the app, or the collection of a chart; null for a whole post.';
