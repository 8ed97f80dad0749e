/**
 * What is asked every minute, and by `status`, reads what is open or wrong: not the tasks of 90 days that are
 * in order.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { handOutOverdue } from '../../src/collect/enqueue-results.ts'
import { readFigures } from '../../src/monitor/figures.ts'
import { readProblemCounts, readProblems } from '../../src/report/status.ts'
import { lasting } from '../support/lasting.ts'
import { createPlanning } from '../support/planning.ts'
import { countTasksRead } from '../support/tasks-read.ts'

const FEW = 300
const MANY = 6_000
const PLANNED = 10_000
/** Indexes grow a level. */
const MOST_TIMES = 2

const planning = lasting(createPlanning)
before(async () => {
  await planning.watch('fitness', ['yoga'])
})

/** Tasks of targets of their own: half are measured and paid for, half are posted and not late. */
async function addInOrder(from: number, to: number): Promise<void> {
  const { sql } = planning.db
  await sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', 'subject ' || n, 2840, 'en'
      from generate_series(${from}::int, ${to}::int) n`
  await sql`
    insert into task (target_id, slot, slot_ends_at, state, priority, estimate_micros, payers, service_id,
      posted_at, overdue_at,
      ask_at, ended_at)
    select id, now(), now() + interval '1 day', case id % 2 when 0 then 'posted'
      else 'collected' end, 1, 1200, '{1}', subject, now(),
      case id % 2 when 0 then now() + interval '1 hour' end, case id % 2 when 0
        then now() + interval '1 hour' end, case id % 2 when 1 then now() end
    from target where subject like 'subject %' and substr(subject, 9)::int between ${from}::int
      and ${to}::int`
  await sql`
    insert into charge (slot, amount_micros, target_id, project_id, kind, service_id)
    select slot, 1200, target_id, 1, 'charge', service_id from task on conflict do nothing`
}

async function readPages(query: string, { sql } = planning.db): Promise<number> {
  const [row] = await sql.unsafe<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }[]>(
    `explain (analyze, buffers, timing off, format json) ${query}`,
  )
  const plan = row?.['QUERY PLAN'][0].Plan ?? {}
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)
}

test('what is wrong with tasks is found beside twenty times as many in order', async () => {
  const { sql } = planning.db
  await addInOrder(1, FEW)
  await sql`
    update task set problem = 'Told.', state = case service_id when 'subject 1' then 'failed' else state end
    where service_id in ('subject 1', 'subject 2', 'subject 3')`
  await sql`analyze`
  const few = await readPages('select * from task_problem')
  await addInOrder(FEW + 1, MANY)
  // As each plan does of tables that have grown.
  await sql`analyze`
  const many = await readPages('select * from task_problem')
  const told = await sql<{ kind: string }[]>`select kind from task_problem order by 1`
  assert.deepEqual(
    told.map(({ kind }) => kind),
    ['failed', 'incomplete', 'overdue'],
  )
  assert.ok(many <= few * MOST_TIMES, `${many} pages, and ${few} before`)
})

test('asking for what is overdue reads no task that is not', async () => {
  const { sql } = planning.db
  await sql`analyze`
  const read = await countTasksRead(planning.db)
  assert.equal(await handOutOverdue(planning.db, async () => {}), 0)
  // The planner itself looks at both ends of an index.
  const rows = (await countTasksRead(planning.db)) - read
  assert.ok(rows < 10, `${rows} tasks were read`)
  await sql`update task set ask_at = now() - interval '1 minute' where service_id = 'subject 5'`
  assert.equal(await handOutOverdue(planning.db, async () => {}), 1)
})

test('problems are counted by kind without reading a task that is in order', async () => {
  await planning.db.sql`analyze`
  const read = await countTasksRead(planning.db)
  const counts = await readProblemCounts(planning.db)
  const rows = (await countTasksRead(planning.db)) - read
  assert.deepEqual(
    counts.filter(({ view }) => view === 'task_problem').map(({ kind }) => kind),
    ['failed', 'incomplete', 'overdue'],
  )
  assert.ok(rows < FEW / 10, `${rows} tasks were read`)
})

test('what is open is counted by indexes alone', async () => {
  const { sql } = planning.db
  await sql`vacuum analyze task`
  // Once before: what a session reads of the catalog to compile a function is no page of a task.
  await sql`select count from open_work`
  const pages = await readPages('select kind, count, since from open_work')
  const [task] = await sql<{ pages: number; posted: number }[]>`
    select relpages as pages, (select count from open_work where kind = 'posted') as posted from pg_class
      where relname = 'task'`
  assert.equal(task?.posted, MANY / 2 - 1)
  assert.ok(pages < (task?.pages ?? 0) / 2, `${pages} pages, and the tasks have ${task?.pages}`)
})

test('what was not planned is counted by its periods, and costs nothing while all is', async (t) => {
  const fresh = await createPlanning()
  t.after(() => fresh.drop())
  const start = Date.UTC(2026, 2, 10, 1)
  await fresh.setNow(new Date(start))
  await fresh.watch(
    'fitness',
    Array.from({ length: MANY }, (_, number) => `subject ${number}`),
  )
  await fresh.db.sql`vacuum analyze`
  const query = `select * from open_work where kind = 'unplanned'`
  const read = async () => {
    const [{ count } = { count: 0 }] = await fresh.db.sql.unsafe<{ count: number }[]>(query)
    return { count, pages: await readPages(query, fresh.db) }
  }
  const all = await read()
  const [table] = await fresh.db.sql<{ pages: number }[]>`
    select relpages as pages from pg_class where relname = 'watch_period'`
  assert.equal(all.count, MANY)
  // A new period is a row of `period_change` as well.
  assert.ok(all.pages < 2 * (table?.pages ?? 0), `${all.pages} pages, and the periods have ${table?.pages}`)
  await fresh.plan()
  await fresh.measure()
  await fresh.db.sql`vacuum analyze`
  const none = await read()
  assert.equal(none.count, 0)
  assert.ok(none.pages < 40, `${none.pages} pages`)
})

test('status reads each planned task once, while the tables have no statistics as well', async (t) => {
  const fresh = await createPlanning()
  t.after(() => fresh.drop())
  const { db } = fresh
  await db.sql`alter table task set (autovacuum_enabled = off)`
  await db.sql`alter table post set (autovacuum_enabled = off)`
  await db.sql`vacuum analyze`
  await db.sql`
    insert into post (store, function, state) select 'ios_store', 'app_searches', 'ready'
      from generate_series(1, ${PLANNED / 10}::int)`
  await db.sql`
    insert into task (target_id, slot, slot_ends_at, priority, estimate_micros, payers, post_id)
    select n, now(), now() + interval '1 day', 1, 1200, '{1}', p.id
    from generate_series(1, ${PLANNED}::int) n join (select id, row_number() over () as place from post) p
      on p.place = (n + 9) / 10`
  await db.sql`vacuum task`
  const before = await countTasksRead(db)
  const budget = { maxDayMicros: 1_000_000_000, maxMonthMicros: null, maxRunMicros: null }
  const { work } = await readFigures(db, { budget, callsPerMinute: 2_000 })
  await readProblems(db, 20)
  const read = (await countTasksRead(db)) - before
  assert.equal(work.planned.count, PLANNED)
  assert.ok(read <= PLANNED * 1.1, `${read} tasks were read`)
})

test('what the budget cuts is counted up to a bound, behind what a person has to mend', async () => {
  const { sql } = planning.db
  const cut = (from: number, to: number) => sql`
    insert into due_slot (target_id, slot, ends_at, cut, price_micros, priority, captured_at, askers)
    select id, slot_of('1 day', now()), now() + interval '1 day', 'overall_budget', 1200, 1, '-infinity', 1
      from target order by id offset ${from}::int limit ${to - from}::int`
  const mended = `select * from watch_problem where problem <> 'money'`
  await cut(0, FEW)
  await sql`analyze due_slot`
  const few = await readPages(mended)
  await cut(FEW, MANY)
  await sql`analyze due_slot`
  const many = await readPages(mended)
  assert.ok(many <= few * MOST_TIMES, `${many} pages, and ${few} before`)
  const { lines, total, isMore } = await readProblems(planning.db, 100)
  assert.match(lines.at(-1)?.message ?? '', /^This slot costs \$0\.0012/)
  assert.deepEqual([lines.length, total, isMore], [4 + 1, 4 + 1, false])
})

test('what is late is counted by an index alone, when all of it is', async () => {
  const { sql } = planning.db
  await sql`update task set overdue_at = now() - interval '1 minute' where state = 'posted'`
  await sql`vacuum full task`
  await sql`vacuum analyze task`
  const pages = await readPages(`select count, since from open_work where kind = 'overdue'`)
  const [task] = await sql<{ pages: number; late: number }[]>`
    select relpages as pages, (select count from open_work where kind = 'overdue') as late from pg_class
      where relname = 'task'`
  assert.equal(task?.late, MANY / 2 - 1)
  assert.ok(pages < (task?.pages ?? 0) / 4, `${pages} pages, and the tasks have ${task?.pages}`)
})
