/**
 * What is due: the slots that watches ask for now and that have neither a task nor a row in the history. Each stands in `due_batch` from
 * when its slot begins until a plan decides it; plans read them piece by piece in the order of urgency, and never all watches. What the
 * budget cuts waits elsewhere (src/plan/waiting.ts).
 */
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import { UnavailableError } from '../errors.ts'
import type { Fragment } from '../ledger/money.ts'
import { TIMINGS } from '../timings.ts'

/** A person's open transaction may hold the lock of a watch. Planning goes on without it, and the next plan opens its period. */
const OPENING_LOCK_TIMEOUT_MS = 2_000

/** Of several watches of a project on one target the oldest is followed. When it has ended, this opens the period of the next one. */
export async function openTwins(db: Database): Promise<void> {
  try {
    await db.begin(async (tx) => void (await tx`select start_twins_of_ended()`), {
      name: 'Opening watches',
      lockTimeoutMs: OPENING_LOCK_TIMEOUT_MS,
    })
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
  }
}

/**
 * Common table expressions `due`, one row per (target, slot) with its `place` in the order of urgency (priority, then the time since the
 * target was measured last) and its `askers`, the ids of the projects that ask for it now, in ascending order. They read all open periods,
 * and are what `due_batch` has to agree with. Nothing waits here: `barrier` has no row.
 */
export function dueNow(sql: SqlRunner): Fragment {
  return sql`
    wanted as (
      select p.target_id, slot_of(p.every, storerank_now()) as slot, j.id as project_id,
        max(p.depth) as depth, max(p.priority) as priority, max(slot_of(p.every, storerank_now()) + p.every) as slot_ends_at,
        bool_or(p.html) as html
      from watch_period p join project j on j.name = p.project
      where p.ended_at is null and p.target_id is not null and slot_of(p.every, storerank_now()) >= p.first_slot
      group by 1, 2, 3
    ),
    due as (
      select d.*, row_number() over (order by d.priority desc, d.captured_at nulls first, d.slot, d.target_id) as place
      from (
        select a.target_id, a.slot, t.store, t.function, t.captured_at, max(a.depth) as depth, max(a.priority) as priority,
          max(a.slot_ends_at) as slot_ends_at, bool_or(a.html) as html, array_agg(a.project_id order by a.project_id) as askers
        from wanted a join target t on t.id = a.target_id
        where not exists (select from task k where k.target_id = a.target_id and k.slot = a.slot and k.state <> 'dropped')
          and not exists (select from ranking_row r where r.target_id = a.target_id and r.slot = a.slot
            and r.slot > storerank_now() - interval '32 days')
          and not exists (select from app_snapshot s where s.target_id = a.target_id and s.slot = a.slot
            and s.slot > storerank_now() - interval '32 days')
        group by 1, 2, 3, 4, 5
      ) d
    ),
    barrier as (select 0 as scope, 0::bigint as place where false)`
}

/** Slots of the pieces of a plan: its first one, and the most that any other has. */
export interface PieceSizes {
  readonly firstSlots: number
  readonly pieceSlots: number
}

/** What is due at an instant and less urgent than all that a plan has queued. */
export interface UnqueuedSlots {
  /** As Postgres writes it. */
  readonly present: string
  readonly behind: DuePlace
}

/** So many times as many periods as a piece has slots are queued at once; of more, the most urgent ones are queued and planned first. */
const FEW_PIECES = 5

/**
 * Queues what has become due since the last plan. Where nothing has it reads a row for each interval of the watches. What is left of a
 * plan that was broken off gets its place of now, or keeps its priority where nobody asks for it any more.
 * @returns what is still to be queued: where very much is due, only the first piece is queued, so that it is not planned after a million others
 *   have been queued; null where all is queued
 */
export async function queueDueSlots(db: Database, sizes: PieceSizes): Promise<UnqueuedSlots | null> {
  await requeueLeftOver(db)
  const present = await readPresent(db)
  const queueNoted = (tx: Transaction) => tx<Queued>`
    select queue_noted_slots(${TIMINGS.planPeriods}, ${present}::text::timestamptz) as periods`
  while (await queueSome(db, queueNoted)) {}
  const behind = await queueMostUrgent(db, present, sizes)
  if (behind !== null) return { present, behind }
  await queueUnqueued(db, { present, behind: FIRST_PLACE })
  return null
}

