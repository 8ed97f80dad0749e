/** What planning and closing have to look at next, so that they never read all watches. drizzle/objects/due-periods.sql says how. */
import { sql } from 'drizzle-orm'
import {
  bigint,
  check,
  index,
  integer,
  interval,
  pgTable,
  primaryKey,
  smallint,
  text,
} from 'drizzle-orm/pg-core'
import { instant, micros } from './columns.ts'

/**
 * Up to which slot all open periods of an interval were looked at, for planning and for closing: so that a plan finds out that nothing is
 * new by reading one row for each interval. Unlogged like the next three tables: after a crash all four are empty, and every period is
 * looked at once more.
 */
export const intervalProgress = pgTable(
  'interval_progress',
  {
    work: text('work').notNull(),
    /** Of periods; 0 is the row by which the work was begun. */
    every: interval('every').notNull(),
    /** All periods were looked at in this slot; null before the first time. */
    slot: instant('slot'),
    /** The slot for which they are looked at now, and the last period that was. */
    passing: instant('passing'),
    periodId: bigint('period_id', { mode: 'number' }).notNull().default(0),
  },
  (t) => [
    primaryKey({ columns: [t.work, t.every] }),
    check('interval_progress_work_known', sql`work in ('open', 'plan', 'close')`),
  ],
)

/**
 * Periods that have to be looked at for themselves, because they began, ended or have to wait. Without a key: a transaction of a person
 * that is open never makes a plan wait.
 */
export const periodDue = pgTable(
  'period_due',
  {
    work: text('work').notNull(),
    periodId: bigint('period_id', { mode: 'number' }).notNull(),
    at: instant('at').notNull(),
  },
  (t) => [
    index('period_due_by_time').on(t.work, t.at),
    check('period_due_work_known', sql`work in ('open', 'plan', 'close')`),
  ],
)

/**
 * Slots that are due and were not decided yet, up to a hundred of one instant and priority in a row: a row and an index entry for each were
 * a tenth of a plan. A plan takes them in the order of urgency; what becomes due twice, for watches of two projects, it decides once.
 */
export const dueBatch = pgTable(
  'due_batch',
  {
    /** The priority with its sign changed, so that one ascending index has the order. */
    priorityOrder: smallint('priority_order').notNull(),
    /** With `target_id`: the place of the most urgent one of the row. */
    capturedAt: instant('captured_at').notNull(),
    slot: instant('slot').notNull(),
    targetId: integer('target_id').notNull(),
    /** When each target was measured last; -infinity when it never was. */
    capturedAts: instant('captured_ats').array().notNull(),
    targetIds: integer('target_ids').array().notNull(),
    /** How many watches asked for each slot when it was queued: a piece of a plan ends before it has too many of them. */
    askers: integer('askers').array().notNull(),
  },
  (t) => [
    check(
      'due_batch_pairs',
      sql`cardinality(captured_ats) = cardinality(target_ids) and cardinality(askers) = cardinality(target_ids)
        and cardinality(target_ids) between 1 and 100`,
    ),
    index('due_batch_by_urgency').on(t.priorityOrder, t.capturedAt, t.slot, t.targetId),
  ],
)

/**
 * Due slots that the budget cut, in the queue of each project that asks for them: while its budget has no room, a plan reads no more than the
 * head. A row may be left of a slot that was bought by another project, or that nobody asks for any more: its turn ends that.
 */
export const waitingSlot = pgTable(
  'waiting_slot',
  {
    /** `project.id`; 0 is all projects together. */
    scope: integer('scope').notNull(),
    /** The price of what is dearer than the whole budget, and waits until that is raised; 0 of what stands in the queue. */
    tooDearMicros: micros('too_dear_micros').notNull(),
    /** The place in the order of urgency, as in `due_batch`. */
    priorityOrder: smallint('priority_order').notNull(),
    capturedAt: instant('captured_at').notNull(),
    slot: instant('slot').notNull(),
    targetId: integer('target_id').notNull(),
    slotEndsAt: instant('slot_ends_at').notNull(),
  },
  (t) => [
    primaryKey({
      columns: [t.scope, t.tooDearMicros, t.priorityOrder, t.capturedAt, t.slot, t.targetId],
    }),
    index('waiting_slot_ends').on(t.slotEndsAt),
  ],
)
