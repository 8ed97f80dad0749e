/**
 * What planning and closing cost by the number of watches: 50 projects, half of the targets shared by two.
 * CPU of the database and of this process, temporary files, memory; and the same again when nothing is due.
 * The cost a watch should not grow. It ends by itself. `--watches` takes numbers with commas between.
 */
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { handOutOverdue } from '../../src/collect/enqueue-results.ts'
import { keepTables } from '../../src/db/analyze.ts'
import type { Database } from '../../src/db/database.ts'
import { closeEndedSlots } from '../../src/history/close-slots.ts'
import { makePartitionsAhead } from '../../src/history/partitions.ts'
import { readUnknownPosts } from '../../src/ledger/posts.ts'
import { readFigures } from '../../src/monitor/figures.ts'
import { openDueSlots } from '../../src/plan/open.ts'
import { planDueTasks, previewPlan } from '../../src/plan/plan.ts'
import { sweepPosts } from '../../src/post/sweep.ts'
import { readOutstanding } from '../../src/queue/cycle.ts'
import { openQueue, type Queue } from '../../src/queue/queue.ts'
import { readProblems } from '../../src/report/status.ts'
import { rememberPrices } from '../support/ledger.ts'
import { type Bar, printBars } from './bars.ts'
import { withDatabase } from './database.ts'
import { readServerLoad } from './server-load.ts'

const { values } = parseArgs({
  options: { watches: { type: 'string', default: '10000,100000,1000000' } },
})
const PROJECTS = 50
const BUDGET = { maxDayMicros: 1_000_000_000_000, maxMonthMicros: null, maxRunMicros: null }
const QUIET_MS = 1_200_000
const MIB = 1024 * 1024
/** At this number the bars of seconds hold; fewer watches have their share. */
const MILLION = 1_000_000

interface Planned {
  readonly watches: number
  readonly us: number
}

interface Cost {
  readonly seconds: number
  readonly serverCpuMs: number
  readonly nodeCpuMs: number
  readonly tempMib: number
}

async function measure(db: Database, work: () => Promise<unknown>): Promise<Cost> {
  const before = await readServerLoad(db)
  const cpu = process.cpuUsage()
  const startedMs = performance.now()
  await work()
  const seconds = (performance.now() - startedMs) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const after = await readServerLoad(db)
  return {
    seconds,
    serverCpuMs: after.cpuMs - before.cpuMs,
    nodeCpuMs: (user + system) / 1000,
    tempMib: (after.tempBytes - before.tempBytes) / MIB,
  }
}

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

/** Inserts the planned tasks once more by one bare statement: no plan can cost less. */
async function measureBareInsert(db: Database): Promise<Cost> {
  await db.sql`create table planned as select * from task order by id`
  await db.sql`truncate task`
  const cost = await measure(db, () => db.sql`insert into task select * from planned`)
  await db.sql`drop table planned`
  return cost
}

/** As `storerank status` does. */
async function readStatus(db: Database): Promise<void> {
  await readFigures(db, { budget: BUDGET, callsPerMinute: 2_000, jobs: [] })
  await readUnknownPosts(db.sql, QUIET_MS)
  await readProblems(db, 20)
}

/**
 * @param smaller what a size before it took to plan a watch: the cost does not grow
 * @returns what this one took, in µs of PostgreSQL
 */
