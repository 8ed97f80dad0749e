/** Partitions ahead of time, and on demand at the edge of a month. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import type { Database } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { makePartitionsAhead } from '../../src/history/retention.ts'
import { lasting } from '../support/lasting.ts'
import { createPlanning } from '../support/planning.ts'

const planning = lasting(createPlanning)
beforeEach(async () => {
  for (const name of await partitions('%')) await planning.db.sql`drop table ${sql.identifier(name)}`
})

async function partitions(like = 'ranking%'): Promise<string[]> {
  const rows = await planning.db.sql<{ name: string }[]>`
    select relname as name from pg_class where relispartition and relkind = 'r'
      and relnamespace = 'public'::regnamespace and relname like ${like} order by 1`
  return rows.map(({ name }) => name)
}

async function ensurePartitionsOfSlots(db: Database, slots: readonly Date[]): Promise<void> {
  const stamps = slots.map((slot) => slot.toISOString())
  await db.sql`select ensure_history_partitions(min(s), max(s)) from unnest(${stamps}::timestamptz[]) s`
}

describe('partitions', () => {
  test('are made for this month and those ahead, over the turn of the year, and only once', async () => {
    await planning.setNow('2026-11-30 23:59+00')
    assert.equal(await makePartitionsAhead(planning.db, 3), 12)
    assert.deepEqual(await partitions(), [
      'ranking_202611',
      'ranking_202612',
      'ranking_202701',
      'ranking_202702',
    ])
    assert.deepEqual(await partitions('app_snapshot%'), [
      'app_snapshot_202611',
      'app_snapshot_202612',
      'app_snapshot_202701',
      'app_snapshot_202702',
    ])
    assert.equal(await makePartitionsAhead(planning.db, 3), 0)
    await planning.setNow('2026-12-01 00:00+00')
    assert.equal(await makePartitionsAhead(planning.db, 3), 3)
  })

  test('are made on demand from the first to the last slot, in whatever order they come', async () => {
    await ensurePartitionsOfSlots(planning.db, [new Date('2027-02-01T00:00Z'), new Date('2026-12-31T23:00Z')])
    assert.deepEqual(await partitions(), ['ranking_202612', 'ranking_202701', 'ranking_202702'])
  })

  test('are not made for no slots', async () => {
    await ensurePartitionsOfSlots(planning.db, [])
    assert.deepEqual(await partitions(), [])
  })

  test('are made once by two runners that want the same at the same moment', async () => {
    const runners = [planning.openAnother(), planning.openAnother(), planning.openAnother()]
    const slots = Array.from({ length: 12 }, (_, month) => new Date(Date.UTC(2026, month, 15)))
    await Promise.all(runners.map((db) => ensurePartitionsOfSlots(db, slots)))
    assert.equal((await partitions()).length, 12)
  })
})
