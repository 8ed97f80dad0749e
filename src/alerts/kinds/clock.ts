/** Kinds that speak of money, of the account, of our own jobs and of the service: looked at by the clock. */

import { formatMinute } from '../../instant.ts'
import { formatUsd } from '../../text/money.ts'
import { countOf, endSentence } from '../../text/words.ts'
import type { ToldEvent } from '../event.ts'
import {
  type AlertKind,
  ANY_AMOUNT,
  DAY_LIMIT_MICROS,
  MONTH_LIMIT_MICROS,
  OF_CLOCK,
  PROJECT,
} from './kind.ts'

const budgetUsed: AlertKind = {
  name: 'budget_used',
  tells: 'a budget of the project, or of all projects',
  more: 'once a day or month of the budget',
  threshold: { counts: 'percent', ...ANY_AMOUNT },
  source: OF_CLOCK,
  select: `
    select r.id as rule_id, b.name as subject, b.begins_at as slot,
      round(100.0 * b.used_micros / b.limit_micros, 1) as after,
      jsonb_build_object('budget', b.name, 'limit_micros', b.limit_micros, 'used_micros', b.used_micros)
        as detail
    from rule r
    cross join lateral (
      select case u.period when 'day' then 'daily_usd' else 'monthly_usd' end || ' of the project' as name,
        (u.limit_usd * 1000000)::bigint as limit_micros,
        ((u.spent_usd + u.reserved_usd) * 1000000)::bigint as used_micros,
        date_trunc(u.period, storerank_now(), p.timezone) as begins_at
      from budget_use u join project p on p.name = u.project
      where u.project = ${PROJECT}
      union all
      select o.limited_by, o.limit_micros, o.used_micros, date_trunc(o.period, storerank_now(), 'UTC')
      from overall_money(storerank_now(), ${DAY_LIMIT_MICROS}, ${MONTH_LIMIT_MICROS}) o
      where o.period <> 'balance'
    ) b
    where r.kind = 'budget_used' and b.limit_micros > 0
      and 100.0 * b.used_micros / b.limit_micros >= r.threshold`,
  sentence: ({ after, detail }) => {
    const used = `${formatUsd(Number(detail.used_micros))} of ${formatUsd(Number(detail.limit_micros))}`
    return `${after} % of the budget ${detail.budget} is used: ${used}.`
  },
}

const balanceLow: AlertKind = {
  name: 'balance_low',
  tells: 'the balance of the account, by what the last 7 days cost',
  more: 'once, until it was enough',
  threshold: { counts: 'days that it lasts', ...ANY_AMOUNT },
  source: OF_CLOCK,
  // With what is reserved now. When days become dearer, what was enough before is not, and is no new event.
  select: `
    select r.id as rule_id, 'balance' as subject,
      coalesce(low.at, enough.at + interval '1 microsecond') as slot,
      coalesce(enough.at, '-infinity') as compared_slot, round(b.left_micros / s.micros_a_day, 1) as after,
      jsonb_build_object('left_micros', b.left_micros, 'micros_a_day', round(s.micros_a_day)) as detail
    from rule r
    cross join (
      select limit_micros - used_micros as left_micros, used_micros
      from overall_money(storerank_now(), null, null)
      where period = 'balance'
    ) b
    cross join (
      select sum(charged_micros + refunded_micros + duplicate_micros + adjusted_micros) / greatest(1, least(7,
          ceil(extract(epoch from storerank_now() - min(begins_at)) / 86400))) as micros_a_day
      from spend where scope = 0 and begins_at > storerank_now() - interval '168 hours'
        and begins_at <= storerank_now()
    ) s
    cross join lateral (
      select max(u.fetched_at) as at from account_usage u
      where u.balance_micros - b.used_micros >= r.threshold * s.micros_a_day
    ) enough
    cross join lateral (
      select min(u.fetched_at) as at from account_usage u
      where u.fetched_at > coalesce(enough.at, '-infinity')
    ) low
    where r.kind = 'balance_low' and s.micros_a_day > 0 and b.left_micros / s.micros_a_day < r.threshold
      and not exists (
        select from alert_event e
        where e.rule_id = r.id and e.subject = 'balance' and e.slot > coalesce(enough.at, '-infinity')
      )`,
  sentence: ({ after, detail }) => {
    const dayCost = formatUsd(Number(detail.micros_a_day))
    if (Number(detail.left_micros) <= 0)
      return `The balance of the account is used up; a day costs ${dayCost}.`
    const left = formatUsd(Number(detail.left_micros))
    return `The balance of the account, ${left}, lasts ${countOf(after ?? 0, 'day')} at ${dayCost} a day.`
  },
}

