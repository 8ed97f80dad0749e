/**
 * A runner: the handlers of the queues in one process. Any number of them share one database; none is
 * special.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { deliverChannel } from '../alerts/deliver.ts'
import { createFetchOrder, type Fetched, fetchResults, setAside } from '../collect/fetch.ts'
import { listFew, type Receiver, startReceiver } from '../collect/receiver.ts'
import { shareConnections } from '../db/connections.ts'
import { retryWhileDatabaseIsDown } from '../db/outage.ts'
import { startDeadline } from '../deadline.ts'
import { AccountError, LeaseLostError, StorerankError, UnavailableError } from '../errors.ts'
import { createDictionary } from '../history/dictionary.ts'
import { logFailed, storeFetched } from '../history/store.ts'
import type { ListenAddress } from '../listen-address.ts'
import { type PostDeps, workPost } from '../post/work-post.ts'
import { TIMINGS } from '../timings.ts'
import { BUSY, executeJob, type Job, type JobContext, recordMissedRun } from './job.ts'
import type { QueueJob } from './queue.ts'

export interface Runner {
  /** The service's refusal of the account, while posting is stopped for it; else null. */
  refusal: AccountError | null
  /** Tasks that were posted and results that were stored in this process. */
  readonly progress: { posted: number; stored: number }
}

/** One that hangs takes ten seconds, and keeps no other channel waiting. */
const CHANNELS_AT_ONCE = 4

/** So many processes end with a fetch job before its results are suspected of it. */
const MOST_ENDED = 2

/** What a runner works: messages of alerts; results too; posts too. */
export type Works = 'messages' | 'results' | 'posts'

/**
 * Begins to work the queues.
 * @param jobs the scheduled ones; none when only the other queues are worked
 * @param works nothing is posted without `posts`, and nothing is called at the service with `messages`
 */
export async function startRunner(
  context: JobContext,
  jobs: readonly Job[],
  works: Works = 'posts',
): Promise<Runner> {
  const state: Runner = { refusal: null, progress: { posted: 0, stored: 0 } }
  const { queue } = context
  if (works === 'posts') await queue.work('post', TIMINGS.postsAtOnce, postHandler(context, state))
  if (works !== 'messages') await queue.work('fetch', TIMINGS.fetchJobsAtOnce, fetchHandler(context, state))
  await queue.work('deliver', CHANNELS_AT_ONCE, deliveryHandler(context))
  // One worker per job, where connections allow it: a long audit keeps no other job waiting.
  const atOnce = Math.min(jobs.length, shareConnections(context.settings.databaseConnections).jobs)
  if (jobs.length > 0) await queue.work('job', atOnce, jobHandler(context, jobs))
  return state
}

/** Names by host and process, for the audit trail. */
export function nameRunner(hostname: string, pid: number): string {
  return `${hostname}:${pid}`
}

function postHandler(context: JobContext, state: Runner) {
  const { settings } = context
  const deps: PostDeps = {
    db: context.db,
    client: context.client,
    log: context.log,
    budget: settings.budget,
    window: { ...settings, runner: context.runner },
    overdueAfterMs: settings.overdueAfterMs,
    postbackUrl: settings.postbackUrl,
  }
  return async (job: QueueJob<'post'>) => {
    if (state.refusal !== null) return // stays ready: the sweep enqueues it again
    try {
      const result = await workPost(deps, job.data.postId, AbortSignal.any([context.signal, job.signal]))
      if (result.kind !== 'settled') return
      state.progress.posted += result.created
      const { kind: _, ...settled } = result
      context.log.info({ postId: job.data.postId, jobId: job.id, ...settled }, 'post settled')
    } catch (error) {
      if (!(error instanceof AccountError)) {
        context.log.warn({ postId: job.data.postId, jobId: job.id, err: error }, 'post is not done yet')
        throw error
      }
      state.refusal = error
      context.log.error({ postId: job.data.postId, jobId: job.id, code: error.code }, error.message)
      void sleep(TIMINGS.refusalPauseMs, undefined, { ref: false, signal: context.signal })
        .then(() => {
          state.refusal = null
        })
        .catch(() => {})
    }
  }
}

