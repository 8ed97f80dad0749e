/** Due slots in the order of urgency: priority, then the time since the target was measured last. */
import type { Transaction } from '../db/database.ts'
import { type Statement, sql } from '../db/sql.ts'
import { runsThere } from '../ledger/clock.ts'
import { TIMINGS } from '../timings.ts'

/** A place in the order of urgency. Instants as Postgres writes them: -infinity is no Date. */
export interface DuePlace {
  readonly priority: number
  readonly capturedAt: string
  readonly slot: string
  readonly targetId: number
}

export const FIRST_PLACE: DuePlace = {
  priority: 32_767,
  capturedAt: '-infinity',
  slot: '-infinity',
  targetId: 0,
}

/**
 * Makes the temporary table `piece` of the next due slots, each with its `place` in the order of urgency and
 * its `row_id` in `due_slot`. A piece has at most so many askers (TIMINGS.planAskers), but always one slot.
 * @param after where the piece before it ended
 * @param exhausted budgets without room, by `project.id`; 0 is all together: what was cut for want of these
 *   alone is passed over
 * @returns the last place of it; null when nothing is left
 */
export async function takePiece(
  tx: Transaction,
  after: DuePlace,
  slots: number,
  exhausted: ReadonlySet<number>,
): Promise<DuePlace | null> {
  const urgency = sql`-priority, captured_at, slot, target_id`
  await tx`
    create temporary table piece on commit drop as
    select *
    from (
      select *, row_number() over (order by ${urgency}) as place, sum(askers)
        over (order by ${urgency}) as askers_so_far
      from (
        select ctid as row_id, target_id, slot, priority, captured_at, askers from due_slot
        where (${urgency}) > (${-after.priority}::int, ${after.capturedAt}::text::timestamptz,
            ${after.slot}::text::timestamptz, ${after.targetId}::int)
          and slot <= (select storerank_now()) and ${runsThere(sql`slot`, sql`ends_at`)}
          and (short_of is not null and ${exhausted.has(0)}::boolean
            or short_of <@ ${[...exhausted]}::int[]) is not true
        order by ${urgency} limit ${slots}
      ) d
    ) d
    where place = 1 or askers_so_far <= ${TIMINGS.planAskers}`
  const [last] = await tx<DuePlace[]>`
    select priority, captured_at::text as "capturedAt", slot::text, target_id as "targetId" from piece
    order by place desc limit 1`
  return last ?? null
}

/**
 * Common table expressions that end in `due`: the slots of `piece` that watches ask for now, and `askers`,
 * the ids of their projects. Tables that grow are read by the ids of the piece: a join would read all.
 */
export function askedPiece(): Statement {
  return sql`
    due as (
      select a.*, t.store, t.function
      from (
        select i.place, i.row_id, i.target_id, i.slot, max(p.depth) as depth, max(p.priority) as priority,
          i.slot + max(p.every) as slot_ends_at, bool_or(p.html) as html,
            array_agg(distinct j.id order by j.id) as askers
        from piece i
        join watch_period p on p.target_id = i.target_id
          and slot_of(p.every, (select storerank_now())) = i.slot
        join project j on j.name = p.project
        where p.target_id = any(array(select target_id from piece)) and p.ended_at is null
          and p.first_slot <= i.slot
        group by i.place, i.row_id, i.target_id, i.slot
      ) a join target t on t.id = a.target_id
      where t.id = any(array(select target_id from piece))
        -- A task that was dropped may have been adopted since.
        and (
          select k.id from task k where k.slot = a.slot and k.target_id = a.target_id
            and k.state <> 'dropped') is null
    )`
}

/**
 * The same of all that is due, opened or not: what plans would decide now. What is opened keeps its place in
 * the order of urgency, unless its watch was changed since.
 */
export function askedNow(): Statement {
  return sql`
    wanted as (
      select p.target_id, slot_of(p.every, (select storerank_now())) as slot, j.id as project_id,
        max(p.depth) as depth, max(p.priority) as priority, max(p.every) as every, bool_or(p.html) as html,
        bool_or(p.id in (select period_id from period_change)) as is_changed
      from watch_period p join project j on j.name = p.project
      where p.ended_at is null and p.target_id is not null
        and slot_of(p.every, (select storerank_now())) >= p.first_slot
      group by 1, 2, 3
    ),
    asked as (
      select target_id, slot, max(depth) as depth, max(priority) as priority,
        slot + max(every) as slot_ends_at,
        bool_or(html) as html, bool_or(is_changed) as is_changed,
          array_agg(project_id order by project_id) as askers
      from wanted group by 1, 2
    ),
    due as (
      select a.*, null::tid as row_id, t.store, t.function, row_number() over (
        order by case when is_changed or d.slot is null then a.priority else d.priority end desc,
          coalesce(d.captured_at, t.captured_at, '-infinity'), a.slot, a.target_id) as place
      from asked a join target t on t.id = a.target_id
      left join due_slot d on d.target_id = a.target_id and d.slot = a.slot
      where not exists (
          select from task k where k.target_id = a.target_id and k.slot = a.slot and k.state <> 'dropped')
        and not exists (select from ranking_row r where r.target_id = a.target_id and r.slot = a.slot
          and r.slot > storerank_now() - interval '32 days')
        and not exists (select from app_snapshot s where s.target_id = a.target_id and s.slot = a.slot
          and s.slot > storerank_now() - interval '32 days')
        and ${runsThere(sql`a.slot`, sql`a.slot_ends_at`)}
    )`
}
