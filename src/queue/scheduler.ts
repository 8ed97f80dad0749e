/**
 * The schedule. Every minute each runner looks which slots of which jobs have begun by the database's clock,
 * and enqueues (job, slot), which the database accepts once. Slots that passed while no runner was there are
 * recorded as missed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createTask, type ScheduledTask } from 'node-cron'
import type { Database } from '../db/database.ts'
import { endStuckSessions } from '../db/lock-holder.ts'
import { refuseNewerSchema } from '../db/migrate.ts'
import { oneRow } from '../db/one-row.ts'
import { ConfigurationError } from '../errors.ts'
import { endLeasesOfFuture } from '../ledger/hand-out.ts'
import { enqueueRun, type Job, type JobContext, recordMissedSlots } from './job.ts'

const MINUTE_MS = 60_000
/** Longer than the rarest schedule: a month. */
const LOOK_BACK_MS = 32 * 86_400_000
/** The most missed slots that are recorded: 16 hours of a minutely job, a week of `track`. */
const MISSED_AT_MOST = 1_000
const MISSED_REASON = 'No runner was there to start it.'
/** How soon it looks again after a failure, such as a lost database. */
const LOOK_AGAIN_MS = 5_000
/**
 * What failed while the service or the database was away is done soon after, and not at the next slot, which
 * may be a week away.
 */
const REPEAT_FAILED_EVERY_MINUTES = 10

/**
 * Looks at once, which catches up and repeats a job whose last run failed, and then every minute until it is
 * stopped. Every tenth minute repeats what has failed since.
 * @param readNow the clock that slots go by
 */
export async function startScheduler(
  context: JobContext,
  jobs: readonly Job[],
  readNow: (db: Database) => Promise<Date> = readClock,
) {
  const stopping = new AbortController()
  const signal = AbortSignal.any([context.signal, stopping.signal])
  const lookOnce = createLook(context, jobs, readNow)
  let lookedMs = performance.now()
  // A look that fails was on time as well: the process works, and a restart brings no database back.
  const look = () =>
    lookOnce().finally(() => {
      lookedMs = performance.now()
    })
  const ticking = tick(await look(), signal, () =>
    look().catch((error) => {
      if (error instanceof ConfigurationError) throw error
      context.log.error({ err: error }, 'the slots of the jobs could not be looked at')
      return LOOK_AGAIN_MS
    }),
  )
  return {
    /**
     * Rejects with a ConfigurationError when a newer storerank has migrated the database; the schedule has
     * then ended.
     */
    ended: ticking,
    /** How long ago it looked which jobs are due, or tried to; it does so every minute. */
    sinceLookMs: () => performance.now() - lookedMs,
    stop: async () => {
      stopping.abort()
      await ticking
    },
  }
}

