/**
 * The alarm clock: node-cron wakes every runner, and each enqueues (job, slot), which the database accepts once. A tick is
 * only a hint: what passed while nothing ran is caught up at the start.
 */
import { createTask, type ScheduledTask } from 'node-cron'
import { enqueueRun, type Job, type JobContext } from './job.ts'

export interface Scheduler {
  stop(): Promise<void>
}

/** node-cron drops a tick that is later than this; enqueueing late is better than not at all. */
const LATE_TICK_MS = 30_000
const MINUTE_MS = 60_000
/** Longer than the rarest schedule: a month. */
const LOOK_BACK_MINUTES = 32 * 24 * 60

/** Catches up what was missed, then ticks until it is stopped. */
export async function startScheduler(context: JobContext, jobs: readonly Job[]): Promise<Scheduler> {
  const tasks: ScheduledTask[] = []
  for (const job of jobs) {
    const task = scheduleJob(context, job)
    tasks.push(task)
    const missed = job.catchUp === 'latest' ? latestSlot(task, new Date()) : null
    if (missed !== null) await enqueueRun(context.db, context.queue, job.name, missed)
    await task.start()
  }
  return {
    stop: async () => {
      for (const task of tasks) await task.destroy()
    },
  }
}

/** The next tick of each job, for people. */
export function listNextTicks(jobs: readonly Job[]): { job: string; at: Date | null }[] {
  return jobs.map((job) => {
    const task = createTask(job.cron, () => {}, { timezone: 'UTC' })
    // Only a started task knows its next run.
    void task.start()
    const at = task.getNextRun()
    void task.destroy()
    return { job: job.name, at }
  })
}

/** The last slot at or before `now`, by node-cron's own reading of the expression; null when there was none in a month. */
export function latestSlot(task: Pick<ScheduledTask, 'match'>, now: Date): Date | null {
  const minute = Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS
  for (let back = 0; back <= LOOK_BACK_MINUTES; back += 1) {
    const candidate = new Date(minute - back * MINUTE_MS)
    if (task.match(candidate)) return candidate
  }
  return null
}

function scheduleJob(context: JobContext, job: Job): ScheduledTask {
  const enqueue = async (slot: Date) => {
    try {
      await enqueueRun(context.db, context.queue, job.name, slot)
    } catch (error) {
      context.log.error({ job: job.name, slot, err: error }, 'a tick could not be enqueued')
    }
  }
  const task = createTask(job.cron, (tick) => enqueue(tick.date), {
    name: job.name,
    timezone: 'UTC',
    missedExecutionTolerance: LATE_TICK_MS,
  })
  task.on('execution:missed', (tick) => enqueue(tick.date))
  return task
}
