import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { JOBS } from '../../../jobs/index.ts'
import { archiveMonths } from '../../../src/archive/archive.ts'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { distribute, migrate, requireCurrentSchema } from '../../../src/db/migrate.ts'
import { readObjects } from '../../../src/db/object-files.ts'
import { ConfigurationError } from '../../../src/errors.ts'
import { makePartitionsAhead, pruneHistory } from '../../../src/history/retention.ts'
import { runCycle } from '../../../src/queue/cycle.ts'
import { startRunner } from '../../../src/queue/runner.ts'
import { fillHistory, PROJECT } from '../../bench/history.ts'
import { createCitusDatabase, WITHOUT_CITUS } from '../../support/citus.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { createWorld } from '../../support/world.ts'

const DAY_MS = 86_400_000
const SIZE = { keywords: 10, days: 70, apps: 30 }

test('a database without Citus is not distributed, and the sentence says what to do', async (t) => {
  const { url, sql, drop } = await createTestDatabase()
  t.after(drop)
  await assert.rejects(distribute(url), (error) => {
    assert.ok(error instanceof ConfigurationError)
    assert.match(
      error.message,
      /has no extension citus, .* `create extension citus` .* Nothing was changed\.$/,
    )
    return true
  })
  const [row] = await sql`select to_regclass('distributed_ranking') as found`
  assert.equal(row?.found, null)
})

test('drizzle/distributed/objects.sql answers what the views that it replaces answer', async (t) => {
  const { url, sql, drop } = await createTestDatabase()
  const db = openDatabase(url)
  t.after(() => db.close().then(drop))
  await fillHistory(db, SIZE, () => {})
  await addOddWatches(db)
  const answers = await askAll(db)
  await distributeWithoutCitus(sql)
  const distributed = await askAll(db)
  for (const [question, rows] of Object.entries(answers))
    assert.deepEqual(distributed[question], rows, question)
  // Else what is pending would be a query to the nodes for each slot.
  const [asked] = await sql`
    select bool_or(refobjid = 'ranking_row'::regclass) as history,
      bool_or(refobjid = 'pending_ranking'::regclass) as pending
    from pg_depend where objid = 'pending_rankings(text, date, date)'::regprocedure`
  assert.deepEqual({ ...asked }, { history: false, pending: true })
})

