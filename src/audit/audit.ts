/**
 * Compares what the service's own list says it charged in the past days with our charges: adjustments make
 * ours equal, and `audit_problem` shows every difference. Free of charge.
 */
import type { Database } from '../db/database.ts'
import { UnavailableError } from '../errors.ts'
import { adoptOrphans, keepUncharged, toListedIds } from '../ledger/adopt.ts'
import { correctIds } from '../ledger/correct-ids.ts'
import { readWrongClock } from '../ledger/lock.ts'
import { findForgotten, holdForRecovery, readRestoreState } from '../ledger/restored.ts'
import { logDuplicates } from '../ledger/task-failures.ts'
import type { Logger } from '../log.ts'
import { checkForRestore, describeForgotten } from '../post/restored.ts'
import {
  EDGE_MS,
  type Range,
  type ScanOptions,
  scanTaskHistory,
  slicesOf,
  TAGS_KNOWN_DAYS,
  toCreated,
} from '../post/task-history.ts'
import type { AppDataClient } from '../service/client.ts'
import { type Compared, compareBooks, keepListed, type ListedTask } from './compare.ts'

const HOUR_MS = 3_600_000
/** So old is a check that is made again before posts wait for it. */
const RENEW_MINUTES = 30

export interface AuditOptions extends ScanOptions {
  readonly overdueAfterMs: number
  /** Has a line for each task that was charged twice. */
  readonly log?: Logger
}

export interface Audited extends Compared {
  /** Tasks that the service lists. */
  readonly listed: number
  /** Tasks of ours that had no charge, and have one now. */
  readonly recorded: number
}

/**
 * Audits every day that is due, the oldest first, each for itself. Its pages take all calls of the list that
 * a minute has, so it renews the check for which posts would wait.
 * @param job the job whose runs say what was audited before
 */
export async function auditDueDays(
  db: Database,
  client: AppDataClient,
  job: string,
  options: AuditOptions,
): Promise<Audited & { readonly days: number }> {
  // A clock that was set tells of each charge another day than the service's list does.
  const wrong = await readWrongClock(db.sql)
  if (wrong !== null) throw new UnavailableError(`Nothing was compared, and the next audit does. ${wrong}`)
  const days = await readDueDays(db, job, await client.readServiceTime())
  const total = { days: days.length, listed: 0, recorded: 0, adjusted: 0, missing: 0, unknown: 0 }
  const beforePage = () => checkForRestore(db, client, options.signal, RENEW_MINUTES)
  for (const day of days) {
    const audited = await auditPosted(db, client, day, { ...options, beforePage })
    for (const count of Object.keys(audited) as (keyof Audited)[]) total[count] += audited[count]
  }
  return total
}

/**
 * Each UTC day is due twice: on the next day, and on the one after, when its last tasks are done, refunded
 * and stored. Days that no audit reached are due too, as far back as the service lists tags.
 * @param present by the clock of the service, in whose days is audited
 */
export async function readDueDays(db: Database, job: string, present: Date): Promise<Range[]> {
  return db.sql<Range[]>`
    select due as "from", due + interval '1 day' as "to"
    from (select date_trunc('day', ${present}::timestamptz, 'UTC') as today) clock
    cross join (
      select date_trunc('day', max(slot), 'UTC') as audited from job_run where job = ${job} and state = 'done'
    ) last
    cross join generate_series(
      greatest(today - make_interval(days => ${TAGS_KNOWN_DAYS - 1}),
        least(today - interval '1 day', coalesce(audited - interval '1 day', today - interval '2 days'))),
      today - interval '1 day', interval '1 day') due
    order by due`
}

/**
 * Audits the hour of each charge of the past day that is doubted, until it is adjusted: one wrong number uses
 * up the budget of its day. Returns how many hours were audited.
 */
export async function auditDoubted(
  db: Database,
  client: AppDataClient,
  options: AuditOptions,
): Promise<number> {
  const doubted = await db.sql<{ agoMs: number }[]>`
    select extract(epoch from clock_timestamp() - c.charged_at)::float8 * 1000 as "agoMs"
    from charged_price c join task k using (service_id)
    where c.is_doubted and c.charged_at > clock_timestamp() - interval '1 day'
      and k.state in ('collected', 'failed')
      and not exists (
        select from charge a where a.service_id = c.service_id and a.kind = 'adjustment')`
  for (const { agoMs } of doubted) {
    const toMs = (await client.readServiceTime()).getTime() - agoMs
    const range = { from: new Date(toMs - HOUR_MS), to: new Date(toMs + EDGE_MS) }
    await auditPosted(db, client, range, options)
  }
  return doubted.length
}

/**
 * Audits what was posted within a range, by the clock of the service.
 * @throws UnavailableError when the list never stood still while it was read: nothing was compared then
 */
export async function auditPosted(
  db: Database,
  client: AppDataClient,
  range: Range,
  options: AuditOptions,
): Promise<Audited> {
  const { present, listedTo } = await client.readListEnd()
  const [clock] = await db.sql<{ aheadMs: number }[]>`
    select extract(epoch from ${present}::timestamptz - clock_timestamp())::float8 * 1000 as "aheadMs"`
  const listedRange = {
    from: new Date(range.from.getTime() - EDGE_MS),
    to: new Date(Math.min(range.to.getTime() + EDGE_MS, listedTo.getTime())),
  }
  const { found: listed, isComplete } = await scanTaskHistory(client, listedRange, keepListed, options)
  if (!isComplete) {
    throw new UnavailableError(
      `The tasks that the service lists from ${range.from.toISOString()} on changed places each time ` +
        'they were read, so nothing was compared. The next audit reads them again.',
    )
  }
  const recorded = await recordListed(db, listed, range, options)
  const compared = await compareBooks(db, slicesOf(listed), range, clock?.aheadMs ?? 0)
  return { listed: listed.length, recorded, ...compared }
}

/**
 * Records the tasks of ours that have no charge, and returns how many. Those that the ledger does not know
 * another copy of this database may have bought: then posting stops.
 */
async function recordListed(
  db: Database,
  listed: readonly ListedTask[],
  { from }: Range,
  { overdueAfterMs, log }: AuditOptions,
): Promise<number> {
  const ours = listed.map(toCreated).filter((task) => task !== null)
  await correctIds(db, ours, log)
  const listedIds = toListedIds(ours)
  const uncharged: ListedTask[] = []
  let recorded = 0
  for (const slice of slicesOf(listed)) {
    const found = await keepUncharged(db.sql, slice, ({ id }) => id)
    uncharged.push(...found)
    const created = found.map(toCreated).filter((task) => task !== null)
    if (created.length === 0) continue
    const evidence = await db.begin((tx) => adoptOrphans(tx, created, overdueAfterMs, listedIds))
    recorded += evidence.adopted + evidence.duplicates
    if (evidence.duplicates > 0) await logDuplicates(db.sql, log, created)
  }
  const { installation, lastChargeAt } = await readRestoreState(db.sql)
  const forgotten = lastChargeAt === null ? [] : await findForgotten(db.sql, installation, uncharged)
  if (forgotten.length > 0) await holdForRecovery(db.sql, from, describeForgotten(from))
  return recorded
}
