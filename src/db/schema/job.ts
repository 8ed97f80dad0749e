/** The tables by which runners share the jobs: who does what now, and what was done. */
import { sql } from 'drizzle-orm'
import { check, pgTable, primaryKey } from 'drizzle-orm/pg-core'
import { instant } from './columns.ts'

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
