/**
 * Events become messages: one for all that an evaluation found for a channel, or one at the hour of a digest.
 * By the state of the tables alone, so that a runner that was killed between finding and gathering leaves
 * nothing behind.
 */
import type { Transaction } from '../db/database.ts'
import type { AlertProject } from './evaluate.ts'

/** Gathers what waits in a project. An event without a channel that is enabled is held back for good. */
export async function gatherMessages(tx: Transaction, project: AlertProject): Promise<void> {
  await tx`
    update alert_event e set held_back = 'channel'
    from alert_rule r
    where r.id = e.rule_id and r.project = ${project.name} and e.message_id is null and e.held_back is null
      and not exists (select from alert_channel c where c.name = r.channel and c.enabled)`
  const digests = await openDigests(tx, project)
  await tx`
    with undelivered as (
      select e.id, c.id as channel_id, c.digest from alert_event e
      join alert_rule r on r.id = e.rule_id
      join alert_channel c on c.name = r.channel
      where r.project = ${project.name} and e.message_id is null and e.held_back is null
      for update of e skip locked
    ),
    opened as (
      insert into alert_message (channel_id, project_id)
      select distinct channel_id, ${project.id}::integer from undelivered where digest = 'instant'
      returning id, channel_id
    ),
    message as (
      select id, channel_id from opened
      union all
      select id, channel_id from alert_message where id = any(${digests}::uuid[])
    )
    update alert_event e set message_id = m.id
    from undelivered u join message m on m.channel_id = u.channel_id
    where e.id = u.id`
}

/**
 * The latest hour of each digest that has passed, once: of several that passed while nothing ran, one message
 * tells all.
 */
async function openDigests(tx: Transaction, project: AlertProject): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    insert into alert_message (channel_id, project_id, digest_at)
    select c.id, ${project.id}, d.at
    from alert_channel c
    cross join lateral (select storerank_now() at time zone ${project.timezone}::text as now) l
    cross join lateral (
      select make_interval(hours => c.hour) + date_trunc(
        case c.digest when 'weekly' then 'week' when 'monthly' then 'month' else 'day' end,
        l.now - make_interval(hours => c.hour)
      ) as local
    ) h
    cross join lateral (select h.local at time zone ${project.timezone}::text as at) d
    where ${project.enabled} and c.enabled and c.digest <> 'instant' and d.at >= c.created_at
      and (
        exists (
          select from alert_rule r
          where r.project = ${project.name} and r.channel = c.name and r.enabled and r.created_at <= d.at
        ) or exists (select from project p where p.id = ${project.id} and p.digest_channel = c.name)
      )
    on conflict (channel_id, project_id, digest_at) do nothing
    returning id`
  return rows.map(({ id }) => id)
}

/** Channels whose oldest message may be tried now. */
export async function readChannelsToServe(tx: Transaction): Promise<number[]> {
  const rows = await tx<{ id: number }[]>`
    select channel_id as id from (
      select distinct on (m.channel_id) m.channel_id, m.next_at
      from alert_message m join alert_channel c on c.id = m.channel_id
      where m.state = 'pending' and c.enabled
      order by m.channel_id, m.created_at, m.id
    ) oldest
    where next_at <= clock_timestamp()`
  return rows.map(({ id }) => id)
}
