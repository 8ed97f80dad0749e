/**
 * One line of the log with its ids for each task that failed, whose result was rejected, or that was charged
 * twice. They are read after the commit, at most twenty at once, and a line says how many more there are.
 * What cannot be read is left out: the views have it.
 */
import type { SqlRunner } from '../db/database.ts'
import { type Statement, sql } from '../db/sql.ts'
import type { Logger } from '../log.ts'

const LINES_AT_ONCE = 20

interface FailedTask {
  readonly taskId: string
  readonly serviceId: string | null
  readonly postId: string | null
  readonly statusCode: number | null
  readonly problem: string | null
  /** The field that breaks the contract, of a rejected result. */
  readonly path: string | null
  readonly total: number
}

/** Logs those of the tasks that have failed, by their ids at the service. */
export async function logFailedResults(
  db: SqlRunner,
  log: Logger,
  serviceIds: readonly string[],
): Promise<void> {
  await logFailed(db, log, sql`k.service_id = any(${serviceIds}::text[])`)
}

/** Logs the tasks of a post that have failed. */
export async function logFailedTasks(db: SqlRunner, log: Logger, postId: string): Promise<void> {
  await logFailed(db, log, sql`k.post_id = ${postId}`)
}

async function logFailed(db: SqlRunner, log: Logger, which: Statement): Promise<void> {
  try {
    const rows = await db<FailedTask[]>`
      select k.id as "taskId", k.service_id as "serviceId", k.post_id as "postId",
        k.status_code as "statusCode", k.problem, r.path,
        count(*) over () as total
      from task k left join rejected_result r on r.task_id = k.id
      where ${which} and k.state = (select 'failed')
      order by k.id limit ${LINES_AT_ONCE}`
    for (const { total: _, path, ...task } of rows) {
      if (path === null) log.info(task, 'task failed')
      else log.warn({ ...task, path }, 'result rejected')
    }
    logFurther(log, rows, 'further tasks failed')
  } catch (error) {
    log.debug({ err: error }, 'the failed tasks could not be read')
  }
}

/** Logs those of the tasks at the service that were charged though their task was paid for. */
export async function logDuplicates(
  db: SqlRunner,
  log: Logger | undefined,
  created: readonly { readonly serviceId: string | null }[],
): Promise<void> {
  if (log === undefined) return
  const serviceIds = created.flatMap(({ serviceId }) => serviceId ?? [])
  try {
    const rows = await db<{ total: number }[]>`
      select k.id as "taskId", c.service_id as "serviceId", k.post_id as "postId",
        c.amount_micros as "amountMicros", count(*) over () as total
      from (
        select service_id, target_id, slot, sum(amount_micros)::bigint as amount_micros from charge
        where service_id = any(${serviceIds}::text[]) and kind = 'duplicate' group by 1, 2, 3
      ) c
      left join task k on k.target_id = c.target_id and k.slot = c.slot and k.state <> 'dropped'
      order by c.service_id limit ${LINES_AT_ONCE}`
    for (const { total: _, ...charged } of rows) log.warn(charged, 'task charged twice')
    logFurther(log, rows, 'further tasks were charged twice')
  } catch (error) {
    log.debug({ err: error }, 'the duplicate charges could not be read')
  }
}

function logFurther(log: Logger, rows: readonly { readonly total: number }[], message: string): void {
  const further = (rows[0]?.total ?? 0) - rows.length
  if (further > 0) log.warn({ tasks: further }, message)
}
