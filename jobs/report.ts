import { forgiveKnown, type Job } from '../src/queue/job.ts'
import { writeReports } from '../src/report/write-reports.ts'

export const report: Job = {
  name: 'report',
  description: 'Writes the page of each project whose collection is over to REPORT_DIR, where that is set.',
  cron: '5,20,35,50 * * * *',
  catchUp: 'latest',
  timeoutMs: 60 * 60_000,
  cycle: {
    step: 'end',
    words: { doing: 'writing the reports', done: 'reports written' },
    isNeeded: ({ settings }) => settings.reports !== null,
    warnOf: ({ left }) =>
      left === undefined
        ? null
        : `The time was over before the pages of ${left} projects were looked at: the next run begins with ` +
          'them. A longer --wait, or `storerank run report`, writes all.',
    forgive: forgiveKnown('The reports were not written'),
  },
  run: async ({ db, settings, signal, over }) => {
    if (settings.reports === null) return { written: [] }
    return { ...(await writeReports(db, settings.reports, signal, over)) }
  },
}