test('what a project asks for is in the reference tables, by its name, until it is deleted', async (t) => {
  const { sql, drop } = await createTestDatabase()
  t.after(drop)
  await sql`insert into project (name) values ('games'), ('news')`
  await sql`insert into keyword_watch (project, store, keyword, location_code, language_code)
    values ('games', 'ios_store', 'chess', 2840, 'en')`
  await distributeWithoutCitus(sql)
  const lists = async () =>
    (
      await sql<{ line: string }[]>`
        select concat_ws(' ', j.name, l.store, l.list, l.keyword, l.collection, l.location_code,
          l.language) as line
        from distributed_list l join distributed_project j on j.id = l.project_id order by 1`
    ).map(({ line }) => line)
  await sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select project, 'android_store', 'go', 2276, 'de' from unnest(array['games', 'news']) project`
  await sql`insert into chart_watch (project, collection, location_code, language_code)
    values ('news', 'topselling_free', 2840, 'en')`
  await sql`insert into app_watch (project, store, app_id, info)
    values ('news', 'ios_store', '1480010017', false)`
  await sql`update project set name = 'board games' where name = 'games'`
  await sql`update keyword_watch set every = '12 hours' where project = 'news'`
  assert.deepEqual(await lists(), [
    'board games android_store keyword go 2276 de',
    'board games ios_store keyword chess 2840 en',
    'news android_store chart topselling_free 2840 en',
    'news android_store keyword go 2276 de',
  ])
  const apps = await sql`
    select j.name, a.store, a.app_id from distributed_app a join distributed_project j on j.id = a.project_id`
  assert.deepEqual(
    apps.map((row) => ({ ...row })),
    [{ name: 'news', store: 'ios_store', app_id: '1480010017' }],
  )
  await sql.unsafe(`call delete_project('news')`)
  const [left] = await sql`
    select (select count(*)::int from distributed_app) as apps,
      (select count(*)::int from distributed_project) as projects`
  assert.deepEqual({ ...left }, { apps: 0, projects: 1 })
  assert.equal((await lists()).length, 2)
})

describe('a history that is distributed later', { skip: WITHOUT_CITUS }, () => {
  let database: TestDatabase
  let db: Database
  let answers: Record<string, string[]>
  before(async () => {
    database = await createCitusDatabase()
    db = openDatabase(database.url)
    await fillHistory(db, SIZE, () => {})
    await addOddWatches(db)
    answers = await askAll(db)
    await distribute(database.url)
  })
  after(async () => {
    await db.close()
    await database.drop()
  })

  test('gives the same answers, of every view and every function of a project', async () => {
    const distributed = await askAll(db)
    for (const [question, rows] of Object.entries(answers))
      assert.deepEqual(distributed[question], rows, question)
    assert.ok(answers.rank_history?.length)
    assert.ok(answers.visibility?.length)
  })

  test('is asked once for an app of a project: project, app and range of slots go to Citus', async () => {
    const rows = await db.sql.unsafe<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }[]>(`
      explain (analyze, verbose, format json) select slot, rank from rank_history
      where project = '${PROJECT}' and app_id = '1000000001' and slot >= (select now() - interval '30 days')`)
    const scans = rows.flatMap((row) => row['QUERY PLAN'].flatMap(({ Plan }) => listForeignScans(Plan)))
    assert.deepEqual(
      scans.map((scan) => scan['Actual Loops']),
      [1],
    )
    for (const sent of ['slot >= $', `project = '${PROJECT}'`, "app_id = '1000000001'"])
      assert.ok(scans[0]?.['Remote SQL']?.includes(sent), scans[0]?.['Remote SQL'])
  })

  test('is on the workers, with the months that are made later', async () => {
    await makePartitionsAhead(db, 3)
    const [row] = await db.sql`
      select count(*)::int as local from pg_inherits i
      where i.inhparent = 'ranking'::regclass and not exists (select from pg_dist_partition p
        where p.logicalrelid = i.inhrelid)`
    assert.equal(row?.local, 0)
  })

  test('may be distributed again, and stays so when objects are applied anew', async () => {
    await distribute(database.url)
    await db.sql`update drizzle.objects set hash = 'another'`
    assert.equal(await migrate(database.url), true)
    await requireCurrentSchema(db)
    const [row] = await db.sql`select pg_get_viewdef('ranking_row') ~ 'distributed_ranking' as found`
    assert.equal(row?.found, true)
    assert.deepEqual(await ask(db, 'select * from rank_latest'), answers.rank_latest)
  })

  test('is archived and dropped by months, and pruned', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'storerank-citus-'))
    t.after(() => rm(folder, { recursive: true }))
    const [range] = await db.sql<{ first: Date; end: Date; kept: number }[]>`
      select date_trunc('month', min(slot), 'UTC') as first,
        date_trunc('month', min(slot), 'UTC') + interval '1 month' as end,
        (select count(*) from ranking_row h where h.slot >= date_trunc('month', min(r.slot), 'UTC')
          + interval '1 month') as kept
      from ranking_row r`
    assert.ok(range)
    await db.sql`delete from task`
    const options = { before: range.end, folder, drops: true, signal: AbortSignal.timeout(60_000) }
    const months = []
    for await (const month of archiveMonths(db, options)) months.push(month)
    assert.ok(months.some(({ file, isDropped }) => file.includes('ranking-') && isDropped))
    const [left] = await db.sql`select count(*) as rows from ranking`
    assert.equal(left?.rows, range.kept)
    const pruned = await pruneHistory(db, 20 * DAY_MS)
    assert.ok(pruned.rows + pruned.months > 0)
  })

  test('takes a capture for a gap and never for a capture, and names a month that is missing', async () => {
    const store = (first: number, app: number, slot: Date) => db.sql`
      select store_rankings(array_agg(${first}::int + n), array_agg(${slot}::timestamptz),
        array_agg(${slot}::timestamptz), array_agg(100::smallint),
        array_agg(1::bigint), array_agg(${`{${app}}`}::text), array_agg(null::text), array_agg(null::text))
      from generate_series(1, 3) n`
    const slot = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS)
    await db.sql`select store_gaps(array[900001], array[${slot}::timestamptz], array['missed'],
      array['late'])`
    await store(900_000, 1, slot)
    await store(900_002, 2, slot)
    const rows = await db.sql<{ line: string }[]>`
      select concat_ws(' ', target_id - 900000, app_ids, gap) as line from ranking_row
        where target_id > 900000 order by target_id`
    assert.deepEqual(
      rows.map(({ line }) => line),
      ['1 {1}', '2 {1}', '3 {1}', '4 {2}', '5 {2}'],
    )
    await assert.rejects(store(900_000, 1, new Date('2020-01-01')), { code: '23514' })
    const fresh = openDatabase(database.url)
    const [kept] = await fresh.sql`select current_setting('citus.max_cached_conns_per_worker') as connections`
    await fresh.close()
    assert.equal(kept?.connections, '4')
  })
})

test('the main job runs on a distributed history, and buys nothing twice', {
  skip: WITHOUT_CITUS,
}, async (t) => {
  const database = await createCitusDatabase()
  await distribute(database.url)
  const world = await createWorld({ database, sandbox: { statusPerMinute: 1_000 } })
  t.after(() => world.close())
  const { sql } = world.db
  await sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select 'fitness', 'ios_store', keyword, 2840, 'en' from unnest(array['yoga', 'c++', '100% free', 'naïve',
      '日本語']) keyword`
  await sql`insert into chart_watch (project, collection, location_code, language_code)
    values ('fitness', 'topselling_free', 2840, 'en')`
  await sql`
    insert into app_watch (project, store, app_id, info, location_code, language_code)
    values ('fitness', 'ios_store', '1480010017', true, 2840, 'en')`
  await sql`insert into alert_rule (project, name, kind, threshold)
    values ('fitness', 'moved', 'rank_moved', 1)`
  const cycle = async () => {
    await sql`delete from api_call where kind = 'status'`
    const { context, stop } = await world.openRunner()
    const options = { waitMs: 60_000, onPhase: () => {}, onProgress: () => {} }
    return runCycle(context, await startRunner(context, []), JOBS, options).finally(stop)
  }
  assert.equal((await cycle()).plan.planned, 7)
  assert.equal((await cycle()).plan.planned, 0)
  const [stored] = await sql`
    select (select count(*) from ranking_row where gap is null) as rankings,
      (select count(*) from rank_history where rank is not null) as ranks,
      (select count(*) from task where state = 'collected') as tasks,
        (select count(*) from charge where kind = 'charge') as charges`
  assert.deepEqual(
    { ...stored, ranks: Number(stored?.ranks) > 0 },
    { rankings: 6, ranks: true, tasks: 7, charges: 7 },
  )
})

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Actual Loops': number
  readonly 'Remote SQL'?: string
  readonly Plans?: readonly PlanNode[]
}

