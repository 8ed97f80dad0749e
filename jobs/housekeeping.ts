import { pruneAlerts } from '../src/alerts/prune.ts'
import { saysOutage } from '../src/db/outage.ts'
import { pruneWork } from '../src/history/housekeeping.ts'
import { makePartitionsAhead, pruneHistory, prunePages } from '../src/history/retention.ts'
import { moveOldMonths } from '../src/history/tablespace.ts'
import { pruneMoney } from '../src/ledger/prune.ts'
import { giveUpResults } from '../src/ledger/task-failures.ts'
import { endLostRuns, type Job } from '../src/queue/job.ts'
import { openMissingPeriods } from '../src/watch/references.ts'

const MONTHS_AHEAD = 3

export const housekeeping: Job = {
  name: 'housekeeping',
  description:
    'Makes the partitions of the coming months, ends what is not awaited any more, forgets what is too ' +
    'old, moves old months to their tablespace, and follows watches that were kept from it.',
  cron: '41 2 * * *',
  catchUp: 'latest',
  timeoutMs: 60 * 60_000,
  cycle: {
    step: 'tidy',
    words: { doing: 'tidying up', done: 'tidied up' },
    // What it leaves undone, such as a month that a reader holds, the next run does.
    forgive: (error) =>
      saysOutage(error)
        ? null
        : `Housekeeping did not end well, and the next run tries again: ${error.message}`,
  },
  run: async ({ db, settings: { keep, oldMonthsTablespace }, signal }) => {
    const partitions = await makePartitionsAhead(db, MONTHS_AHEAD)
    const expired = await giveUpResults(db.sql)
    await openMissingPeriods(db)
    const lostRuns = await endLostRuns(db)
    const work = await pruneWork(db, signal)
    const alerts = await pruneAlerts(db, signal)
    const pages = await prunePages(db, keep.pagesMs, signal)
    const history = await pruneHistory(db, keep.historyMs, signal)
    const charges = await pruneMoney(db, keep.moneyMs, signal)
    const { moved, left } = await moveOldMonths(db, oldMonthsTablespace, signal)
    return {
      partitions,
      expired,
      lostRuns,
      ...work,
      ...alerts,
      pages: pages.rows,
      history: history.rows,
      months: pages.months + history.months,
      charges,
      moved,
      left,
    }
  },
}
