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
import { instant } from './columns.ts'

/**
 * Up to which slot all open periods of an interval were looked at, for planning and for closing: so that a plan finds out that nothing is
 * new by reading one row for each interval. Unlogged like the next two tables: after a crash all three are empty, and every period is
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

/** Slots that are due and were not bought yet, in the order of urgency. A plan reads what it decides from here. */
export const dueSlot = pgTable(
  'due_slot',
  {
    targetId: integer('target_id').notNull(),
    slot: instant('slot').notNull(),
    /** The priority with its sign changed, so that one ascending index has the order. */
    priorityOrder: smallint('priority_order').notNull(),
    /** When the target was measured last; -infinity when it never was. */
    capturedAt: instant('captured_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.targetId, t.slot] }),
    index('due_slot_by_urgency').on(t.priorityOrder, t.capturedAt, t.slot, t.targetId),
  ],
)
