/**
 * A scheduled job, and the record of its runs: each (job, slot) runs once, however many runners enqueue it,
 * and one run of a job goes on at a time, over all runners.
 */
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Database, SqlRunner } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { sql } from '../db/sql.ts'
import { startDeadline } from '../deadline.ts'
import { StorerankError } from '../errors.ts'
import type { AppDataClient } from '../service/client.ts'
import { TIMINGS } from '../timings.ts'
import type { Queue } from './queue.ts'

export interface JobContext {
  readonly db: Database
  readonly client: AppDataClient
  readonly queue: Queue
  readonly settings: Config
  readonly runner: string
  readonly log: Logger
  readonly signal: AbortSignal
  /** When a job that is never done with all projects at once begins with no other one; left out: never. */
  readonly over?: AbortSignal
}

/** What a run did, for `job_run.summary` and the log. */
export type JobSummary = Readonly<Record<string, number | string | boolean | null | readonly string[]>>

export interface Job {
  readonly name: string
  readonly description: string
  /** Five fields, UTC. */
  readonly cron: string
  /** `latest`: the latest slot that passed while nothing ran is run late; `none`: the next one does. */
  readonly catchUp: 'latest' | 'none'
  readonly timeoutMs: number
  /** What it enqueues: where it is run by hand, a runner is started that works it. */
  readonly enqueues?: 'posts' | 'messages'
  /** Its part in a whole cycle of `run`; left out: none. */
  readonly cycle?: CyclePart
  run(context: JobContext): Promise<JobSummary>
}

/** When a whole cycle runs a job, and whether it may fail. Jobs of a step run in their order. */
export interface CyclePart {
  /**
   * `begin`: before it is known what to plan. `tidy`: before the plan. `plan`: its summary is the cycle's
   * plan. `wait`: again and again while results are awaited. `collect`: likewise, at the pace of the ready
   * lists. `end`: when nothing is awaited any more.
   */
  readonly step: 'begin' | 'tidy' | 'plan' | 'wait' | 'collect' | 'end'
  /** What a person reads meanwhile and afterwards; left out: nothing. */
  readonly words?: PhaseWords
  /** Of `wait`: the time between two runs, and before the first one. */
  readonly everyMs?: number
  readonly firstAfterMs?: number
  /** Left out: it always is. */
  isNeeded?(context: JobContext): boolean | Promise<boolean>
  /** What a person is told of a run that left something out; null: nothing. */
  warnOf?(summary: JobSummary): string | null
  /** What a person is told when the cycle goes on without it; null or left out: it ends the cycle. */
  forgive?(error: Error, context: JobContext): string | null | Promise<string | null>
}

export interface PhaseWords {
  readonly doing: string
  readonly done: string
}

/** Forgives what we throw on purpose: a sentence, and the reason behind it. */
export function forgiveKnown(sentence: string): NonNullable<CyclePart['forgive']> {
  return (error) => (error instanceof StorerankError ? `${sentence}: ${error.message}` : null)
}

/** Another runner is running the job. */
export const BUSY = Symbol('busy')

/**
 * Runs a job now and records it under (job, slot), with what it threw.
 * @param scheduled the slot it was woken for; without one, the present
 * @param onBegun is told the slot, which the lines of the log carry
 * @returns its summary, or BUSY when another runner has the job
 */
export async function executeJob(
  context: JobContext,
  job: Job,
  scheduled?: Date,
  onBegun?: (slot: Date) => void,
): Promise<JobSummary | typeof BUSY> {
  return withJobLock(context.db, job, async () => {
    const slot = await startRun(context, job, scheduled)
    onBegun?.(slot)
    using timeout = startDeadline(
      job.timeoutMs,
      `The job did not end within ${job.timeoutMs / 60_000} minutes.`,
    )
    try {
      const log = context.log.child({ job: job.name, slot })
      const signal = AbortSignal.any([context.signal, timeout.signal])
      const summary = await job.run({ ...context, log, signal })
      await endRun(context.db, job, slot, { state: 'done', summary })
      const events = pickEvents(summary)
      const level = Object.keys(events).length === 0 ? 'debug' : 'info'
      log[level](events, 'job done')
      return summary
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      await endRun(context.db, job, slot, { state: 'failed', error: message }).catch(() => {})
      throw error
    }
  })
}

