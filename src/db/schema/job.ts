/** The tables by which runners share the jobs: who does what now, and what was done. */
import { sql } from 'drizzle-orm'
import { bigint, check, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { instant } from './columns.ts'

/** One run of a job: (job, slot) once, however many runners enqueue it. */
export const jobRun = pgTable(
  'job_run',
  {
    job: text('job').notNull(),
    slot: instant('slot').notNull(),
    state: text('state').notNull().default('waiting'),
    runner: text('runner'),
    startedAt: instant('started_at'),
    endedAt: instant('ended_at'),
    summary: jsonb('summary'),
    error: text('error'),
  },
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
export const namedLock = pgTable('named_lock', {
  name: text('name').primaryKey(),
  pid: integer('pid'),
  key: bigint('key', { mode: 'bigint' }),
  takenAt: instant('taken_at'),
})
