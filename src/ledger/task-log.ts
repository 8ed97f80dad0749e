/**
 * A line of the log for each task that failed, whose result was rejected, or that was charged twice: after
 * the commit, at most twenty at once, and how many more there are.
 */
import type { SqlRunner } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { Logger } from '../log.ts'

const LINES_AT_ONCE = 20

/** Logs those tasks of a post, or with these ids at the service, that have failed. */
export function logFailedTasks(
  db: SqlRunner,
  log: Logger,
  of: { readonly postId: string } | { readonly serviceIds: readonly string[] },
): Promise<void> {
  const which =
    'postId' in of ? sql`k.post_id = ${of.postId}` : sql`k.service_id = any(${of.serviceIds}::text[])`
  const read = () => db<(Counted & { path: string | null })[]>`
    select k.id as "taskId", k.service_id as "serviceId", k.post_id as "postId",
      k.status_code as "statusCode", k.problem, r.path, count(*) over () as total
    from task k left join rejected_result r on r.task_id = k.id
    where ${which} and k.state = (select 'failed')
    order by k.id limit ${LINES_AT_ONCE}`
  return logRows(log, read, 'further tasks failed', ({ path, ...task }) => {
    if (path === null) log.info(task, 'task failed')
    else log.warn({ ...task, path }, 'result rejected')
  })
}

/** Logs those of the tasks at the service that were charged though their task was paid for. */
export async function logDuplicates(
  db: SqlRunner,
  log: Logger | undefined,
  created: readonly { readonly serviceId: string | null }[],
): Promise<void> {
  if (log === undefined) return
  const serviceIds = created.flatMap(({ serviceId }) => serviceId ?? [])
  const read = () => db<Counted[]>`
    select k.id as "taskId", c.service_id as "serviceId", k.post_id as "postId",
      c.amount_micros as "amountMicros", count(*) over () as total
    from (
      select service_id, target_id, slot, sum(amount_micros)::bigint as amount_micros from charge
      where service_id = any(${serviceIds}::text[]) and kind = 'duplicate' group by 1, 2, 3
    ) c
    left join task k on k.target_id = c.target_id and k.slot = c.slot and k.state <> 'dropped'
    order by c.service_id limit ${LINES_AT_ONCE}`
  await logRows(log, read, 'further tasks were charged twice', (charged) => {
    log.warn(charged, 'task charged twice')
  })
}

interface Counted {
  readonly total: number
}

/** What cannot be read is left out: the views have it. */
async function logRows<Row extends Counted>(
  log: Logger,
  read: () => Promise<readonly Row[]>,
  further: string,
  logRow: (row: Omit<Row, 'total'>) => void,
): Promise<void> {
  try {
    const rows = await read()
    for (const { total: _, ...row } of rows) logRow(row)
    const tasks = (rows[0]?.total ?? 0) - rows.length
    if (tasks > 0) log.warn({ tasks }, further)
  } catch (error) {
    log.debug({ err: error }, 'tasks could not be read for the log')
  }
}
