/** One look at all rules: evaluates what is due, gathers messages, enqueues channels that have some. */
import type { Database, Transaction } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import type { OverallBudget } from '../plan/admission.ts'
import { type AlertSettings, readChannels } from './channel.ts'
import {
  type AlertProject,
  evaluateService,
  evaluateSlot,
  readAlertProjects,
  readDueSlot,
} from './evaluate.ts'
import { checkChannel } from './send.ts'

export interface AlertDeps {
  readonly db: Database
  readonly settings: AlertSettings
  readonly budget: OverallBudget
  /** Called in the transaction that reads which channels have messages. */
  readonly enqueue: (tx: Transaction, channelIds: readonly number[]) => Promise<void>
  readonly signal: AbortSignal
}

const LIMIT_MS = 5 * 60_000

/**
 * Each slot of a project is one transaction, and so is gathering its messages.
 * @returns how many events were found, and how many channels have messages to deliver
 * @throws what went wrong in the first project that could not be looked at, after all others were looked at
 *   and their channels enqueued
 */
export async function runAlerts(deps: AlertDeps) {
  const { db, signal } = deps
  const failures: unknown[] = []
  let events = 0
  for (const project of await readAlertProjects(db)) {
    const steps = [lookAtDue, lookAtService, gather]
    for (const step of steps) {
      try {
        events += await step(deps, project)
      } catch (error) {
        signal.throwIfAborted()
        failures.push(error)
      }
    }
  }
  await checkChannels(deps)
  const enqueueChannels = async (tx: Transaction) => {
    // Those whose oldest message may be tried now.
    const rows = await tx<{ id: number }[]>`
      select channel_id as id from (
        select distinct on (m.channel_id) m.channel_id, m.next_at
        from alert_message m join alert_channel c on c.id = m.channel_id
        where m.state = 'pending' and c.enabled
        order by m.channel_id, m.created_at, m.id
      ) oldest
      where next_at <= clock_timestamp()`
    await deps.enqueue(
      tx,
      rows.map(({ id }) => id),
    )
    return rows.length
  }
  const channels = await db.begin(enqueueChannels, { name: 'Enqueueing the channels of alerts' })
  if (failures.length > 0) throw failures[0]
  return { events, channels }
}

async function lookAtDue({ db, signal }: AlertDeps, project: AlertProject): Promise<number> {
  for (let events = 0; ; ) {
    signal.throwIfAborted()
    const slot = await readDueSlot(db, project)
    if (slot === null) return events
    events += await db.begin((tx) => evaluateSlot(tx, { project, slot }), {
      name: `Looking at the rules of the project "${project.name}"`,
      limitMs: LIMIT_MS,
    })
  }
}

/** A project that is disabled is told of what comes late, and of nothing that goes by the clock. */
async function lookAtService({ db, budget }: AlertDeps, project: AlertProject): Promise<number> {
  if (!project.enabled) return 0
  return db.begin((tx) => evaluateService(tx, project, budget), {
    name: `Looking at what goes by the clock in the project "${project.name}"`,
  })
}

async function gather({ db }: AlertDeps, project: AlertProject): Promise<number> {
  await db.begin((tx) => gatherMessages(tx, project), {
    name: `Gathering the messages of the project "${project.name}"`,
  })
  return 0
}

/**
 * Makes messages of what waits in a project, by the state of the tables alone: a runner that was killed
 * between finding and gathering leaves nothing behind. An event without a channel that is enabled is held
 * back for good.
 */
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

/** The latest hour of each digest that has passed, once: of several, one message tells all. */
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

/** Writes down what the channels lack in the environment of this runner. */
async function checkChannels({ db, settings }: AlertDeps): Promise<void> {
  const channels = await readChannels(db)
  const problems = channels.flatMap((channel) => {
    try {
      if (channel.enabled) checkChannel(channel, settings)
      return []
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      return [{ id: channel.id, problem: error.message }]
    }
  })
  await db.sql`
    update alert_channel c
    set problem_kind = case when n.problem is not null then 'channel_settings' end, problem = n.problem
    from alert_channel o
    left join unnest(
      ${problems.map(({ id }) => id)}::bigint[], ${problems.map(({ problem }) => problem)}::text[]
    ) n (id, problem) on n.id = o.id
    where c.id = o.id and c.problem is distinct from n.problem
      and (n.problem is not null or c.problem_kind = 'channel_settings' or c.enabled)`
}
