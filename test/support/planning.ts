/** A database to plan in, without a service: one session, whose business time the test sets. */
import { type Database, openDatabase } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { type ClosedSlots, closeEndedSlots } from '../../src/history/close-slots.ts'
import { dropStaleTasks, lockPlannedTasks } from '../../src/ledger/claim-post.ts'
import { withLedgerLock } from '../../src/ledger/lock.ts'
import type { OverallBudget } from '../../src/plan/admission.ts'
import { type PlanPreview, type PlanSummary, planDueTasks, previewPlan } from '../../src/plan/plan.ts'
import { createTestDatabase, emptyReferences, emptyTables } from './database.ts'
import { insertCharge, recount } from './ledger.ts'

type Fields = Record<string, unknown>

export interface Planning {
  readonly db: Database
  /** Another runner: a session of its own on the same database. */
  openAnother(): Database
  setNow(instant: string | Date): Promise<void>
  /** Inserts keyword_watch rows of one project, in the United States; returns their ids. */
  watch(project: string, keywords: readonly string[], fields?: Fields): Promise<number[]>
  /** What the project may spend, in micro-dollars. */
  setBudget(
    project: string,
    budget: { dailyMicros?: number | null; monthlyMicros?: number | null },
  ): Promise<void>
  /** Money that the project spent at an instant. */
  spend(project: string, micros: number, at: string | Date): Promise<void>
  /** @param pieceSlots (target, slot) a transaction; default: as in production */
  plan(budget?: Partial<OverallBudget>, pieceSlots?: number): Promise<PlanSummary>
  preview(budget?: Partial<OverallBudget>): Promise<PlanPreview>
  closeSlots(): Promise<ClosedSlots>
  /** As claims do: takes out planned tasks whose slot is over, or that no watch asks for any more. */
  dropStale(): Promise<void>
  /** Stores an empty result for every planned task, as if it had been posted and collected at once. */
  measure(): Promise<void>
  /** The keywords that have a task, in the order of their targets. */
  plannedKeywords(): Promise<string[]>
  /** Everything as before the first watch. */
  clear(): Promise<void>
  drop(): Promise<void>
}

/** More than any test spends, unless the test is about it. */
const AMPLE: OverallBudget = { maxDayMicros: 1_000_000_000, maxMonthMicros: null, maxRunMicros: null }

export async function createPlanning(): Promise<Planning> {
  const database = await createTestDatabase()
  const opened: Database[] = []
  const openAnother = () => {
    const db = openDatabase(database.url, { maxConnections: 1 })
    opened.push(db)
    return db
  }
  const db = openAnother()
  return {
    db,
    openAnother,
    async setNow(instant) {
      await db.sql`select set_config('storerank.now', ${new Date(instant).toISOString()}, false)`
    },
    ...writersOf(db),
    plan: (budget = {}, pieceSlots) => planDueTasks(db, { ...AMPLE, ...budget }, async () => {}, pieceSlots),
    preview: (budget = {}) => previewPlan(db, { ...AMPLE, ...budget }),
    closeSlots: () => closeEndedSlots(db),
    dropStale: () => dropStale(db),
    async clear() {
      await emptyTables(db.sql)
      await emptyReferences(db.sql)
    },
    async drop() {
      await Promise.all(opened.map((one) => one.close()))
      await database.drop()
    },
  }
}

async function dropStale(db: Database): Promise<void> {
  for (const { id } of await db.sql<{ id: string }[]>`select id from post where state = 'ready'`)
    await withLedgerLock(db, 'Claiming', async (tx) => {
      await lockPlannedTasks(tx, id)
      await dropStaleTasks(tx, id)
    })
}

function writersOf({
  sql: db,
  begin,
}: Database): Pick<Planning, 'watch' | 'setBudget' | 'spend' | 'measure' | 'plannedKeywords'> {
  return {
    async watch(project, keywords, fields = {}) {
      const where = { store: 'ios_store', location_code: 2840, language_code: 'en' }
      const rows = keywords.map((keyword) => ({ project, ...where, keyword, ...fields }))
      const inserted = await db<{ id: number }[]>`insert into keyword_watch ${sql.row(...rows)} returning id`
      return inserted.map(({ id }) => id)
    },
    async setBudget(project, { dailyMicros = null, monthlyMicros = null }) {
      await db`
        insert into project (name, daily_usd, monthly_usd)
        values (${project}, ${dailyMicros}::numeric * 0.000001, ${monthlyMicros}::numeric * 0.000001)
        on conflict (name) do update set daily_usd = excluded.daily_usd, monthly_usd = excluded.monthly_usd`
    },
    async spend(project, micros, at) {
      await insertCharge(db, { project, micros, at })
    },
    async measure() {
      await db`select ensure_history_partitions(min(slot), max(slot)) from task where state = 'planned'
        having count(*) > 0`
      await begin(async (tx) => {
        await tx`
          insert into ranking (target_id, slot, captured_at, depth, app_ids)
          select target_id, slot, storerank_now(), depth, '{}' from task where state = 'planned'`
        await tx`
          update target t set captured_at = storerank_now()
          where t.id in (select target_id from task where state = 'planned')`
        await tx`update task set state = 'collected', ended_at = clock_timestamp() where state = 'planned'`
        await recount(tx)
      })
    },
    async plannedKeywords() {
      const rows = await db<{ subject: string }[]>`
        select t.subject from task k join target t on t.id = k.target_id order by t.id, k.slot`
      return rows.map(({ subject }) => subject)
    },
  }
}
