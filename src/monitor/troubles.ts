/**
 * What is wrong, as sentences that say what to do: for `status --check`, for monitoring systems, and for a
 * heartbeat.
 */
import { describeOutage } from '../account/service-status.ts'
import { formatMinute } from '../instant.ts'
import { formatUsd } from '../text/money.ts'
import type { Figures, JobFigures } from './figures.ts'

/** Stable: monitoring may match them. The most urgent first, as docs/operations.md has them. */
export const TROUBLE_KINDS = [
  'no_room',
  'restored',
  'outage',
  'no_run',
  'job_failed',
  'not_posted',
  'unknown_posts',
  'overdue',
  'budget',
  'balance',
  'books',
  'not_told',
] as const

export interface Trouble {
  readonly kind: (typeof TROUBLE_KINDS)[number]
  readonly message: string
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Later than the shortest `every` of all watches: a slot has passed, and no plan has looked at it. */
const PLAN_GRACE_MS = HOUR_MS
/** The quiet time and two scans are over by then. */
const UNKNOWN_TOO_LONG_MS = HOUR_MS
/** Results are overdue after 45 minutes, and asked for by id: hours later it is no delay any more. */
const OVERDUE_TOO_LONG_MS = 6 * HOUR_MS

/** Pure: everything that a person should see to, the most urgent first. */
export function findTroubles(figures: Figures): Trouble[] {
  const { at, work, outage, restoreHold, noRoom } = figures
  const troubles: Trouble[] = []
  const add = (kind: Trouble['kind'], message: string | null) => {
    if (message !== null) troubles.push({ kind, message })
  }
  add(
    'no_room',
    noRoom === null
      ? null
      : `The database server cannot write: ${noRoom}. Make room on its disk; nothing is lost, and the ` +
          'work goes on by itself.',
  )
  add('restored', restoreHold)
  add('outage', outage === null ? null : `${describeOutage(outage)} Nothing is posted until it is over.`)
  add('no_run', describeNoRun(figures))
  for (const job of figures.jobs) add('job_failed', describeFailed(job))
  if (restoreHold === null && outage === null && work.heldPosts > 0) {
    add('not_posted', `${work.heldPosts} posts are not sent. ${work.heldBecause ?? ''}`.trimEnd())
  }
  if (restoreHold === null && outage === null && work.refusedTasks > 0) {
    add('not_posted', `${work.refusedTasks} tasks are not taken. ${work.refusedBecause ?? ''}`.trimEnd())
  }
  add(
    'unknown_posts',
    isOlder(work.unknownSince, at, UNKNOWN_TOO_LONG_MS)
      ? `${work.unknownPosts} posts are unknown, the oldest since ${stamp(work.unknownSince)}: look ` +
          'whether the job reconcile fails.'
      : null,
  )
  add(
    'overdue',
    isOlder(work.overdueSince, at, OVERDUE_TOO_LONG_MS)
      ? `${work.overdue} results are overdue, the oldest posted at ${stamp(work.overdueSince)}: select * ` +
          `from task_problem where kind = 'overdue'.`
      : null,
  )
  add(
    'budget',
    work.cut > 0
      ? `The budget does not reach ${work.cut} slots that are due. \`storerank plan\` says which budget ` +
          'is used up.'
      : null,
  )
  add('balance', figures.budgets.find((line) => line.period === 'balance')?.warning ?? null)
  for (const message of describeBooks(figures)) add('books', message)
  for (const message of figures.untold) add('not_told', message)
  return troubles
}

function describeBooks({ differences, duplicateMicros }: Figures): string[] {
  return [
    ...(differences > 0
      ? [
          `The audit found ${differences} tasks of which the service's books and ours say different ` +
            'things: select * from audit_problem order by at desc.',
        ]
      : []),
    ...(duplicateMicros > 0
      ? [
          `${formatUsd(duplicateMicros)} was charged for what was charged already: select * from ` +
            `task_problem where kind = 'duplicate'.`,
        ]
      : []),
  ]
}

/** No plan for longer than the shortest watch lasts. A database without a watch needs none. */
function describeNoRun({ at, jobs, work }: Figures): string | null {
  if (work.shortestEveryS === null) return null
  const track = jobs.find((job) => job.job === 'track')
  if (track === undefined) return null
  const limitMs = work.shortestEveryS * 1000 + PLAN_GRACE_MS
  if (track.lastSuccessAt !== null && !isOlder(track.lastSuccessAt, at, limitMs)) return null
  const since =
    track.lastSuccessAt === null
      ? 'Nothing was ever planned'
      : `Nothing was planned since ${stamp(track.lastSuccessAt)}`
  return (
    `${since}, and slots have passed. Start \`storerank start\`, or look why the cron job of \`storerank ` +
    'run` does not run.'
  )
}

function describeFailed({ job, state, at, error }: JobFigures): string | null {
  if (state !== 'failed') return null
  return `The last run of the job ${job}, at ${stamp(at)}, failed: ${error ?? 'no reason was given'}`
}

function isOlder(instant: Date | null, now: Date, ageMs: number): boolean {
  return instant !== null && now.getTime() - instant.getTime() > ageMs
}

function stamp(instant: Date | null): string {
  return instant === null ? 'an unknown time' : formatMinute(instant)
}
