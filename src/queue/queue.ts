/**
 * pg-boss carries the work: distribution over runners, retry with back-off, take-over from dead workers. Our
 * tables carry the truth, so a lost job is only enqueued again, and a job that comes twice finds nothing to
 * do.
 */
import { type JobWithMetadata, PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import { pgOptions, TCP_KEEPALIVE, toStartupOptions, WRITER_SETTINGS } from '../db/connection.ts'
import { QUEUE_POOL } from '../db/connections.ts'
import type { Transaction } from '../db/database.ts'
import type { Value } from '../db/sql.ts'
import { LeaseLostError } from '../errors.ts'
import type { FetchItem } from '../ledger/hand-out.ts'
import { TIMINGS } from '../timings.ts'

export type QueueName = 'post' | 'fetch' | 'job' | 'deliver'

export interface QueueData {
  /** One post, exclusive by its id. */
  post: { readonly postId: string }
  /** Up to 200 results of one transaction; and how often a process was left when it had failed. */
  fetch: { readonly items: readonly FetchItem[]; readonly survived?: number }
  /** One run of a scheduled job, exclusive by its name. */
  job: { readonly job: string; readonly slot: string }
  /** The messages of one channel of alerts, exclusive by its id. */
  deliver: { readonly channelId: number }
}

export type QueueJob<Name extends QueueName> = JobWithMetadata<QueueData[Name]>
export type QueueHandler<Name extends QueueName> = (job: QueueJob<Name>) => Promise<void>

export type Queue = Awaited<ReturnType<typeof openQueue>>

/** Hits live handlers too, so it is far beyond what any needs: the heartbeat finds the dead. */
const EXPIRE_S = 6 * 3600
/** Where notifications do not come through, such as behind a pooler of transactions. */
const POLL_S = 2
/**
 * One worker of each queue looks for what no notification announces: jobs that are tried again after a while,
 * or were handed on.
 */
const SCOUT_S = 20
/** The other workers are woken by notifications, by the scout and by each other. */
const IDLE_S = 600
/** How long they stay when no job is left. */
const OTHERS_STAY_MS = 5_000
const QUEUE_OPTIONS = {
  expireInSeconds: EXPIRE_S,
  heartbeatSeconds: TIMINGS.heartbeatS,
  retryBackoff: true,
  retryDelayMax: TIMINGS.longestRetryS,
  notify: true,
}

/** pg-boss on its own schema and small pool. Several processes may start it at once. */
async function openBoss(url: string, log: Logger): Promise<PgBoss> {
  const boss = new PgBoss({
    ...pgOptions(url),
    options: toStartupOptions({ ...WRITER_SETTINGS, ...TCP_KEEPALIVE }),
    application_name: 'storerank queue',
    max: QUEUE_POOL,
    // `storerank migrate` has made it: the login need not have the right to make schemas.
    createSchema: false,
    schedule: false,
    superviseIntervalSeconds: TIMINGS.superviseS,
    // Dead workers are looked for in this pass, which is 60 s by default however often it is tried.
    monitorIntervalSeconds: TIMINGS.superviseS,
    useListenNotify: true,
    // No job waits for another one to end.
    flowIntervalSeconds: 3_600,
  })
  boss.on('error', (error) => log.warn({ err: withoutConnection(error) }, 'the queue reports trouble'))
  await startBoss(boss)
  await boss.createQueue('post', { ...QUEUE_OPTIONS, policy: 'exclusive', retryLimit: 10, retryDelay: 1 })
  await boss.createQueue('fetch', { ...QUEUE_OPTIONS, retryLimit: 5, retryDelay: 1 })
  await boss.createQueue('job', { ...QUEUE_OPTIONS, policy: 'exclusive', retryLimit: 2, retryDelay: 5 })
  await boss.createQueue('deliver', { ...QUEUE_OPTIONS, policy: 'exclusive', retryLimit: 2, retryDelay: 5 })
  return boss
}

export async function openQueue(url: string, log: Logger) {
  const boss = await openBoss(url, log)
  const execute = (text: string, values: unknown[]) => boss.getDb().executeSql(text, values)
  const insert = async <Name extends QueueName>(
    tx: Transaction,
    name: Name,
    jobs: { data: QueueData[Name]; singletonKey?: string }[],
  ): Promise<void> => {
    if (jobs.length > 0) await boss.insert(name, jobs, { db: within(tx) })
  }
  return {
    enqueuePosts: (tx: Transaction, postIds: readonly string[]): Promise<void> =>
      insert(
        tx,
        'post',
        postIds.map((postId) => ({ data: { postId }, singletonKey: postId })),
      ),
    enqueueDeliveries: (tx: Transaction, channelIds: readonly number[]): Promise<void> =>
      insert(
        tx,
        'deliver',
        channelIds.map((channelId) => ({ data: { channelId }, singletonKey: String(channelId) })),
      ),
    /** @param perJob results of a job */
    enqueueFetch: (
      tx: Transaction,
      items: readonly FetchItem[],
      perJob = TIMINGS.resultsPerFetchJob,
    ): Promise<void> => {
      const jobs = Array.from({ length: Math.ceil(items.length / perJob) }, (_, n) => ({
        data: { items: items.slice(n * perJob, (n + 1) * perJob) },
      }))
      return insert(tx, 'fetch', jobs)
    },
    /** False when a run of that job is waiting or going on. */
    enqueueJobRun: async (tx: Transaction, job: string, slot: Date): Promise<boolean> => {
      const data = { job, slot: slot.toISOString() }
      return (await boss.send('job', data, { singletonKey: job, db: within(tx) })) !== null
    },
    /** Handlers of one queue, `concurrency` at once in this process. */
    work: <Name extends QueueName>(name: Name, concurrency: number, handler: QueueHandler<Name>) =>
      workQueue(boss, name, concurrency, handler),
    /**
     * Completes a job inside the transaction that stores its data.
     * @throws LeaseLostError unless exactly this attempt was completed
     */
    completeFetch: async (tx: Transaction, job: QueueJob<'fetch'>): Promise<void> => {
      // The count is documented, but missing in the declared type.
      const result: { affected?: number } = await boss.complete('fetch', job, null, { db: within(tx) })
      if (result.affected === 1) return
      throw new LeaseLostError(
        `The fetch job ${job.id} was taken over; its results are stored by who has it.`,
      )
    },
    /** Notes in a job that failed that the process which worked it goes on. */
    noteSurvived: async ({ id }: QueueJob<'fetch'>): Promise<void> => {
      await execute(NOTE_SURVIVED, [id])
    },
    /** Jobs that a clock which was ahead has stamped wait for it no longer. */
    forgetFuture: async (): Promise<void> => {
      await execute(FORGET_FUTURE, [TIMINGS.longestRetryS])
    },
    /** Jobs of posts and results that have not ended, over all runners; or those of one queue. */
    countOpen: async (name?: QueueName): Promise<number> => {
      const { rows } = await execute(COUNT_OPEN, [name === undefined ? ['post', 'fetch'] : [name]])
      return rows[0].open
    },
    /** Takes no new job and waits for those in hand, at most `graceMs`; what still hangs is handed on. */
    stop: (graceMs: number) => boss.stop({ graceful: true, timeout: Math.max(graceMs, 1000) }),
  }
}

const NOTE_SURVIVED = `
  update pgboss.job
  set data = data || jsonb_build_object('survived', coalesce((data ->> 'survived')::int, 0) + 1)
  where name = 'fetch' and id = $1`
const FORGET_FUTURE = `
  update pgboss.job set start_after = least(start_after, now()),
    heartbeat_on = case when heartbeat_on > now() then now() else heartbeat_on end
  where state < 'completed' and (heartbeat_on > now() or start_after > now() + make_interval(secs => $1))`
const COUNT_OPEN = `
  select count(*)::int as open from pgboss.job where name = any($1::text[]) and state < 'completed'`

/**
 * Starts workers of one queue, each with a job at a time. The first one stays; another is started when all
 * that there are have a job, and they end some seconds after the last job, because a notification wakes all
 * workers that there are, and each asks the database.
 */
async function workQueue<Name extends QueueName>(
  boss: PgBoss,
  name: Name,
  concurrency: number,
  handler: QueueHandler<Name>,
): Promise<void> {
  const workers: string[] = []
  let started = 0
  let busy = 0
  let ending: NodeJS.Timeout | undefined
  const wake = (place: number) => boss.notifyWorker(workers[place % workers.length] ?? '')
  const endOthers = () => {
    started = 1
    for (const id of workers.splice(1)) boss.offWork(name, { id }).catch(() => {})
  }
  const startNext = async () => {
    const place = started
    started += 1
    const options = {
      pollingIntervalSeconds: POLL_S,
      notifyPollingIntervalSeconds: place === 0 ? SCOUT_S : IDLE_S,
      includeMetadata: true,
    } as const
    type Options = typeof options
    workers[place] = await boss.work<QueueData[Name], void, Options>(name, options, async (jobs) => {
      clearTimeout(ending)
      busy += 1
      // Where one job was there may be more: another worker looks now, and this one as soon as it is free.
      if (busy >= started && started < concurrency) startNext().catch(() => {})
      else wake(place + 1)
      try {
        for (const job of jobs) await handler(job)
      } finally {
        busy -= 1
        wake(place)
        if (busy === 0) ending = setTimeout(endOthers, OTHERS_STAY_MS).unref()
      }
    })
  }
  await startNext()
}

/** An error of the queue's own pool carries the whole connection along, and would be logged with it. */
function withoutConnection(error: Error): Error {
  const { message, code } = error as { message: string; code?: string }
  return Object.assign(new Error(message), { code })
}

/** Ten processes may install the schema at once: the loser of a race only starts again. */
async function startBoss(boss: PgBoss): Promise<void> {
  try {
    await boss.start()
  } catch (error) {
    if ((error as { code?: string }).code !== '23505') throw error
    await boss.start()
  }
}

/** Lets pg-boss write inside our transaction. */
function within(tx: Transaction) {
  return {
    executeSql: async (text: string, values: Value[] = []) => ({
      rows: await tx.unsafe(text, values),
    }),
  }
}