/** Numbers that are not 0, and lists that are not empty. Most runs find nothing. */
function pickEvents(summary: JobSummary): JobSummary {
  const isEvent = (value: unknown) => (Array.isArray(value) ? value.length > 0 : Boolean(value))
  return Object.fromEntries(Object.entries(summary).filter(([, value]) => isEvent(value)))
}

/** Records a slot as missed, unless its run has begun. */
export async function recordMissedRun(db: SqlRunner, job: string, slot: Date, reason: string): Promise<void> {
  await db`
    insert into job_run (job, slot, state, error) values (${job}, ${slot}, 'missed', ${reason})
    on conflict (job, slot) do update set state = 'missed', error = excluded.error
      where job_run.state = 'waiting'`
}

/** Records slots that passed while no runner was there, unless another runner has enqueued them. */
export async function recordMissedSlots(
  db: Database,
  job: string,
  missed: readonly { readonly slot: Date; readonly reason: string }[],
): Promise<void> {
  if (missed.length === 0) return
  await db.sql`
    insert into job_run (job, slot, state, error)
    select ${job}, slot, 'missed', reason from ${sql.rows('m', missed, 'slot timestamptz, reason text')}
    on conflict do nothing`
}

/**
 * Enqueues (job, slot) once, ever: the unique row and the job are written in one transaction. When the run
 * before is still waiting or going on, the slot is recorded as missed; one more run is then not needed.
 */
export async function enqueueRun(
  db: Database,
  queue: Queue,
  job: string,
  slot: Date,
  isOneMore = false,
): Promise<void> {
  await db.begin(async (tx) => {
    const isNew =
      await tx`insert into job_run (job, slot) values (${job}, ${slot}) on conflict do nothing returning 1`
    if (isNew.length === 0 || (await queue.enqueueJobRun(tx, job, slot))) return
    if (isOneMore) await tx`delete from job_run where job = ${job} and slot = ${slot}`
    else await recordMissedRun(tx, job, slot, 'The run before it had not ended.')
  })
}

/**
 * Records runs as failed whose process was killed, where no other runner took them over: none lasts a day.
 * @returns how many
 */
export async function endLostRuns(db: Database): Promise<number> {
  const lost = await db.sql`
    update job_run set state = 'failed', ended_at = clock_timestamp(),
      error = 'Its process was killed in the middle of it.'
    where state = 'running' and started_at < clock_timestamp() - interval '1 day'`
  return lost.count
}

async function startRun(context: JobContext, job: Job, scheduled?: Date): Promise<Date> {
  const run = oneRow(
    await context.db.sql<{ slot: Date }[]>`
    insert into job_run (job, slot, state, runner, started_at)
    values (${job.name}, coalesce(${scheduled ?? null}::timestamptz,
      date_trunc('milliseconds', clock_timestamp())), 'running', ${context.runner}, clock_timestamp())
    on conflict (job, slot) do update set state = 'running', runner = excluded.runner,
      started_at = excluded.started_at, ended_at = null, error = null
    returning slot`,
  )
  return run.slot
}

async function endRun(
  db: Database,
  job: Job,
  slot: Date,
  end: { readonly state: 'done' | 'failed'; readonly summary?: JobSummary; readonly error?: string },
): Promise<void> {
  await db.sql`
    update job_run set state = ${end.state}, ended_at = clock_timestamp(),
      error = coalesce(${end.error ?? null}, error),
      summary = coalesce(${end.summary === undefined ? null : JSON.stringify(end.summary)}::text::jsonb,
        summary)
    where job = ${job.name} and slot = ${slot} and state in ('waiting', 'running')`
}

/**
 * A session lock ends with its connection, so that a killed runner does not keep it; that of a frozen runner
 * ends when the server has heard nothing of it for a while.
 */
async function withJobLock<T>(db: Database, job: Job, work: () => Promise<T>): Promise<T | typeof BUSY> {
  const session = db.openSession(TIMINGS.frozenAfterMs)
  const living = setInterval(() => void session`select`.catch(() => {}), TIMINGS.signOfLifeMs).unref()
  try {
    const [row] = await session<{ locked: boolean }[]>`
      select hold_lock(${`job ${job.name}`}) as locked`
    return row?.locked ? await work() : BUSY
  } finally {
    clearInterval(living)
    await session.end()
  }
}
