import type { Job } from '../src/queue/job.ts'
import { areReferencesFresh, loadReferences } from '../src/watch/references.ts'

const FRESH_DAYS = 7

export const references: Job = {
  name: 'references',
  description:
    'Locations, languages, categories (also of listings) and error codes of the service, into tables.',
  cron: '17 3 * * 1',
  catchUp: 'latest',
  timeoutMs: 10 * 60_000,
  cycle: {
    step: 'begin',
    words: { doing: 'loading the reference lists', done: 'reference lists loaded' },
    isNeeded: async ({ db }) => !(await areReferencesFresh(db, FRESH_DAYS)),
    warnOf: ({ missing }) => {
      const lists = Array.isArray(missing) ? missing.length : 0
      return lists === 0 ? null : `${lists} reference lists could not be had.`
    },
  },
  run: async ({ db, client, log }) => {
    const loaded = await loadReferences(db, client)
    for (const problem of loaded.missing) {
      log.warn({ problem }, 'a reference list could not be had; the rest goes on')
    }
    return { ...loaded }
  },
}
