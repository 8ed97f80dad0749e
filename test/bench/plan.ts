/**
 * What planning and closing cost by the number of watches: CPU of the database and of this process, seconds,
 * temporary files; and the same again when nothing is due.
 */
import { analyzeAndVacuum } from '../../src/db/analyze.ts'
import type { Database } from '../../src/db/database.ts'
import { closeEndedSlots } from '../../src/history/close-slots.ts'
import { makePartitionsAhead } from '../../src/history/retention.ts'
import { readUnknownPosts } from '../../src/ledger/release.ts'
import { readFigures } from '../../src/monitor/figures.ts'
import { openDueSlots } from '../../src/plan/due.ts'
import { planDueTasks, previewPlan } from '../../src/plan/plan.ts'
import { readOutstanding } from '../../src/queue/cycle.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { readProblems } from '../../src/report/status.ts'
import { rememberPrices } from '../support/ledger.ts'
import { atMost, type Measured } from './bars.ts'
import { LOG } from './context.ts'
import { type Cost, measureCost } from './server-load.ts'
import { SETTINGS } from './settings.ts'

const PROJECTS = 50
const { budget: BUDGET } = SETTINGS
const QUIET_MS = 1_200_000
const MIB = 1024 * 1024

/**
 * Daily watches whose slot of yesterday is neither opened nor closed. Two of three are those of shared
 * targets.
 */
async function fillWatches(db: Database, watches: number): Promise<void> {
  await makePartitionsAhead(db, 1)
  await db.sql`
    insert into project (name) select 'project ' || n from generate_series(0, ${PROJECTS - 1}) n`
  await db.sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', 'keyword ' || n, 2840, 'en'
      from generate_series(1, ${Math.ceil((watches * 2) / 3)}::int) n`
  await db.sql`
    insert into watch_period (kind, watch_id, project, target_id, every, depth, priority, started_at,
      first_slot)
    select 'keyword', w.id, 'project ' || w.id % ${PROJECTS}, w.target_id, '1 day', 100, 1, y.day,
      y.day - interval '2 days'
    from (
      select id, id as target_id from target
      union all
      select id + 10000001, id from target where id % 2 = 0
    ) w cross join (select slot_of('1 day', now()) - interval '1 day' as day) y`
  await db.sql`
    insert into period_change (period_id, from_slot) select id, slot_of('1 day', now()) - interval '1 day'
      from watch_period`
  await db.begin(async (tx) => {
    // Their periods are there already.
    await tx`set local session_replication_role = replica`
    await tx`
      insert into keyword_watch (id, project, store, keyword, location_code, language_code, depth)
      select p.watch_id, p.project, t.store, t.subject, t.location_code, t.language_code, p.depth
      from watch_period p join target t on t.id = p.target_id`
  })
  // A project without any app is a problem of its own.
  await db.sql`
    insert into app_watch (project, store, app_id)
    select name, 'ios_store', '1480010017' from project`
  await rememberPrices(db.sql)
  await db.sql`vacuum analyze`
}

/** As `storerank status` does. */
async function readStatus(db: Database): Promise<void> {
  await readFigures(db, { budget: BUDGET, callsPerMinute: 2_000 })
  await readUnknownPosts(db.sql, QUIET_MS)
  await readProblems(db, 20)
}

/** The slots of yesterday and of today: as if all watches were new, and then by their interval. */
async function measureOpening(db: Database): Promise<{ readonly all: Cost; readonly byInterval: Cost }> {
  const all = await measureCost(db, () => openDueSlots(db))
  await db.sql`delete from due_slot`
  await db.sql`vacuum analyze`
  await db.sql`update ledger set opened_to = slot_of('1 day', now()) - interval '30 hours'`
  return { all, byInterval: await measureCost(db, () => openDueSlots(db)) }
}

/** As if the day were over, and nothing of it had been sent. */
async function endDay(db: Database): Promise<void> {
  await db.sql`
    update task set slot = slot - interval '2 days', slot_ends_at = slot_ends_at - interval '2 days'
      where state = 'planned'`
  await db.sql`update post set state = 'ready'`
  await db.sql`vacuum analyze`
}

export async function measurePlanning(db: Database, watches: number): Promise<Measured> {
  const queue = await openQueue(db.url, LOG)
  // A database plans every minute from its first one on: what a plan looks for once is not counted.
  await planDueTasks(db, BUDGET, async () => {})
  await fillWatches(db, watches)
  let firstPostMs: number | null = null
  const plan = () => {
    const startedMs = performance.now()
    return planDueTasks(db, BUDGET, async (tx, postIds) => {
      await queue.enqueuePosts(tx, postIds)
      if (postIds.length > 0) firstPostMs ??= performance.now() - startedMs
    })
  }
  const close = () => closeEndedSlots(db)
  const dryRun = await measureCost(db, () => previewPlan(db, BUDGET))
  const opening = await measureOpening(db)
  const closing = await measureCost(db, close)
  // Else autovacuum would do it, a minute later, and be counted as planning.
  await db.sql`vacuum analyze`
  // A server that has run for a day writes its log into the files of the day before.
  await db.sql`checkpoint`
  const planning = await measureCost(db, plan)
  // As the job `track` does after each plan.
  await analyzeAndVacuum(db)
  const nothingDue = await measureCost(db, plan)
  const nothingOver = await measureCost(db, close)
  const outstanding = await measureCost(db, () => readOutstanding(db, QUIET_MS))
  const status = await measureCost(db, () => readStatus(db))
  await endDay(db)
  const closingUnsent = await measureCost(db, close)
  await queue.stop(1_000)
  const perWatch = (planning.cpuMs + opening.byInterval.cpuMs / 2) / watches
  return {
    'opening and planning: CPU of PostgreSQL a watch': atMost(25, perWatch * 1000, 'µs'),
    'planning: CPU': atMost(25, (planning.cpuMs + planning.nodeMs) / 1000, 's'),
    'planning: until the first post': atMost(1, (firstPostMs ?? Number.NaN) / 1000, 's'),
    'planning: temporary files': atMost(200, planning.tempBytes / MIB, 'MiB'),
    'opening the slots of a day': atMost(10, opening.byInterval.seconds / 2, 's'),
    'opening them where all watches are new': atMost(10, opening.all.seconds / 2, 's'),
    '`storerank plan`: CPU': atMost(10, dryRun.cpuMs / 1000, 's'),
    '`storerank plan`: temporary files': atMost(200, dryRun.tempBytes / MIB, 'MiB'),
    'planning when nothing is due': atMost(100, nothingDue.seconds * 1000, 'ms'),
    'closing the slots of a day': atMost(90, closing.seconds, 's'),
    'closing what was planned and never sent': atMost(90, closingUnsent.seconds, 's'),
    'closing when nothing is over': atMost(100, nothingOver.seconds * 1000, 'ms'),
    'counting what is outstanding': atMost(300, outstanding.seconds * 1000, 'ms'),
    'status: all that it reads': atMost(300, status.seconds * 1000, 'ms'),
  }
}
