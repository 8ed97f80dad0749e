/** A line now and then of what a runner has done, when it has done something. */
import type { Runner } from '../queue/runner.ts'
import { readBusinessTime, readPaidSince } from '../report/money.ts'
import { formatUsd } from '../text/money.ts'
import { countOf } from '../text/words.ts'
import type { CommandContext } from './command.ts'
import type { WorkSession } from './session.ts'

const LOOK_EVERY_MS = 60_000

export interface Work {
  readonly stored: number
  readonly posted: number
  /** Projects that paid for something, and what they paid, over all runners. */
  readonly projects: number
  readonly micros: number
}

/** Tells until it is stopped. Nothing is asked of the database while nothing was done. */
export async function startWorkReports(
  { db }: Pick<WorkSession, 'db'>,
  runner: Pick<Runner, 'progress'>,
  { log, stderr, isTerminal }: CommandContext,
): Promise<() => void> {
  let told = { ...runner.progress }
  let since = await readBusinessTime(db)
  const look = async () => {
    const { stored, posted } = runner.progress
    if (stored === told.stored && posted === told.posted) return
    const now = await readBusinessTime(db)
    const work = {
      stored: stored - told.stored,
      posted: posted - told.posted,
      ...(await readPaidSince(db, since)),
    }
    told = { stored, posted }
    since = now
    if (isTerminal) stderr.write(`${describeWork(work)}\n`)
    else log.info({ ...work }, 'work done')
  }
  const timer = setInterval(() => {
    look().catch((error) => log.debug({ err: error }, 'the work could not be added up'))
  }, LOOK_EVERY_MS).unref()
  return () => clearInterval(timer)
}

/** `stored 312 results, posted 5 measurements of 4 projects, $0.31` */
export function describeWork({ stored, posted, projects, micros }: Work): string {
  const parts = [
    ...(stored > 0 ? [`stored ${countOf(stored, 'result')}`] : []),
    ...(posted > 0 ? [`posted ${countOf(posted, 'measurement')}`] : []),
  ]
  const paid = micros === 0 ? '' : ` of ${countOf(projects, 'project')}, ${formatUsd(micros)}`
  return `${parts.join(', ')}${paid}`
}