/** Queues the rest of what `queueDueSlots` has found due. What has been due since has a row of `period_due`, or waits for the next plan. */
export async function queueUnqueued(db: Database, { present, behind }: UnqueuedSlots): Promise<void> {
  const queuePassing = (tx: Transaction) => tx<Queued>`
    select queue_passing_slots(${TIMINGS.planPeriods}, ${present}::text::timestamptz, ${placeOf(tx, behind)}) as periods`
  while (await queueSome(db, queuePassing)) {}
}

/** Rows of `due_batch`, of a hundred slots at most: another plan may wait for them, behind the ledger's lock. */
const REQUEUED_ROWS = 100

/** A row that moves behind the place that this has reached is read once more, and then stays where it is. */
async function requeueLeftOver(db: Database): Promise<void> {
  for (let after: DuePlace | undefined = FIRST_PLACE; after !== undefined; ) {
    const place: DuePlace = after
    const [last] = await db.begin(
      (tx) => tx<DuePlace[]>`
        select ${readPlace(tx)} from requeue_due_slots(${REQUEUED_ROWS}, ${placeOf(tx, place)})`,
      QUEUEING,
    )
    after = last
  }
}

async function readPresent({ sql }: Database): Promise<string> {
  const [row] = await sql<{ present: string }[]>`select storerank_now()::text as present`
  if (row === undefined) throw new Error('A select without a table returned no row.')
  return row.present
}

type Queued = { periods: number }[]

/** Returns whether there was anything to look at. */
function queueSome(db: Database, queue: (tx: Transaction) => Promise<Queued>): Promise<boolean> {
  return db.begin(async (tx) => {
    const [queued] = await queue(tx)
    return (queued?.periods ?? 0) > 0
  }, QUEUEING)
}

/** Returns the last place that it queued; null where little is due, and nothing was queued. */
async function queueMostUrgent(
  db: Database,
  present: string,
  { firstSlots, pieceSlots }: PieceSizes,
): Promise<DuePlace | null> {
  const [last] = await db.begin(
    (tx) => tx<DuePlace[]>`
      select ${readPlace(tx)} from queue_urgent_slots(${firstSlots}, ${pieceSlots * FEW_PIECES}, ${present}::text::timestamptz)`,
    QUEUEING,
  )
  return last ?? null
}

const QUEUEING = { name: 'Queueing what is due', lockTimeoutMs: TIMINGS.ledgerLockMs }

/** A place in the order of urgency: that of a due slot. */
export interface DuePlace {
  readonly targetId: number
  /** Instants as Postgres writes them: -infinity is no Date, and a Date has no microseconds. */
  readonly slot: string
  readonly capturedAt: string
  readonly priorityOrder: number
}

/** Before all due slots. */
export const FIRST_PLACE: DuePlace = {
  targetId: 0,
  slot: '-infinity',
  capturedAt: '-infinity',
  priorityOrder: -32_768,
}

/** At most so many slots in a row of `due_batch` (its check says so too). */
const SLOTS_OF_ROW = 100
/** Rows of several intervals overlap, and a piece ends where the first row begins that it did not read: with fewer it would be small. */
const FEWEST_ROWS = 10

/** The next due slots from a place on, at most so many. */
export interface DuePiece {
  /** Where the piece before ended. What it took is deleted, but stands in the index for a while: a piece does not read over it. */
  readonly after: DuePlace
  readonly slots: number
}

/**
 * Takes a piece of `due_batch`: `piece`, `due` as `dueNow` says, and `last`, its last place, which has no row when nothing is left
 * behind it. A slot may be due twice; periods that ended meanwhile ask no more; and another plan may have bought some of them.
 */
export function duePiece(sql: SqlRunner, next: DuePiece): Fragment {
  return sql`${takenSlots(sql, next)}, ${askedSlots(sql)}`
}

/**
 * A piece has at most so many slots, and askers (TIMINGS.planAskers), but always one slot. It ends at the first row that was not read,
 * because rows may overlap, and what it leaves of those that it read is queued again.
 */
