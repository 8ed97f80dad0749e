/** What rules find in money, in the account, in our own jobs and at the service: looked at by the clock, and not by a measurement. */
import type { Fragment } from 'postgres'
import type { Transaction } from '../db/database.ts'
import type { OverallBudget } from '../plan/admission.ts'
import type { AlertProject } from './scope.ts'

export const SERVICE_KINDS: Readonly<
  Record<string, (tx: Transaction, project: AlertProject, budget: OverallBudget) => Fragment>
> = { budget_used: budgetUsed, balance_low: balanceLow, job_late: jobLate, outage }

/** Once in each period of a budget: of the project's own, and of those over all projects. */
function budgetUsed(tx: Transaction, project: AlertProject, budget: OverallBudget): Fragment {
  return tx`
    select r.id as rule_id, b.name as subject, b.begins_at as slot, null::timestamptz as compared_slot, null::integer as target_id,
      null::integer as app, null::integer as rival, null::float8 as before, round(100.0 * b.used_micros / b.limit_micros, 1)::float8 as after,
      jsonb_build_object('budget', b.name, 'limit_micros', b.limit_micros, 'used_micros', b.used_micros) as detail
    from rule r
    cross join lateral (
      select 'daily_usd of the project' as name, m.daily_micros as limit_micros, m.day_micros as used_micros,
        date_trunc('day', storerank_now() at time zone ${project.timezone}::text) at time zone ${project.timezone}::text as begins_at
      from project_money(storerank_now(), array[${project.id}::integer]) m
      union all
      select 'monthly_usd of the project', m.monthly_micros, m.month_micros,
        date_trunc('month', storerank_now() at time zone ${project.timezone}::text) at time zone ${project.timezone}::text
      from project_money(storerank_now(), array[${project.id}::integer]) m
      union all
      select o.limited_by, o.limit_micros, o.used_micros,
        date_trunc(o.period, storerank_now(), 'UTC')
      from overall_money(storerank_now(), ${budget.maxDayMicros}::bigint, ${budget.maxMonthMicros}::bigint) o
      where o.period <> 'balance'
    ) b
    where r.kind = 'budget_used' and b.limit_micros > 0 and 100.0 * b.used_micros / b.limit_micros >= r.threshold` as Fragment
}

/**
 * By what the last seven days cost, and what is reserved now. Told once, until a look at the account has found enough: when days become dearer,
 * what was enough before is not, and is no new event.
 */
function balanceLow(tx: Transaction): Fragment {
  return tx`
    select r.id, 'balance', coalesce(low.at, enough.at + interval '1 microsecond'), coalesce(enough.at, '-infinity'), null::integer, null::integer,
      null::integer, null::float8, round(b.left_micros / s.micros_a_day, 1)::float8,
      jsonb_build_object('left_micros', b.left_micros, 'micros_a_day', round(s.micros_a_day))
    from rule r
    cross join (
      select limit_micros - used_micros as left_micros, used_micros from overall_money(storerank_now(), null, null)
      where period = 'balance'
    ) b
    cross join (
      select sum(charged_micros + refunded_micros + duplicate_micros + adjusted_micros)
        / greatest(1, least(7, ceil(extract(epoch from storerank_now() - min(begins_at)) / 86400))) as micros_a_day
      from (select * from spend union all select * from spend_change) m
      where scope = 0 and begins_at > storerank_now() - interval '168 hours' and begins_at <= storerank_now()
    ) s
    cross join lateral (
      select max(u.fetched_at) as at from account_usage u where u.balance_micros - b.used_micros >= r.threshold * s.micros_a_day
    ) enough
    cross join lateral (
      select min(u.fetched_at) as at from account_usage u where u.fetched_at > coalesce(enough.at, '-infinity')
    ) low
    where r.kind = 'balance_low' and s.micros_a_day > 0 and b.left_micros / s.micros_a_day < r.threshold
      and not exists (
        select from alert_event e
        where e.rule_id = r.id and e.subject = 'balance' and e.slot > coalesce(enough.at, '-infinity')
      )` as Fragment
}

/** Since the first run that was due after the last success. A job that nothing woke has no run, and no rule can tell of it. */
function jobLate(tx: Transaction): Fragment {
  return tx`
    select r.id, j.job, j.since, null::timestamptz, null::integer, null::integer, null::integer, null::float8,
      floor(extract(epoch from clock_timestamp() - j.since) / 3600)::float8,
      jsonb_build_object('job', j.job, 'state', j.state, 'error', left(j.error, 500))
    from rule r
    cross join (
      select k.job, o.since, o.state, o.error
      from known_job k
      cross join lateral (
        select min(slot) as since, (array_agg(state order by slot desc))[1] as state, (array_agg(error order by slot desc))[1] as error
        from job_run
        where job = k.job and state <> 'done'
          and slot > coalesce((select max(d.slot) from job_run d where d.job = k.job and d.state = 'done'), '-infinity')
        having count(*) > 0
      ) o
    ) j
    where r.kind = 'job_late' and clock_timestamp() - j.since >= r.threshold * interval '1 hour'` as Fragment
}

/**
 * What the service reports of itself, as long as a runner has asked it lately: that an outage begins, and then that it is over, so that one
 * that goes from one endpoint to the next is told as one.
 */
function outage(tx: Transaction): Fragment {
  return tx`
    select r.id, 'app_data', case when s.since is not null then s.since when s.changed_at > last.began_at then s.changed_at else storerank_now() end,
      last.began_at, null::integer, null::integer, null::integer, null::float8, null::float8,
      case when s.since is not null then jsonb_build_object('endpoints', s.endpoints) else jsonb_build_object('over', true, 'remaining', s.remaining) end
    from rule r
    cross join (
      select min(since) filter (where status = 'major_outage') as since, max(since) as changed_at,
        jsonb_agg(coalesce(nullif(endpoint, ''), 'all') order by endpoint) filter (where status = 'major_outage') as endpoints,
        coalesce(jsonb_agg(distinct status) filter (where status <> 'ok'), '[]') as remaining
      from service_status
      where api = 'app_data' and checked_at > clock_timestamp() - interval '10 minutes'
      having count(*) > 0
    ) s
    left join lateral (
      select case when not e.detail ? 'over' then e.slot end as began_at from alert_event e
      where e.rule_id = r.id and e.subject = 'app_data' order by e.slot desc limit 1
    ) last on true
    where r.kind = 'outage' and (s.since is null) = (last.began_at is not null)` as Fragment
}
