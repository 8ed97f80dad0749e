/** What is due and not bought: the queue that plans take from, and what has to be looked at for it. */
import { sql } from 'drizzle-orm'
import { bigint, check, index, integer, pgTable, primaryKey, smallint, text } from 'drizzle-orm/pg-core'
import { instant, micros } from './columns.ts'

const CUTS = ['project_budget', 'overall_budget', 'dearer_than_project_budget', 'dearer_than_overall_budget']

/**
 * A slot of a target that is neither a task nor in the history: from a little before it begins until a plan
 * buys it, or until it is over and becomes a gap. Who asks for it is asked of `watch_period`. Only
 * transactions that hold the ledger's lock write it.
 */
export const dueSlot = pgTable(
  'due_slot',
  {
    targetId: integer('target_id').notNull(),
    slot: instant('slot').notNull(),
    /** When it is over for all who ask for it. */
    endsAt: instant('ends_at').notNull(),
    /**
     * With `captured_at`, when the target had been measured last (-infinity: never), the place in the order
     * of urgency.
     */
    priority: smallint('priority').notNull(),
    capturedAt: instant('captured_at').notNull(),
    /** How many watches asked for it: a piece of a plan ends before it has too many of them. */
    askers: integer('askers').notNull(),
    /** Why a plan or a claim has cut it, and what it would have cost. Null: it is not decided yet. */
    cut: text('cut'),
    priceMicros: micros('price_micros'),
    /**
     * Whose money was short: `project.id`, or 0 of all together. While it still is, plans pass the slot over.
     * Null: the next plan decides.
     */
    shortOf: integer('short_of').array(),
    /** Of a task of the slot that left unsent: why. */
    problem: text('problem'),
  },
  (t) => [
    primaryKey({ columns: [t.targetId, t.slot] }),
    check('due_slot_cut_known', sql.raw(`cut in (${CUTS.map((cut) => `'${cut}'`).join(', ')})`)),
    index('due_slot_by_urgency').on(sql`(-priority)`, t.capturedAt, t.slot, t.targetId),
    index('due_slot_by_end').on(t.endsAt),
    // watch_problem tells of them alone.
    index('due_slot_dearer').on(t.targetId).where(sql`cut like 'dearer%'`),
  ],
)

/**
 * Periods that began, changed or ended, and from which slot on each has to be looked at for itself. All
 * others are opened by their intervals (`ledger.opened_to`). Triggers insert and opening deletes; it has no
 * key, so that no transaction of a person makes a plan wait.
 */
export const periodChange = pgTable('period_change', {
  periodId: bigint('period_id', { mode: 'number' }).notNull(),
  fromSlot: instant('from_slot').notNull(),
})
