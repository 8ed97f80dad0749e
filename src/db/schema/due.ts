/**
 * What has to be done: what is due and not bought, and what has to be looked at for it; and the tables by
 * which runners share the jobs.
 */
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey } from 'drizzle-orm/pg-core'
import { instant, micros, whole } from './columns.ts'

const CUTS = ['project_budget', 'overall_budget', 'dearer_than_project_budget', 'dearer_than_overall_budget']

/**
 * A slot of a target that is neither a task nor in the history: from a little before it begins until a plan
 * buys it, or until it is over and becomes a gap. Who asks for it is asked of `watch_period`. Only
 * transactions that hold the ledger's lock write it.
 */
export const dueSlot = pgTable(
  'due_slot',
  (c) => ({
    target_id: c.integer().notNull(),
    slot: instant().notNull(),
    // When it is over for all who ask for it.
    ends_at: instant().notNull(),
    // With `captured_at`, when the target had been measured last (-infinity: never), the place in the order
    // of urgency.
    priority: c.smallint().notNull(),
    captured_at: instant().notNull(),
    // How many watches asked for it: a piece of a plan ends before it has too many of them.
    askers: c.integer().notNull(),
    // Why a plan or a claim has cut it, and what it would have cost. Null: it is not decided yet.
    cut: c.text(),
    price_micros: micros(),
    // Whose money was short: `project.id`, or 0 of all together. While it still is, plans pass the slot over.
    // Null: the next plan decides.
    short_of: c.integer().array(),
    // Of a task of the slot that left unsent: why.
    problem: c.text(),
  }),
  (t) => [
    primaryKey({ columns: [t.target_id, t.slot] }),
    check('due_slot_cut_known', sql.raw(`cut in (${CUTS.map((cut) => `'${cut}'`).join(', ')})`)),
    index('due_slot_by_urgency').on(sql`(-priority)`, t.captured_at, t.slot, t.target_id),
    index('due_slot_by_end').on(t.ends_at),
    // watch_problem tells of them alone.
    index('due_slot_dearer').on(t.target_id).where(sql`cut like 'dearer%'`),
  ],
)

/**
 * Periods that began, changed or ended, and from which slot on each has to be looked at for itself. All
 * others are opened by their intervals (`ledger.opened_to`). Triggers insert and opening deletes; it has no
 * key, so that no transaction of a person makes a plan wait.
 */
export const periodChange = pgTable('period_change', {
  period_id: whole().notNull(),
  from_slot: instant().notNull(),
})

/** One run of a job: (job, slot) once, however many runners enqueue it. */
export const jobRun = pgTable(
  'job_run',
  (c) => ({
    job: c.text().notNull(),
    slot: instant().notNull(),
    state: c.text().notNull().default('waiting'),
    runner: c.text(),
    started_at: instant(),
    ended_at: instant(),
    summary: c.jsonb(),
    error: c.text(),
  }),
  (t) => [
    primaryKey({ columns: [t.job, t.slot] }),
    check('job_run_state_known', sql`state in ('waiting', 'running', 'done', 'failed', 'missed')`),
  ],
)

/**
 * One thing that one session or transaction does at a time. A row and no advisory lock by a known number: any
 * login may take those, and stop all runners. `pid` and `key` name the session that holds it, for as long as
 * that holds the advisory lock `key`.
 */
export const namedLock = pgTable('named_lock', (c) => ({
  name: c.text().primaryKey(),
  pid: c.integer(),
  key: c.bigint({ mode: 'bigint' }),
  taken_at: instant(),
}))
