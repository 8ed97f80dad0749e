/** Due slots in the order of urgency: priority, then the time since the target was measured last. */
import type { Database, Transaction } from '../db/database.ts'
import { readByIndexes } from '../db/joins.ts'
import { oneRow } from '../db/one-row.ts'
import { type Statement, sql } from '../db/sql.ts'
import { noteFirstOpening, noteOpened, runsThere, withLedgerLock } from '../ledger/lock.ts'
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

/**
 * Opens the slots that have begun or soon will: each becomes a row of `due_slot`, in pieces. Broken off, the
 * next call begins anew. All periods of an interval begin slots at the same instants, so that one instant
 * says what is opened (`ledger.opened_to`). Those that began, changed or ended are looked at for themselves
 * (`period_change`).
 */
export async function openDueSlots(db: Database): Promise<void> {
  const open = <T>(work: (tx: Transaction) => Promise<T>) =>
    withLedgerLock(db, 'Opening the slots', async (tx) => {
      await readByIndexes(tx)
      return work(tx)
    })
  while ((await open(openChanged)) > 0) {}
  const horizon = await readHorizon(db)
  if (horizon === null) return
  for (const interval of await readBegunIntervals(db, horizon))
    for (let after = 0; after < ALL_TARGETS; ) after = await open((tx) => openInterval(tx, interval, after))
  await open((tx) => noteOpened(tx, horizon))
}

const ALL_TARGETS = 2_147_483_647

const horizonOf = () => sql`storerank_now() + make_interval(secs => ${TIMINGS.openAheadMs / 1000})`

/** Until when slots are opened now, as Postgres writes it; null when none has begun since the last time. */
async function readHorizon({ sql: db }: Database): Promise<string | null> {
  const [row] = await db<{ horizon: string }[]>`
    select (${horizonOf()})::text as horizon from ledger
      where opened_to < slot_of('1 hour', ${horizonOf()})`
  return row?.horizon ?? null
}

/** An interval whose periods have begun slots since. Instants and intervals as Postgres writes them. */
interface BegunInterval {
  readonly every: string
  readonly first: string
  readonly last: string
  readonly slots: number
}

/** None the first time: then every period has a row of `period_change`. */
function readBegunIntervals({ sql: db }: Database, horizon: string): Promise<BegunInterval[]> {
  return db<BegunInterval[]>`
    select i.every::text, (s.last_opened + i.every)::text as first, s.last::text,
      (extract(epoch from s.last - s.last_opened) / extract(epoch from i.every))::int as slots
    from (select distinct every from watch_period where ended_at is null and target_id is not null) i
    cross join ledger l
    cross join lateral (
      select slot_of(i.every, l.opened_to) as last_opened,
        slot_of(i.every, ${horizon}::text::timestamptz) as last
      where l.opened_to > '-infinity'
    ) s
    where s.last > s.last_opened
    order by i.every`
}

/**
 * Opens the slots of periods that changed, up to the present horizon or that of an opening at the same time,
 * which may not have seen them.
 * @returns how many periods it has looked at
 */
async function openChanged(tx: Transaction): Promise<number> {
  const { slots, slotsOfPeriod } = TIMINGS.opening
  await noteFirstOpening(tx)
  const rows = await tx<{ periods: number }[]>`
    with taken as (
      delete from period_change where ctid = any(array(select ctid from period_change limit ${slots}))
      returning period_id, from_slot
    ),
    changed as (
      select p.target_id, p.id, p.every, p.priority, p.ended_at,
        greatest(c.from_slot, p.first_slot) as from_slot,
          least(p.last_slot, (select greatest(opened_to, ${horizonOf()}) from ledger)) as to_slot
      from (select period_id, min(from_slot) as from_slot from taken group by 1) c
      join watch_period p on p.id = c.period_id
      where p.id = any(array(select period_id from taken))
    ),
    put_back as (
      insert into period_change (period_id, from_slot)
      select id, from_slot + every * ${slotsOfPeriod}::int from changed
      where from_slot + every * ${slotsOfPeriod}::int <= to_slot
    ),
    asked as materialized (
      select c.target_id, s.slot, max(s.slot + c.every) as ends_at, max(c.priority) as priority,
        count(*) as askers
      from changed c
      cross join lateral generate_series(
        c.from_slot, least(c.to_slot, c.from_slot + c.every * ${slotsOfPeriod - 1}::int), c.every) s (slot)
      where s.slot + c.every <= coalesce(c.ended_at, 'infinity')
      group by 1, 2
    ),
    ${openAsked()}
    select count(*) as periods from taken`
  return oneRow(rows).periods
}

/** Opens the slots of an interval for the targets after one. @returns the last target that is opened now */
async function openInterval(
  tx: Transaction,
  { every, first, last, slots }: BegunInterval,
  after: number,
): Promise<number> {
  const isOpen = sql`p.every = ${every}::text::interval and p.ended_at is null and p.target_id is not null
    and p.target_id > ${after}`
  const [next] = await tx<{ upTo: number }[]>`
    select p.target_id as "upTo" from watch_period p where ${isOpen}
    order by p.target_id offset ${Math.floor(TIMINGS.opening.slots / slots)} limit 1`
  const upTo = next?.upTo ?? ALL_TARGETS
  await tx`
    with asked as (
      select p.target_id, s.slot, s.slot + max(p.every) as ends_at, max(p.priority) as priority,
        count(*) as askers
      from watch_period p
      cross join generate_series(
        ${first}::text::timestamptz, ${last}::text::timestamptz, ${every}::text::interval) s (slot)
      where ${isOpen} and p.target_id <= ${upTo} and p.first_slot <= s.slot
      group by 1, 2
    ),
    ${openAsked()}
    select`
  return upTo
}

/**
 * `opened`: makes due slots of `asked (target_id, slot, ends_at, priority, askers)`, but for those that have
 * begun and have a task or a row in the history, because another watch asked for them.
 */
function openAsked(): Statement {
  return sql`
    opened as (
      insert into due_slot (target_id, slot, ends_at, priority, captured_at, askers)
      select a.target_id, a.slot, a.ends_at, a.priority, coalesce(t.captured_at, '-infinity'), a.askers
      from asked a
      cross join lateral (select t.captured_at, t.function from target t where t.id = a.target_id offset 0) t
      where a.slot > (select storerank_now()) or coalesce(
        (select true from task k where k.slot = a.slot and k.target_id = a.target_id
          and k.state <> 'dropped'),
        case when t.function in ('app_searches', 'app_list')
          then (select true from ranking_row r where r.target_id = a.target_id and r.slot = a.slot)
          else (select true from app_snapshot s where s.target_id = a.target_id and s.slot = a.slot)
        end) is null
      on conflict (target_id, slot) do update set
        ends_at = greatest(due_slot.ends_at, excluded.ends_at), askers = due_slot.askers + excluded.askers,
        short_of = null, priority = coalesce((
          select max(p.priority) from watch_period p
          where p.target_id = excluded.target_id and p.ended_at is null
            and slot_of(p.every, excluded.slot) = excluded.slot
        ), excluded.priority)
    )`
}
