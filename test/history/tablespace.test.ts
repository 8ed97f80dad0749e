import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from '../../src/db/sql.ts'
import { ConfigurationError } from '../../src/errors.ts'
import { moveOldMonths } from '../../src/history/tablespace.ts'
import { createPlanning, type Planning } from '../support/planning.ts'

const SLOW = `slow_${randomBytes(4).toString('hex')}`
let planning: Planning

before(async () => {
  planning = await createPlanning()
  const session = planning.db.openSession(60_000)
  // Within the folder of the server, so that none need be made for it.
  await session`set allow_in_place_tablespaces = on`
  await session`create tablespace ${sql.identifier(SLOW)} location ''`
  await session.end()
  await planning.setNow('2027-06-10 12:00+00')
  await planning.db.sql`select ensure_history_partitions('2027-01-01', '2027-06-10')`
})
after(async () => {
  try {
    await moveOldMonths(planning.db, 'pg_default')
    await planning.db.sql`drop tablespace ${sql.identifier(SLOW)}`
  } finally {
    await planning.drop()
  }
})

async function listMoved(): Promise<string[]> {
  const rows = await planning.db.sql<{ name: string }[]>`
    select relname as name from pg_class c join pg_tablespace t on t.oid = c.reltablespace
    where t.spcname = ${SLOW} and c.relkind = 'r' order by 1`
  return rows.map(({ name }) => name)
}

test('months that ended 92 days ago are moved with their indexes, once, and work as before', async () => {
  const { sql } = planning.db
  await sql`
    insert into ranking (target_id, slot, captured_at, depth, app_ids)
    values (1, '2027-01-05', '2027-01-05', 100, '{1,2,3}'), (1, '2027-06-05', '2027-06-05', 100, '{4}')`
  // What has another number behind its name is no month.
  await sql`create table ranking_105271 partition of ranking for values from ('1999-01-01') to ('1999-02-01')`
  const { moved, left } = await moveOldMonths(planning.db, SLOW)
  await sql`drop table ranking_105271`
  assert.equal(left, 0)
  assert.ok(moved >= 12, `${moved} tables and indexes`)
  assert.deepEqual(await listMoved(), [
    'app_snapshot_202701',
    'app_snapshot_202702',
    'page_202701',
    'page_202702',
    'ranking_202701',
    'ranking_202702',
  ])
  assert.deepEqual(await moveOldMonths(planning.db, SLOW), { moved: 0, left: 0 })
  const rows = await sql`select app_ids as apps from ranking where target_id = 1 order by slot`
  assert.deepEqual(
    rows.map(({ apps }) => apps),
    [[1, 2, 3], [4]],
  )
})

test('a month that a person reads is left for the next night', async () => {
  await planning.setNow('2027-07-10 12:00+00')
  await planning.openAnother().begin(async (tx) => {
    await tx`select from ranking where slot = '2027-03-05'`
    const { moved, left } = await moveOldMonths(planning.db, SLOW)
    assert.ok(left > 0 && moved > 0)
  })
  assert.ok(!(await listMoved()).includes('ranking_202703'))
  assert.equal((await moveOldMonths(planning.db, SLOW)).left, 0)
  assert.ok((await listMoved()).includes('ranking_202703'))
})

test('without the setting nothing moves; a missing tablespace is told with how it is made', async () => {
  assert.deepEqual(await moveOldMonths(planning.db, null), { moved: 0, left: 0 })
  await assert.rejects(moveOldMonths(planning.db, 'nowhere'), (error) => {
    assert.ok(error instanceof ConfigurationError)
    assert.match(
      error.message,
      /"nowhere", which there is not: create tablespace "nowhere" owner \w+ location/,
    )
    return true
  })
})
