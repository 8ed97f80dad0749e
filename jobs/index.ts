/** Every scheduled job, in the order in which a whole cycle needs them. */
import type { Job } from '../src/queue/job.ts'
import { account } from './account.ts'
import { alerts } from './alerts.ts'
import { audit } from './audit.ts'
import { collect } from './collect.ts'
import { failures } from './failures.ts'
import { housekeeping } from './housekeeping.ts'
import { reconcile } from './reconcile.ts'
import { references } from './references.ts'
import { report } from './report.ts'
import { status } from './status.ts'
import { summary } from './summary.ts'
import { track } from './track.ts'

export const JOBS: readonly Job[] = [
  references,
  account,
  status,
  housekeeping,
  track,
  reconcile,
  collect,
  failures,
  audit,
  report,
  alerts,
  summary,
]

/** @throws Error for a name that no job has */
export function findJob(name: string): Job {
  const job = JOBS.find((each) => each.name === name)
  if (job === undefined) throw new Error(`There is no job ${name}.`)
  return job
}
