/**
 * What is wrong with watches is found, however many there are in order: `status` asks for it, and each run
 * and plan.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const FEW = 400
const TIMES = 10
/** Indexes grow a level, and a page is half full or full. */
const MOST_TIMES = 2

const list = lasting(createWatchlist)
before(async () => {
  await list.setNow('2026-03-10 13:00+00')
  const { sql } = list
  await sql`insert into location (store, code, name)
    select 'ios_store', 2800 + n, 'Place ' || n from generate_series(1, 50) n`
  await sql`insert into language values ('ios_store', 'en', 'English'), ('ios_store', 'de', 'German')`
  await sql`insert into app_watch (project, store, app_id)
    select 'project ' || n, 'ios_store', '1001' from generate_series(0, 4) n`
  await sql`select ensure_history_partitions('2026-03-01', '2026-03-10')`
})

/**
 * Keywords in twenty places, by code and by name, half of them shared by two projects, and measured
 * yesterday.
 */
async function addHealthy(from: number, to: number): Promise<void> {
  const { sql } = list
  await sql`
    insert into keyword_watch (project, store, keyword, location_code, location_name, language_code)
    select 'project ' || n % 5, 'ios_store', 'keyword ' || n / 2, case n / 2 % 2 when 0
      then 2801 + n / 2 % 20 end,
      case n / 2 % 2 when 1 then 'Place ' || 1 + n / 2 % 20 end, case n / 2 % 3 when 0 then 'de' else 'en' end
    from generate_series(${from}::int, ${to}::int) n`
  await sql`
    insert into ranking (target_id, slot, captured_at, app_ids)
    select id, '2026-03-09 00:00+00', '2026-03-09 00:10+00', '{}' from target on conflict do nothing`
}

/** As two do that write spellings of one keyword at once: neither sees the other's. */
async function addUnseen(project: string, keyword: string, location: number): Promise<void> {
  const id = await list.addKeyword({ project, keyword, location_code: location })
  await list.sql`delete from watch_period where kind = 'keyword' and watch_id = ${id}`
  await list.sql`
    insert into watch_period (kind, watch_id, project, target_id, every, depth, priority, started_at,
      first_slot)
    select 'keyword', k.id, k.project, target_of(k.store, 'app_searches', k.keyword, ${location}, 'en'),
      k.every, k.depth, k.priority, storerank_now(), slot_of(k.every, storerank_now())
    from keyword_watch k where k.id = ${id}`
}

/**
 * One of each: a place that has gone, a language, a twin, another spelling, a failed measurement, a budget.
 */
async function addTrouble(): Promise<void> {
  const { sql } = list
  await sql`insert into language values ('ios_store', 'fr', 'French')`
  await list.addKeyword({ project: 'project 0', keyword: 'nowhere', location_code: 2850 })
  await list.addKeyword({
    project: 'project 0',
    keyword: 'unspoken',
    location_code: 2801,
    language_code: 'fr',
  })
  await list.addKeyword({ project: 'project 0', keyword: 'twice', location_code: 2802 })
  await list.addKeyword({
    project: 'project 0',
    keyword: 'twice',
    location_code: null,
    location_name: 'Place 2',
  })
  await list.addKeyword({ project: 'project 0', keyword: 'Spelled', location_code: 2803 })
  await addUnseen('project 1', 'spelled', 2803)
  await list.addKeyword({ project: 'project 1', keyword: 'failed', location_code: 2803 })
  await list.addKeyword({ project: 'project 1', keyword: 'dear', location_code: 2803 })
  await list.leaveGap('failed', '2026-03-09 00:00+00', 'failed', 'No Such Place.')
  await sql`
    insert into due_slot (target_id, slot, ends_at, cut, price_micros, priority, captured_at, askers)
    select id, '2026-03-10 00:00+00', '2026-03-11 00:00+00', 'project_budget', 1200, 1, '-infinity', 1
      from target where subject = 'dear'`
  await sql`delete from location where code = 2850`
  await sql`delete from language where code = 'fr'`
}

const TROUBLE = [
  'differs_in_case',
  'followed_already',
  'language_unknown',
  'last_slot_failed',
  'location_unknown',
  'money',
]

async function readTold(): Promise<string[]> {
  const rows = await list.sql<{ problem: string }[]>`select problem from watch_problem order by 1`
  return rows.map(({ problem }) => problem)
}

async function readPages(): Promise<number> {
  const { sql } = list
  const [row] = await sql<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }[]>`
    explain (analyze, buffers, timing off, format json)
    select * from watch_problem`
  const plan = row?.['QUERY PLAN'][0].Plan ?? {}
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)
}

test('ten times as many watches in order are not ten times as much to read', async () => {
  const { sql } = list
  await addHealthy(1, FEW)
  await addTrouble()
  assert.deepEqual(await readTold(), TROUBLE)
  const few = await readPages()
  await sql`analyze`
  const fewAnalyzed = await readPages()

  await addHealthy(FEW + 1, FEW * TIMES)
  assert.deepEqual(await readTold(), TROUBLE)
  const many = await readPages()
  await sql`analyze`
  const manyAnalyzed = await readPages()
  assert.ok(many <= few * MOST_TIMES, `${many} pages of ten times as many, and ${few} before`)
  assert.ok(
    manyAnalyzed <= fewAnalyzed * MOST_TIMES,
    `${manyAnalyzed} pages with statistics, and ${fewAnalyzed} before`,
  )
})

test('apps are read once, however many of their places have gone', async () => {
  const { sql } = list
  await sql`insert into location (store, code, name)
    select 'android_store', 3000 + n, 'Far ' || n from generate_series(1, 100) n`
  await sql`insert into app_watch (project, store, app_id, info, location_code, language_code)
    select 'far', 'android_store', 'com.acme.n' || n, true, 3001 + n % 100, 'en'
    from generate_series(1, 1000) n`
  await sql`analyze app_watch`
  const few = await readPages()
  await sql`delete from location where code > 3001 and store = 'android_store'`
  const many = await readPages()
  const [apps] = await sql`select relpages as pages from pg_class where relname = 'app_watch'`
  assert.ok(apps?.pages > 10)
  assert.ok(many - few < 200 * apps?.pages, `${many} pages for 99 places that have gone, and ${few} before`)
  await sql`delete from app_watch where project = 'far'`
})

test('spellings that two wrote at once are told, whichever came first', async () => {
  const { sql } = list
  const told = async () => {
    const rows = await sql<{ message: string }[]>`
      select message from watch_problem where problem = 'differs_in_case' and project = 'project 3'`
    return rows.map(({ message }) => message.replaceAll(/ \(keyword_watch \d+\)/g, '').split(' differ ')[0])
  }
  const add = async (...keywords: string[]) => {
    for (const keyword of keywords) await addUnseen('project 3', keyword, 2804)
  }
  await add('run', 'Run')
  assert.deepEqual(await told(), ['"run", "Run"'])
  await add('RUN')
  assert.deepEqual(await told(), ['"run", "Run", "RUN"'])
  await sql`delete from keyword_watch where keyword in ('run', 'RUN')`
  assert.deepEqual(await told(), [])
  await sql`delete from keyword_watch where keyword = 'Run'`
  await add('Äpfel', 'äpfel')
  assert.deepEqual(await told(), ['"Äpfel", "äpfel"'])
})