async function measureAt(
  db: Database,
  queue: Queue,
  watches: number,
  smaller: Planned | null,
): Promise<Planned> {
  // A database plans every minute from its first one on. What a plan looks for once after a crash is a line
  // of its own below.
  await planDueTasks(db, BUDGET, async () => {})
  await fillWatches(db, watches)
  const dryRun = await measure(db, () => previewPlan(db, BUDGET))
  let firstPostMs: number | null = null
  const plan = () => {
    const startedMs = performance.now()
    return planDueTasks(db, BUDGET, async (tx, postIds) => {
      await queue.enqueuePosts(tx, postIds)
      if (postIds.length > 0) firstPostMs ??= performance.now() - startedMs
    })
  }
  const close = () => closeEndedSlots(db)
  // The slots of yesterday and of today: as if all watches were new, and then by their interval.
  const openingNew = await measure(db, () => openDueSlots(db))
  await db.sql`delete from due_slot`
  await db.sql`vacuum analyze`
  await db.sql`update ledger set opened_to = slot_of('1 day', now()) - interval '30 hours'`
  const opening = await measure(db, () => openDueSlots(db))
  const closing = await measure(db, close)
  // Else autovacuum would do it, a minute later, and be counted as planning.
  await db.sql`vacuum analyze`
  // A server that has run for a day writes its log into the files of the day before, instead of making 400 of
  // them.
  await db.sql`checkpoint`
  const planning = await measure(db, plan)
  const memoryMib = process.memoryUsage.rss() / MIB
  // As the job `track` does after each plan.
  const keeping = await measure(db, () => keepTables(db))
  const nothingDue = await measure(db, plan)
  const nothingOver = await measure(db, close)
  const asked = await measure(db, () => readOutstanding(db, QUIET_MS))
  const status = await measure(db, () => readStatus(db))
  const late = await measure(db, () => handOutOverdue(db, async () => {}))
  const swept = await measure(db, () => sweepPosts(db, async () => {}))
  const bareInsert = await measureBareInsert(db)
  await db.sql`
    update task set slot = slot - interval '2 days', slot_ends_at = slot_ends_at - interval '2 days'
      where state = 'planned'`
  await db.sql`update post set state = 'ready'`
  await db.sql`vacuum analyze`
  const closingUnsent = await measure(db, close)
  const share = Math.max(watches / MILLION, 0.01)
  const planned = { watches, us: ((planning.serverCpuMs + opening.serverCpuMs / 2) * 1000) / watches }
  // Of fewer, what each plan does once is a part of what a watch takes.
  const whole = watches >= MILLION
  const bars: Bar[] = [
    {
      what: 'planning: CPU',
      value: (planning.serverCpuMs + planning.nodeCpuMs) / 1000,
      unit: 's',
      ...(whole && { atMost: 25 * share }),
    },
    {
      what: 'opening and planning: CPU a watch',
      value: planned.us,
      unit: 'µs',
      ...(whole && { atMost: 25 }),
    },
    {
      what: 'opening, all new: CPU a watch',
      value: (openingNew.serverCpuMs * 500) / watches,
      unit: 'µs',
    },
    { what: 'opening, all new: of a slot', value: openingNew.seconds / 2, unit: 's', atMost: 10 * share },
    { what: 'opening: CPU a watch', value: (opening.serverCpuMs * 500) / watches, unit: 'µs' },
    { what: 'opening all of a slot', value: opening.seconds / 2, unit: 's', atMost: 10 * share },
    ...(smaller === null
      ? []
      : [
          {
            what: `planning: CPU a watch, against ${smaller.watches.toLocaleString('en')} watches`,
            value: planned.us / smaller.us,
            unit: '×',
            atMost: 1,
          },
        ]),
    {
      what: 'planning: until the first post',
      value: (firstPostMs ?? Number.NaN) / 1000,
      unit: 's',
      atMost: 1,
    },
    { what: '`storerank plan`: CPU', value: dryRun.serverCpuMs / 1000, unit: 's', atMost: 10 * share },
    { what: '`storerank plan`: temporary files', value: dryRun.tempMib, unit: 'MiB', atMost: 200 },
    { what: 'a bare insert of the same tasks', value: (bareInsert.serverCpuMs * 1000) / watches, unit: 'µs' },
    { what: 'planning: temporary files', value: planning.tempMib, unit: 'MiB', atMost: 200 },
    { what: 'planning: memory of Node', value: memoryMib, unit: 'MiB' },
    {
      what: 'vacuum and analyze after it: CPU a watch',
      value: (keeping.serverCpuMs * 1000) / watches,
      unit: 'µs',
    },
    { what: 'planning when nothing is due', value: nothingDue.seconds * 1000, unit: 'ms', atMost: 100 },
    { what: 'closing the slot of all targets', value: closing.seconds, unit: 's', atMost: 90 * share },
    {
      what: 'closing what was planned and never sent',
      value: closingUnsent.seconds,
      unit: 's',
      atMost: 90 * share,
    },
    {
      what: 'closing what was planned and never sent: CPU a watch',
      value: (closingUnsent.serverCpuMs * 1000) / watches,
      unit: 'µs',
    },
    { what: 'closing when nothing is over', value: nothingOver.seconds * 1000, unit: 'ms', atMost: 100 },
    { what: 'closing: CPU a watch', value: (closing.serverCpuMs * 1000) / watches, unit: 'µs', atMost: 90 },
    { what: 'counting what is outstanding', value: asked.seconds * 1000, unit: 'ms', atMost: 300 },
    { what: 'status: all that it reads', value: status.seconds * 1000, unit: 'ms', atMost: 300 },
    { what: 'asking what is overdue, where nothing is', value: late.seconds * 1000, unit: 'ms' },
    { what: 'sweeping the posts', value: swept.seconds * 1000, unit: 'ms' },
  ]
  printBars(`${watches.toLocaleString('en')} watches`, bars)
  return planned
}

let smaller: Planned | null = null
for (const watches of values.watches.split(',').map(Number)) {
  await withDatabase(async (db) => {
    const queue = await openQueue(db.url, pino({ level: 'silent' }))
    smaller = await measureAt(db, queue, watches, smaller)
    await queue.stop(1_000)
  })
}
process.exit()