function fetchHandler(context: JobContext, state: Runner) {
  const dictionary = createDictionary(context.db)
  const deps = { db: context.db, dictionary, maxAttempts: context.settings.maxAttempts }
  const inOrder = createFetchOrder()
  return async (job: QueueJob<'fetch'>) => {
    const signal = AbortSignal.any([context.signal, job.signal])
    // Then another runner may fetch them.
    using lease = startDeadline(TIMINGS.leaseMs, 'The lease of the batch ended.')
    const { items, survived = 0 } = job.data
    const isSuspect = job.retryCount - survived >= MOST_ENDED
    try {
      if (isSuspect && items.length > 1) return await fetchApart(context, job)
      const { client, settings } = context
      const fetched = isSuspect
        ? items.map(setAside)
        : await inOrder((onAllBegun) =>
            fetchResults(client, items, settings.maxConcurrentRequests, signal, onAllBegun),
          )
      const store = () => storeFetched(deps, fetched, (tx) => context.queue.completeFetch(tx, job))
      const stored = await retryWhileDatabaseIsDown(store, AbortSignal.any([signal, lease.signal]))
      state.progress.stored += stored.stored
      const log = context.log.child({ jobId: job.id })
      log.info({ results: items.length, ...stored }, 'batch stored')
      await logFailed(context.db, log, fetched, stored)
    } catch (error) {
      if (error instanceof LeaseLostError) {
        context.log.warn({ jobId: job.id }, 'another runner took the batch over')
        return
      }
      if (!signal.aborted) {
        context.log.warn({ jobId: job.id, results: items.length, err: error }, 'batch is not stored yet')
      }
      await noteSurvived(context, job)
      throw error
    }
  }
}

/** Where the database is away, as soon as it is back: nothing waits for it. */
async function noteSurvived({ queue, signal }: JobContext, job: QueueJob<'fetch'>): Promise<void> {
  const note = () => queue.noteSurvived(job)
  await note().catch(() => {
    retryWhileDatabaseIsDown(note, signal).catch(() => {})
  })
}

/**
 * A batch that was begun several times and never stored may hold a result that ends each process that reads
 * it: each of its results has a job of its own from then on.
 */
async function fetchApart({ db, queue }: JobContext, job: QueueJob<'fetch'>): Promise<void> {
  await db.begin(async (tx) => {
    await queue.enqueueFetch(tx, job.data.items, 1)
    await queue.completeFetch(tx, job)
  })
}

function deliveryHandler({ db, settings, log, signal }: JobContext) {
  const deps = { db, log, settings: settings.alerts }
  return async (job: QueueJob<'deliver'>) => {
    await deliverChannel(deps, job.data.channelId, AbortSignal.any([signal, job.signal]))
  }
}

function jobHandler(context: JobContext, jobs: readonly Job[]) {
  return async (queued: QueueJob<'job'>) => {
    const slot = new Date(queued.data.slot)
    const job = jobs.find((job) => job.name === queued.data.job)
    if (job === undefined) {
      throw new UnavailableError(`This runner knows no job ${queued.data.job}; a newer one has to take it.`)
    }
    const signal = AbortSignal.any([context.signal, queued.signal])
    try {
      const summary = await executeJob({ ...context, signal }, job, slot)
      if (summary === BUSY)
        await recordMissedRun(context.db.sql, job.name, slot, 'Another run of the job was going on.')
    } catch (error) {
      context.log.error({ job: job.name, slot, jobId: queued.id, err: error }, 'job failed')
      // A refusal of the service or of a setting would repeat. After a stop, or trouble of the database,
      // pg-boss tries again.
      if (!(error instanceof StorerankError) || error instanceof UnavailableError) throw error
    }
  }
}

/** Begins to take webhooks, before anything is posted that could bring one; null without an address. */
export async function listen(job: JobContext, address: ListenAddress | null): Promise<Receiver | null> {
  const { db, queue, settings, log } = job
  if (address === null || settings.postbackUrl === null) return null
  const dictionary = createDictionary(db)
  const stores = { db, dictionary, maxAttempts: settings.maxAttempts }
  const deps = {
    db,
    log,
    enqueue: queue.enqueueFetch,
    store: async (batch: readonly Fetched[], batchId: string) => {
      const stored = await storeFetched(stores, batch, async () => {})
      const batchLog = log.child({ batchId })
      batchLog.info(
        { ...stored, ...listFew(batch.map((fetched) => fetched.item.serviceId)) },
        'deliveries stored',
      )
      await logFailed(db, batchLog, batch, stored)
    },
  }
  const receiver = await startReceiver(deps, settings.postbackUrl, address)
  log.info({ ...receiver.address }, 'taking deliveries of the service')
  return receiver
}
