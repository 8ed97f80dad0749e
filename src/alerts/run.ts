/**
 * One look at all rules: evaluates what is due, gathers messages, enqueues channels that have some. The
 * measurements that no rule has seen are deleted from `alert_due` in the transaction that writes what the
 * rules find in them, so that a runner that is killed loses nothing and repeats nothing.
 */
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import { withoutNestedLoops } from '../db/joins.ts'
import { ConfigurationError } from '../errors.ts'
import type { OverallBudget } from '../plan/admission.ts'
import { type AlertSettings, readChannels } from './channel.ts'
import { type AlertKind, DUE_TARGETS, PARAMETERS, PROJECT, type Source } from './kinds/kind.ts'
import { KINDS } from './kinds/kinds.ts'
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
    events += await db.begin((tx) => evaluateSlot(tx, project, slot), {
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

export interface AlertProject {
  readonly id: number
  readonly name: string
  readonly timezone: string
  readonly enabled: boolean
}

/** A collection that is not over is waited for so long, so that one message tells of all of it. */
const PATIENCE_MINUTES = 30

/** Projects that are told of anything: those with rules, and those with a channel of digests. */
export async function readAlertProjects({ sql }: Pick<Database, 'sql'>): Promise<AlertProject[]> {
  return sql<AlertProject[]>`
    select p.id, p.name, p.timezone, p.enabled from project p
    where p.digest_channel is not null or exists (select from alert_rule r where r.project = p.name)
    order by p.name`
}

/** The oldest slot that has something due; null when there is none, or its collection is not over. */
export async function readDueSlot({ sql }: { readonly sql: SqlRunner }, project: AlertProject) {
  const [row] = await sql<{ slot: string | null }[]>`
    select min(d.slot)::text as slot from alert_due d
    where d.project_id = ${project.id} and (
      not (select is_collecting(${project.name}))
      or (select min(w.noted_at) from alert_due w where w.project_id = ${project.id})
        < clock_timestamp() - make_interval(mins => ${PATIENCE_MINUTES}))`
  return row?.slot ?? null
}

/** @param slot as Postgres writes it; @returns how many events are new */
export async function evaluateSlot(tx: Transaction, project: AlertProject, slot: string): Promise<number> {
  const [row] = await tx<{ targets: string | null }[]>`
    with looked as (
      delete from alert_due where project_id = ${project.id} and slot = ${slot}::timestamptz
      returning target_ids
    )
    select array_agg(distinct target_id)::text as targets from looked, unnest(target_ids) target_id`
  // As Postgres writes them: 100,000 numbers need not be read here.
  const targets = row?.targets ?? '{}'
  // The planner estimates a common table expression at one row, so that sorting seems to cost nothing.
  await tx`select set_config('work_mem', '64MB', true), set_config('enable_sort', 'off', true)`
  return evaluate(tx, 'slot', [project.name, slot, targets])
}

/** What goes by the clock, and not by a measurement. */
export async function evaluateService(tx: Transaction, project: AlertProject, budget: OverallBudget) {
  return evaluate(tx, 'clock', [project.name, budget.maxDayMicros, budget.maxMonthMicros])
}

type Values = readonly [project: string, ...others: (string | number | null)[]]

/** @returns how many events are new */
async function evaluate(tx: Transaction, by: Source['by'], values: Values): Promise<number> {
  const rows = await tx<{ kind: string }[]>`
    select distinct kind from alert_rule where project = ${values[0]} and enabled`
  const used = new Set(rows.map(({ kind }) => kind))
  const kinds = KINDS.filter(({ name, source }) => source.by === by && used.has(name))
  let events = 0
  for (const [source, together] of Map.groupBy(kinds, ({ source }) => source)) {
    if (source.shared)
      events += await withoutNestedLoops(tx, () => insertEvents(tx, source, together, values))
    else for (const kind of together) events += await insertEvents(tx, source, [kind], values)
  }
  return events
}

/**
 * An event that lies between the two ends of a comparison, in the same direction, has told it already: a
 * competitor that overtook an own app did so whichever way that moved since. In the order of slots: what
 * comes late is told of its own slot. The optimization fence has it looked up by its key.
 */
async function insertEvents(
  tx: Transaction,
  { by, shared }: Source,
  kinds: readonly AlertKind[],
  values: Values,
): Promise<number> {
  const isOneOf = (some: readonly AlertKind[]) => `r.kind = any('{${some.map(({ name }) => name)}}')`
  const ofDay = kinds.filter(({ isOfDay }) => isOfDay)
  const rows = kinds.map(({ select }) => `select to_jsonb(k) as row from (${select}) k`)
  const { count } = await tx.unsafe(
    `with parameter as (select ${PARAMETERS[by]}),
    rule as materialized (
      select r.*, ${isOneOf(ofDay)} as is_of_day,
        case r.compared_with when '1 day' then 1 when '7 days' then 7 when '30 days' then 30 end as days
      from alert_rule r where r.project = ${PROJECT} and r.enabled and ${isOneOf(kinds)}
    )${shared ? `,${shared(ofDay.length > 0 ? 'null::integer[]' : DUE_TARGETS)}` : ''},
    found as (
      select e.* from (${rows.join(' union all ')}) k
      cross join lateral jsonb_populate_record(null::alert_event, k.row) e
    )
    insert into alert_event (
      rule_id, subject, slot, compared_slot, kind, severity, target_id, app, rival, before, after, detail)
    select f.rule_id, f.subject, f.slot, f.compared_slot, r.kind,
      case when f.detail ? 'over' then 'info' else r.severity end, f.target_id, f.app, f.rival, f.before,
      f.after, coalesce(f.detail, '{}')
    from found f
    join rule r on r.id = f.rule_id
    where (
      select true from alert_event e
      where e.rule_id = f.rule_id and e.subject = f.subject and e.slot > f.compared_slot and e.slot < f.slot
        and (f.rival is not null or sign(coalesce(e.after, 1000000) - coalesce(e.before, 1000000))
          = sign(coalesce(f.after, 1000000) - coalesce(f.before, 1000000)))
      limit 1
    ) is null
    on conflict (rule_id, subject, slot) do nothing`,
    [...values],
  )
  return count
}