const jobLate: AlertKind = {
  name: 'job_late',
  tells: 'a job of ours that does not succeed',
  threshold: { counts: 'hours since the first run that it owes', ...ANY_AMOUNT },
  source: OF_CLOCK,
  // A job that nothing woke has no run, and no rule can tell of it.
  select: `
    select r.id as rule_id, j.job as subject, j.owed_since as slot,
      floor(extract(epoch from clock_timestamp() - j.owed_since) / 3600) as after,
      jsonb_build_object('job', j.job, 'state', j.state, 'error', left(j.error, 500)) as detail
    from rule r
    join job_outcome j on clock_timestamp() - j.owed_since >= r.threshold * interval '1 hour'
    where r.kind = 'job_late'`,
  sentence: ({ after, detail }) => {
    const reason = detail.error ? `: ${endSentence(String(detail.error))}` : '.'
    return `The job ${detail.job} has not succeeded for ${countOf(after ?? 0, 'hour')}${reason}`
  },
}

const outage: AlertKind = {
  name: 'outage',
  tells: 'a major outage that the service reports, and its end',
  more: 'once for each; the end only where the beginning was told, as `info`, with `detail.over`',
  source: OF_CLOCK,
  // As long as a runner has asked it lately. An outage that goes from one endpoint to the next is one.
  select: `
    select r.id as rule_id, 'app_data' as subject,
      case when s.since is not null then s.since when s.changed_at > last.began_at then s.changed_at
        else storerank_now() end as slot,
      last.began_at as compared_slot,
      case when s.since is not null then jsonb_build_object('endpoints', s.endpoints)
        else jsonb_build_object('over', true, 'remaining', s.remaining) end as detail
    from rule r
    cross join (
      select min(since) filter (where status = 'major_outage') as since, max(since) as changed_at,
        jsonb_agg(coalesce(endpoint, 'all') order by endpoint)
          filter (where status = 'major_outage') as endpoints,
        coalesce(jsonb_agg(distinct status) filter (where status <> 'ok'), '[]') as remaining
      from service_state
      where api = 'app_data' and checked_at > clock_timestamp() - interval '10 minutes'
      having count(*) > 0
    ) s
    left join lateral (
      select case when not e.detail ? 'over' then e.slot end as began_at from alert_event e
      where e.rule_id = r.id and e.subject = 'app_data' order by e.slot desc limit 1
    ) last on true
    where r.kind = 'outage' and (s.since is null) = (last.began_at is not null)`,
  sentence: describeOutage,
}

/** That it began, or that it is over. */
function describeOutage({ compared_slot: began, detail }: ToldEvent): string {
  if (detail.over !== true)
    return `The service reports a major outage (${(detail.endpoints as string[]).join(', ')}).`
  const since = began === null ? '' : ` that began ${formatMinute(began)}`
  const left = (detail.remaining as string[]).map((status) => status.replaceAll('_', ' '))
  const rest = left.length === 0 ? '' : `; it still reports: ${left.join(', ')}`
  return `The major outage of the service${since} is over${rest}.`
}

export const CLOCK_KINDS: readonly AlertKind[] = [budgetUsed, balanceLow, jobLate, outage]
