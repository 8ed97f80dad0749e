/**
 * `correct`: the id of a task is what the service said when the task was posted, and no task may have it, or
 * another one. A complete list has each task's id beside our tag: it is right.
 */
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { Logger } from '../log.ts'
import { type CreatedTask, toListedIds } from './adopt.ts'
import { lockTasks } from './lock.ts'

interface WrongId {
  readonly taskId: string
  readonly oldId: string
  readonly newId: string
  /** Whether the new id has a charge. */
  readonly isTaken: boolean
}

/**
 * Gives tasks the ids under which a complete list has their tags, unless it has the known ids under them too.
 * Charges keep their money, and no second one is made. What is awaited is asked for at once.
 */
export async function correctIds(
  db: Database,
  listed: readonly CreatedTask[],
  log: Logger | undefined,
): Promise<void> {
  const others = await findOtherIds(db.sql, listed)
  if (others.length === 0) return
  const tasksById = toListedIds(listed)
  const unlisted = others.filter(({ taskId, oldId }) => tasksById.get(oldId) !== taskId)
  const onePerTask = [...new Map(unlisted.map((other) => [other.taskId, other])).values()]
  const wrong = keepMovable(await addEarlierAttempts(db.sql, listed, onePerTask))
  if (wrong.length === 0) return
  await db.begin((tx) => moveIds(tx, wrong))
  log?.warn({ tasks: wrong.length }, "ids of tasks were wrong, and are corrected by the service's own list")
}

/** Tasks whose present attempt is listed under another id than the one that is known. */
function findOtherIds(db: SqlRunner, listed: readonly CreatedTask[]): Promise<WrongId[]> {
  return db<WrongId[]>`
    select k.id as "taskId", k.service_id as "oldId", l.service_id as "newId",
      exists (select from charge c where c.service_id = l.service_id) as "isTaken"
    from ${listedRows(listed)}
    join task k on k.id = l.task_id and k.attempt = l.attempt
    where k.service_id <> l.service_id`
}

/** A wrong id may be that of an attempt that was repeated since: only its charge has it. */
async function addEarlierAttempts(
  db: SqlRunner,
  listed: readonly CreatedTask[],
  wrong: readonly WrongId[],
): Promise<readonly WrongId[]> {
  const left = new Set(wrong.map(({ oldId }) => oldId))
  const blocking = wrong.filter(({ isTaken, newId }) => isTaken && !left.has(newId)).map(({ newId }) => newId)
  if (blocking.length === 0) return wrong
  const all = [...wrong]
  for (const each of await findEarlierIds(db, listed, blocking))
    if (!all.some(({ oldId, newId }) => oldId === each.oldId || newId === each.newId)) all.push(each)
  return all.length === wrong.length ? wrong : addEarlierAttempts(db, listed, all)
}

/** Earlier attempts that are charged under one of the ids, and listed under another one without a charge. */
function findEarlierIds(
  db: SqlRunner,
  listed: readonly CreatedTask[],
  ids: readonly string[],
): Promise<WrongId[]> {
  return db<WrongId[]>`
    select distinct k.id as "taskId", c.service_id as "oldId", l.service_id as "newId",
      exists (select from charge o where o.service_id = l.service_id) as "isTaken"
    from charge c join task k on k.target_id = c.target_id and k.slot = c.slot
    join ${listedRows(listed)} on l.task_id = k.id and l.attempt < k.attempt
    where c.service_id = any(${ids}::text[]) and k.service_id is distinct from c.service_id
      and not exists (select from charge o where o.service_id = l.service_id
        and o.target_id = k.target_id and o.slot = k.slot)
    order by 1, 2, 3`
}

function listedRows(listed: readonly CreatedTask[]) {
  return sql.rows('l', listed, 'taskId uuid, attempt int, serviceId text')
}

/** An id that has a charge moves to another task only when the task that has it leaves it as well. */
function keepMovable(wrong: readonly WrongId[]): readonly WrongId[] {
  const left = new Set(wrong.map(({ oldId }) => oldId))
  const movable = wrong.filter(({ isTaken, newId }) => !isTaken || left.has(newId))
  return movable.length === wrong.length ? movable : keepMovable(movable)
}

/** Tasks may have changed their ids with each other, so each id is moved out of the way first. */
async function moveIds(tx: Transaction, wrong: readonly WrongId[]): Promise<void> {
  const oldIds = wrong.map(({ oldId }) => oldId)
  const newIds = wrong.map(({ newId }) => newId)
  const asideIds = newIds.map((id) => `corrected ${id}`)
  await lockTasks(tx, oldIds)
  await renameIds(tx, oldIds, asideIds)
  await renameIds(tx, asideIds, newIds)
  await tx`
    update task set problem = null, unusable_answers = 0, fetching_until = null, ask_at = clock_timestamp()
    where service_id = any(${newIds}::text[]) and state = 'posted'`
}

async function renameIds(tx: Transaction, from: readonly string[], to: readonly string[]): Promise<void> {
  const renamed = sql`unnest(${from}::text[], ${to}::text[]) as r (from_id, to_id)`
  await tx`update task k set service_id = r.to_id from ${renamed} where k.service_id = r.from_id`
  await tx`update charge c set service_id = r.to_id from ${renamed} where c.service_id = r.from_id`
}
