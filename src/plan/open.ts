/**
 * Opening: a slot becomes a row of `due_slot` a little before it begins. All periods of an interval begin
 * slots at the same instants, so that one instant says what is opened (`ledger.opened_to`). Periods that
 * began, changed or ended are looked at for themselves (`period_change`).
 */
import type { Database, Transaction } from '../db/database.ts'
import { readByIndexes } from '../db/joins.ts'
import { oneRow } from '../db/one-row.ts'
import { type Statement, sql } from '../db/sql.ts'
import { noteFirstOpening, noteOpened, withLedgerLock } from '../ledger/lock.ts'
import { TIMINGS } from '../timings.ts'

/** Opens the slots that have begun or soon will, in pieces. Broken off, the next call begins anew. */
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