function takenSlots(sql: SqlRunner, { after, slots }: DuePiece): Fragment {
  const order = sql`priority_order, captured_at, slot, target_id`
  const rows = Math.max(FEWEST_ROWS, Math.ceil(slots / SLOTS_OF_ROW) + 2)
  return sql`
    head as materialized (
      select *, row_number() over (order by ${order}) as number
      from (
        select ctid as row_id, ${order}, captured_ats, target_ids, askers from due_batch
        where (${order}) >= (${placeOf(sql, after)}) order by ${order} limit ${rows + 1}
      ) h
    ),
    reach as (
      select ${order} from head where number > ${rows}
      union all
      select 32767, 'infinity', 'infinity', 2147483647
      order by 1, 2, 3, 4 limit 1
    ),
    element as materialized (
      select *, row_number() over o as place, (${order}) <= (select ${order} from reach)
        and (row_number() over o = 1 or sum(askers) over o <= ${TIMINGS.planAskers}) as is_in_reach
      from (
        select row_id, priority_order, unnest(captured_ats) as captured_at, slot, unnest(target_ids) as target_id,
          unnest(askers) as askers
        from head where number <= ${rows}
      ) e
      window o as (order by ${order} rows unbounded preceding)
    ),
    piece as materialized (select ${order}, place from element where place <= ${slots} and is_in_reach),
    rest as materialized (select ${order}, askers, row_id from element where place > ${slots} or not is_in_reach),
    end_of_piece as materialized (select ${order} from piece where place = (select count(*) from piece)),
    -- The place of a row is that of its first slot.
    taken as materialized (
      select row_id from head where number <= ${rows} and (${order}) <= (select ${order} from end_of_piece)
    ),
    deleted as (
      delete from due_batch where ctid = any(array(select row_id from taken))
    ),
    queued_again as (
      insert into due_batch (${order}, captured_ats, target_ids, askers)
      select d.*
      from (
        select priority_order, slot, array_agg(captured_at order by captured_at, target_id) as captured_ats,
          array_agg(target_id order by captured_at, target_id) as target_ids,
          array_agg(askers order by captured_at, target_id) as askers
        from rest where row_id in (select row_id from taken)
        group by priority_order, slot
      ) n cross join lateral due_batches(n.priority_order, n.slot, n.captured_ats, n.target_ids, n.askers) d
    ),
    last as (
      select ${readPlace(sql)} from end_of_piece where exists (select from rest) or exists (select from head where number > ${rows})
    )`
}

/** Who asks for the slots of `piece`. Tables that grow with the watches are read by its ids: a join would read all of them for each piece. */
function askedSlots(sql: SqlRunner): Fragment {
  const targets = sql`any((select ids from wanted)::int[])`
  return sql`
    wanted as materialized (select array_agg(target_id) as ids from piece),
    -- By the ids of each slot: a look-up for each row took twice as long.
    done as materialized (
      select m.target_id, s.slot
      from (select slot, array_agg(target_id) as ids from piece group by 1) s
      cross join lateral (
        select target_id from task where target_id = any(s.ids) and slot = s.slot and state <> 'dropped'
        union all
        select target_id from ranking_row where target_id = any(s.ids) and slot = s.slot
        union all
        select target_id from app_snapshot where target_id = any(s.ids) and slot = s.slot
      ) m
    ),
    due as (
      select a.*, t.store, t.function
      from (
        select min(i.place) as place, p.target_id, i.slot, max(p.depth) as depth, max(p.priority) as priority,
          i.slot + max(p.every) as slot_ends_at, bool_or(p.html) as html, array_agg(distinct j.id order by j.id) as askers
        from watch_period p join piece i on i.target_id = p.target_id and i.slot = slot_of(p.every, (select storerank_now()))
        join project j on j.name = p.project
        where p.target_id = ${targets} and p.ended_at is null and i.slot >= p.first_slot
          -- Of nearly all pieces \`done\` is empty, and a join would copy all rows into a hash table to find that out.
          and (i.target_id, i.slot) not in (select target_id, slot from done)
        group by p.target_id, i.slot
      ) a join target t on t.id = a.target_id
      where t.id = ${targets}
    )`
}

/** The columns of a function that returns a place. */
function readPlace(sql: SqlRunner): Fragment {
  return sql`priority_order as "priorityOrder", captured_at::text as "capturedAt", slot::text, target_id as "targetId"`
}

/** A place as Postgres compares it, and as arguments of a function. */
function placeOf(sql: SqlRunner, { priorityOrder, capturedAt, slot, targetId }: DuePlace): Fragment {
  return sql`${priorityOrder}::smallint, ${capturedAt}::text::timestamptz, ${slot}::text::timestamptz, ${targetId}::int`
}

/** Makes the next plan and the next closing read all periods, as after a crash. The daily call bounds how long a mistake in what is due can last. */
export async function lookAtAllPeriods(db: Database): Promise<void> {
  await db.sql`delete from interval_progress`
}
