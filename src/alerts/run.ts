/**
 * One look of a runner at all rules: evaluates what is due, gathers messages, and enqueues the channels that
 * have some to deliver.
 */
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
import { gatherMessages, readChannelsToServe } from './gather.ts'
import { checkChannel } from './send.ts'

/** Called in the transaction that made the messages. */
export type EnqueueDeliveries = (tx: Transaction, channelIds: readonly number[]) => Promise<void>

export interface AlertDeps {
  readonly db: Database
  readonly settings: AlertSettings
  readonly budget: OverallBudget
  readonly enqueue: EnqueueDeliveries
  readonly signal: AbortSignal
}

const LIMIT_MS = 5 * 60_000

export interface AlertRun {
  readonly events: number
  /** Channels with messages to deliver. */
  readonly channels: number
}

/**
 * Each slot of a project is one transaction, and so is gathering its messages.
 * @throws what went wrong in the first project that could not be looked at, after all others were looked at
 *   and their channels enqueued
 */
export async function runAlerts(deps: AlertDeps): Promise<AlertRun> {
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
    const ids = await readChannelsToServe(tx)
    await deps.enqueue(tx, ids)
    return ids.length
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
