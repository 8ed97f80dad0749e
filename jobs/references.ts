import type { Job } from '../src/queue/job.ts'
import { loadReferences } from '../src/watch/references.ts'

export const references: Job = {
  name: 'references',
  description:
    'Locations, languages, categories (also of listings) and error codes of the service, into tables.',
  cron: '17 3 * * 1',
  catchUp: 'latest',
  timeoutMs: 10 * 60_000,
  run: async ({ db, client, log }) => {
    const loaded = await loadReferences(db, client)
    for (const problem of loaded.missing) {
      log.warn({ problem }, 'a reference list could not be had; the rest goes on')
    }
    return { ...loaded }
  },
}
