/** Takes the webhooks of the service and stores what they bring. */
import type { Fetched } from '../collect/fetch.ts'
import { listFew, type Receiver, startReceiver } from '../collect/receiver.ts'
import { createDictionary } from '../history/dictionary.ts'
import { logFailed, storeFetched } from '../history/store.ts'
import type { ListenAddress } from '../listen-address.ts'
import type { JobContext } from './job.ts'

/**
 * Begins to take webhooks, before anything is posted that could bring one. Null without an address or
 * POSTBACK_URL.
 * @throws ConfigurationError when it cannot listen there
 */
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