async function tick(firstWaitMs: number, signal: AbortSignal, look: () => Promise<number>): Promise<void> {
  let waitMs = firstWaitMs
  for (;;) {
    await sleep(waitMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    waitMs = await look()
  }
}

/** The next slot of each job, for people. */
export function listNextTicks(jobs: readonly Job[]): { job: string; at: Date | null }[] {
  return jobs.map((job) => ({ job: job.name, at: readCron(job.cron).getNextRuns(1)[0] ?? null }))
}

/**
 * Pure: which slot of a job is due, and which are missed, since the look before.
 * @param matches node-cron's own reading of the schedule
 * @param after the look before, or the latest slot on record; null when there is none: then nothing was
 *   missed
 * @returns what is to be run now, and what will not be run, the latest first
 */
export function findDueAndMissedSlots(
  catchUp: Job['catchUp'],
  matches: (minute: Date) => boolean,
  after: Date | null,
  now: Date,
) {
  const thisMinuteMs = beginOfMinute(now).getTime()
  const { slots, isCut } = listSlots(matches, after, thisMinuteMs)
  const [latest = null] = slots
  const isDue = catchUp === 'latest' || latest?.getTime() === thisMinuteMs
  const missed = after === null ? [] : slots.slice(isDue ? 1 : 0)
  const since = after?.toISOString()
  const reasonOfOldest = `${MISSED_REASON} The earlier ones since ${since} are not listed one by one.`
  return {
    due: isDue ? latest : null,
    missed: missed.map((slot) => ({
      slot,
      reason: isCut && slot === missed.at(-1) ? reasonOfOldest : MISSED_REASON,
    })),
  }
}

/** The slots since `after`, the latest first; only the latest where there is no `after`. */
function listSlots(
  matches: (minute: Date) => boolean,
  after: Date | null,
  thisMinuteMs: number,
): { slots: Date[]; isCut: boolean } {
  const slots: Date[] = []
  const atMost = after === null ? 1 : 1 + MISSED_AT_MOST
  for (let minuteMs = thisMinuteMs; minuteMs > (after?.getTime() ?? 0); minuteMs -= MINUTE_MS) {
    if (slots.length === atMost || minuteMs < thisMinuteMs - LOOK_BACK_MS) return { slots, isCut: true }
    const minute = new Date(minuteMs)
    if (matches(minute)) slots.push(minute)
  }
  return { slots, isCut: false }
}

function beginOfMinute(now: Date): Date {
  return new Date(Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS)
}

/** What looks once, and says how long until the next minute of that clock. */
function createLook(context: JobContext, jobs: readonly Job[], readNow: (db: Database) => Promise<Date>) {
  const { db, queue } = context
  const schedules = jobs.map((job) => ({ job, cron: readCron(job.cron) }))
  let before: Date | null = null
  return async (): Promise<number> => {
    await refuseNewerSchema(db)
    await endStuckSessions(db.sql)
    const now = await readNow(db)
    const answeredMs = performance.now()
    before = unlessLater(before, now)
    const repeats = before === null || isMinuteOfRepeats(before, now)
    const recorded = repeats ? await readLatestSlots(context, jobs, now) : null
    for (const { job, cron } of schedules) {
      const latest = recorded?.get(job.name)
      const after = before ?? latest?.slot ?? null
      const { due, missed } = findDueAndMissedSlots(job.catchUp, (minute) => cron.match(minute), after, now)
      // In this order, so that after a crash between the two the next look still finds the due slot.
      await recordMissedSlots(db, job.name, missed)
      if (due !== null) await enqueueRun(db, queue, job.name, due)
      else if (latest?.hasFailed && job.catchUp === 'latest')
        await enqueueRun(db, queue, job.name, beginOfMinute(now), true)
    }
    before = now
    // Not at all when the next minute has begun meanwhile.
    return Math.max(0, MINUTE_MS - (now.getTime() % MINUTE_MS) - (performance.now() - answeredMs))
  }
}

/** Null where the clock was set back: then what is due by it is looked up anew. */
function unlessLater(before: Date | null, now: Date): Date | null {
  return before !== null && before > now ? null : before
}

/** Once, however often it looks in that minute. */
function isMinuteOfRepeats(before: Date, now: Date): boolean {
  const minute = beginOfMinute(now)
  return minute > beginOfMinute(before) && minute.getUTCMinutes() % REPEAT_FAILED_EVERY_MINUTES === 0
}

/** By the clock of the database. */
export async function readClock(db: Database): Promise<Date> {
  const row = oneRow(await db.sql<{ now: Date }[]>`select clock_timestamp() as now`)
  return row.now
}

/** A clock that was ahead has recorded slots, of which none would be run when they come, and leases. */
async function forgetFuture({ db, queue }: JobContext, jobs: readonly Job[], now: Date): Promise<void> {
  await queue.forgetFuture()
  await endLeasesOfFuture(db.sql)
  await db.sql`
    delete from job_run where job = any(${jobs.map((job) => job.name)}::text[]) and state <> 'running'
      and slot > ${now}::timestamptz + interval '1 minute'`
}

/** The latest recorded slot of each job. Runs by hand are left out: their instant is no whole minute. */
async function readLatestSlots(
  context: JobContext,
  jobs: readonly Job[],
  now: Date,
): Promise<Map<string, { readonly slot: Date; readonly hasFailed: boolean }>> {
  await forgetFuture(context, jobs, now)
  const rows = await context.db.sql<{ job: string; slot: Date; hasFailed: boolean }[]>`
    select j.job, r.slot, r.state = 'failed' as "hasFailed"
      from unnest(${jobs.map((job) => job.name)}::text[]) as j (job)
    cross join lateral (
      select slot, state from job_run r
      where r.job = j.job and r.slot <= ${now} and r.slot = date_trunc('minute', r.slot)
      order by slot desc limit 1
    ) r`
  return new Map(rows.map(({ job, ...latest }) => [job, latest]))
}

/** node-cron as the reader of expressions; its timers are not started. */
function readCron(cron: string): Pick<ScheduledTask, 'match' | 'getNextRuns'> {
  const task = createTask(cron, () => {}, { timezone: 'UTC' })
  void task.destroy()
  return task
}
