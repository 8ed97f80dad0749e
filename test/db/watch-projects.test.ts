/**
 * Watches have no foreign key to their project: triggers stand in for it, and many statements may write at
 * once.
 */
import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import type postgres from 'postgres'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/embedded.ts'
import { lasting } from '../support/lasting.ts'

const WATCH = `insert into keyword_watch (project, store, keyword, location_code, language_code)
  values ('quiet', 'ios_store', 'yoga', 2840, 'en')`
const WATCHLISTS = ['keyword_watch', 'app_watch', 'chart_watch', 'project']
const PER_STATEMENT = 1_000

const database = lasting(createTestDatabase)
let sql: TestDatabase['sql']
before(async () => {
  sql = database.sql
})
beforeEach(async () => {
  await sql`truncate keyword_watch, app_watch, watch_period`
  await sql`delete from project`
})

async function waitForLocks(count: number): Promise<void> {
  const waiting = () => sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await until(`${count} wait for a lock`, async () => (await waiting()).count === count)
}

/**
 * Runs both in transactions of their own: the second waits for the end of the first. Returns what becomes of
 * the second.
 */
async function runBoth(first: string, second: string): Promise<PromiseSettledResult<unknown>> {
  const [one, other] = await Promise.all([sql.reserve(), sql.reserve()])
  try {
    await one.unsafe('begin')
    await one.unsafe(first)
    const running = Promise.allSettled([other.unsafe(second).execute()])
    await waitForLocks(1)
    await one.unsafe('commit')
    const [outcome] = await running
    return outcome
  } finally {
    await one.unsafe('rollback')
    one.release()
    other.release()
  }
}

/** Of each watch its project, as it and its period name it. */
async function projectsOfWatches(): Promise<unknown[]> {
  return [
    ...(await sql`
      select w.project, p.project as followed from keyword_watch w
      join project pr on pr.name = w.project
      left join watch_period p on p.watch_id = w.id and p.ended_at is null`),
  ]
}

describe('a project', () => {
  beforeEach(async () => {
    await sql`insert into project (name) values ('quiet')`
  })

  test('is not deleted while another session writes watches of it', async () => {
    const outcome = await runBoth(WATCH, "delete from project where name = 'quiet'")
    assert.match(String((outcome as PromiseRejectedResult).reason), /has watches or a history/)
    assert.deepEqual(await projectsOfWatches(), [{ project: 'quiet', followed: 'quiet' }])
  })

  test('is made again when another session deletes it meanwhile', async () => {
    const outcome = await runBoth("delete from project where name = 'quiet'", WATCH)
    assert.equal(outcome.status, 'fulfilled')
    assert.deepEqual(await projectsOfWatches(), [{ project: 'quiet', followed: 'quiet' }])
  })

  test('takes the watches along that another session writes while it is renamed', async () => {
    await runBoth(WATCH, "update project set name = 'loud'")
    assert.deepEqual(await projectsOfWatches(), [{ project: 'loud', followed: 'loud' }])
  })

  test('is made under its old name for watches that come while it is renamed', async () => {
    await runBoth("update project set name = 'loud'", WATCH)
    assert.deepEqual(await projectsOfWatches(), [{ project: 'quiet', followed: 'quiet' }])
    assert.equal((await sql`select from project`).count, 2)
  })
})

for (const [what, write] of [
  [
    'target',
    (project: string) => `insert into keyword_watch (project, store, keyword, location_code, language_code)
      values ('${project}', 'ios_store', 'new to both', 2840, 'en')`,
  ],
  [
    'app',
    (project: string) =>
      `insert into app_watch (project, store, app_id) values ('${project}', 'ios_store', '1480010017')`,
  ],
] as const) {
  test(`a watch follows the ${what} that another session makes at the same moment`, async () => {
    assert.equal((await runBoth(write('one'), write('other'))).status, 'fulfilled')
    const periods =
      await sql`select project, coalesce(target_id, app) as same from watch_period order by project`
    assert.deepEqual(
      periods.map(({ project }) => project),
      ['one', 'other'],
    )
    assert.equal(periods[0]?.same, periods[1]?.same)
  })
}

test('two statements on the same targets in opposite orders wait and never deadlock', async () => {
  const insert = (project: string, order: string) => `
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select '${project}' || n % 7, 'ios_store', 'word ' || n, 2840, 'en'
    from generate_series(1, ${PER_STATEMENT}) n order by n ${order}`
  const sessions = await Promise.all([sql.reserve(), sql.reserve(), sql.reserve()])
  const [gate, one, other] = sessions as [postgres.ReservedSql, postgres.ReservedSql, postgres.ReservedSql]
  try {
    // Both stand before their first target when the third lets go.
    await gate.unsafe('begin; lock table target in share mode')
    const running = [
      one.unsafe(insert('a', 'asc')).execute(),
      other.unsafe(insert('b', 'desc')).execute(),
    ] as const
    await waitForLocks(2)
    await gate.unsafe('commit')
    await Promise.all(running)
  } finally {
    await gate.unsafe('rollback')
    for (const session of sessions) session.release()
  }
  const [counts] = await sql`
    select (select count(*)::int from target where subject like 'word %') as targets,
      (select count(*)::int from watch_period) as periods`
  assert.deepEqual(counts, { targets: PER_STATEMENT, periods: 2 * PER_STATEMENT })
})

test('a column that must have a value says so in a sentence, whichever it is', async () => {
  await sql.unsafe(WATCH)
  await sql`insert into app_watch (project, store, app_id) values ('quiet', 'ios_store', '1480010017')`
  await sql`insert into chart_watch (project, collection, location_code, language_code)
    values ('quiet', 'topgrossing', 2840, 'en')`
  const columns = await sql<{ table: string; column: string }[]>`
    select c.relname::text as table, a.attname::text as column from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and a.attnotnull and a.attidentity <> 'a'
    where c.oid = any(${WATCHLISTS}::regclass[])`
  assert.ok(columns.length > 30)
  for (const { table, column } of columns) {
    // A watch without a depth of keywords or reviews gets that of its store.
    if (['keyword_watch depth', 'app_watch reviews_depth'].includes(`${table} ${column}`)) continue
    await assert.rejects(sql`update ${sql(table)} set ${sql(column)} = null`, {
      code: '23502',
      message: `${column} is missing.`,
      constraint_name: `${table}_${column}_missing`,
    })
  }
  await sql`delete from app_watch`
  await sql`delete from chart_watch`
})

test('what is null in a new row gets its default, the number of the row too', async () => {
  const [row] = await sql`
    insert into keyword_watch (id, project, store, keyword, location_code, language_code, every, weight, tags,
      created_at)
    values (null, 'quiet', 'ios_store', ' yoga', 2840, 'en', null, null, null, null)
    returning id is not null as "hasId", keyword, every, weight, tags,
      created_at = storerank_now() as "isNow"`
  assert.deepEqual(row, { hasId: true, keyword: 'yoga', every: '1 day', weight: null, tags: [], isNow: true })
})