function listForeignScans(node: PlanNode): PlanNode[] {
  const own = node['Node Type'] === 'Foreign Scan' ? [node] : []
  return [...own, ...(node.Plans ?? []).flatMap(listForeignScans)]
}

const DRIZZLE = new URL('../../../drizzle/', import.meta.url)

/** The objects of a distributed history, on tables and views of one server. */
async function distributeWithoutCitus(sql: TestDatabase['sql']): Promise<void> {
  const apply = async (name: string) =>
    sql.unsafe(await readFile(new URL(`distributed/${name}.sql`, DRIZZLE), 'utf8'))
  await apply('tables')
  await apply('queries')
  await sql`create view distributed_ranking as select * from ranking`
  await sql`create view distributed_slot as select * from distributed_slot_query`
  await sql`create view distributed_rank as select * from distributed_rank_query`
  for (const { text } of readObjects(fileURLToPath(DRIZZLE)).distributed) await sql.unsafe(text)
  await sql`insert into distributed_project (id, name) select id, name from project`
  await sql`select keep_distributed_lists(null)`
}

/**
 * One that ended, one of which nothing was measured, one whose interval changed, one that was measured last
 * two months ago.
 */
async function addOddWatches({ sql }: Database): Promise<void> {
  await sql`delete from keyword_watch where keyword = 'keyword 1'`
  await sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
      values (${PROJECT}, 'ios_store', 'never', 2840, 'en')`
  await sql`update keyword_watch set every = '12 hours' where keyword = 'keyword 2'`
  await sql`
    delete from ranking r using target t
    where t.id = r.target_id and t.subject = 'keyword 3' and r.slot > storerank_now() - interval '45 days'`
}

/** Views of Citus and the server, and those in which no history is. */
const UNASKED =
  '^(citus|pg|asked_interval|call_minute|service_state|open_work|plan_deadline|job_outcome|budget_use|' +
  'ended_task)'

/** All rows of each view, and of each function of (project, from, to), as sorted texts. */
async function askAll(db: Database): Promise<Record<string, string[]>> {
  const views = await db.sql<{ name: string }[]>`
    select c.relname as name from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'v'
      and c.relname !~ ${UNASKED} order by 1`
  const functions = await db.sql<{ name: string }[]>`
    select p.proname as name from pg_proc p
    where p.pronamespace = 'public'::regnamespace and p.proretset and p.pronargs - p.pronargdefaults <= 3
      and pg_get_function_identity_arguments(p.oid) ~ '^in_project text, from_day date, to_day date'
        order by 1`
  const questions = [
    ...views.map(({ name }) => [name, `select * from ${name}`] as const),
    ...functions.map(
      ({ name }) => [name, `select * from ${name}('${PROJECT}', current_date - 40, current_date)`] as const,
    ),
  ]
  const answers: Record<string, string[]> = {}
  for (const [name, query] of questions) answers[name] = await ask(db, query)
  return answers
}

async function ask({ sql }: Database, query: string): Promise<string[]> {
  const rows = await sql.unsafe<{ row: string }[]>(`select q::text as row from (${query}) q order by 1`)
  return rows.map(({ row }) => row)
}
