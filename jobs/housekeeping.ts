import { giveUpExpired } from '../src/collect/give-up.ts'
import { prunePages, pruneWork } from '../src/history/housekeeping.ts'
import { makePartitionsAhead } from '../src/history/partitions.ts'
import type { Job } from '../src/queue/job.ts'
import { logDayBefore } from '../src/report/day.ts'

const MONTHS_AHEAD = 3

export const housekeeping: Job = {
  name: 'housekeeping',
  description:
    'Makes the partitions of the coming months, ends what is not awaited any more, and forgets work older than 90 days; sums up the day before in the log.',
  cron: '41 2 * * *',
  catchUp: 'latest',
  timeoutMs: 60 * 60_000,
  run: async ({ db, log, settings }) => {
    const day = await logDayBefore(db, log)
    const partitions = await makePartitionsAhead(db, MONTHS_AHEAD)
    const expired = await giveUpExpired(db)
    const pages = await prunePages(db, settings.keepPagesMs)
    return { day, partitions, expired, pages, ...(await pruneWork(db)) }
  },
}
