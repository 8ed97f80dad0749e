/** What the view `open_work` tells of the runners and of the server, to one who may only read. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openDueSlots } from '../../src/plan/due.ts'
import { type AnySql, createTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { createPlanning } from '../support/planning.ts'

const database = lasting(createTestDatabase)

async function ask(sql: AnySql, kind: string) {
  const [row] = await sql<{ count: string; message: string | null }[]>`
    select count, message from open_work where kind = ${kind}`
  return { count: Number(row?.count), message: row?.message }
}

test('a server that cannot write is told of by reading', async () => {
  assert.deepEqual(await ask(database.sql, 'no_room'), { count: 0, message: null })
  await database.sql.begin(async (tx) => {
    await tx`set local temp_file_limit = 0`
    await tx`set local role storerank_reader`
    const { count, message } = await ask(tx, 'no_room')
    assert.equal(count, 1)
    assert.match(message ?? '', /^The database server cannot write: temporary file size exceeds .*Make room/)
  })
})

describe('a plan is late', () => {
  const START = '2026-03-09T13:00:00.000Z'
  const RUN = '2026-03-09T13:00:00.250Z'
  /** The interval of the watch, the slot of the last plan, the present, and whether a plan is late then. */
  const CASES = [
    ['1 day', START, '2026-03-10T01:59:00Z', 0],
    ['1 day', START, '2026-03-10T02:01:00Z', 1],
    ['1 day', RUN, '2026-03-10T11:59:00Z', 0],
    ['1 day', RUN, '2026-03-10T12:01:00Z', 1],
    ['1 hour', START, '2026-03-09T14:29:00Z', 0],
    ['1 hour', START, '2026-03-09T14:31:00Z', 1],
    ['1 hour', RUN, '2026-03-09T14:31:00Z', 1],
    ['7 days', START, '2026-03-16T01:59:00Z', 0],
    ['7 days', START, '2026-03-16T02:01:00Z', 1],
    ['7 days', RUN, '2026-03-19T11:59:00Z', 0],
    ['7 days', RUN, '2026-03-19T12:01:00Z', 1],
  ] as const
  for (const [every, last, now, late] of CASES)
    test(`${every}, planned by the slot ${last}: ${late} at ${now}`, async (t) => {
      const { db, ...planning } = await createPlanning()
      t.after(() => planning.drop())
      const told = () => ask(db.sql, 'no_run')
      await planning.setNow('2026-03-09T12:59:00Z')
      assert.equal((await told()).count, 0, 'nothing is watched')
      await planning.watch('fitness', ['yoga'], { every })
      const { count, message } = await told()
      assert.equal(count, 1)
      assert.match(message ?? '', /^Nothing was ever planned.*start `storerank start`, or look why the cron/)
      await planning.plan()
      await planning.measure()
      await db.sql`insert into job_run (job, slot, state, ended_at)
        values ('track', ${last}, 'done', ${last})`
      assert.equal((await told()).count, 0, 'all is planned')
      await planning.setNow(now)
      assert.equal((await told()).count, late)
      await openDueSlots(db)
      assert.equal((await told()).count, late, 'what was opened and not planned is as late')
    })

  test('not for a watch that is new, and not while a plan is at work', async (t) => {
    const { db, ...planning } = await createPlanning()
    t.after(() => planning.drop())
    const told = async () => (await ask(db.sql, 'no_run')).count
    await db.sql`insert into job_run (job, slot, state, ended_at)
      values ('track', ${START}, 'done', ${START})`
    await planning.setNow('2026-03-10T18:00:00Z')
    await planning.watch('fitness', ['yoga'])
    assert.equal(await told(), 0)
    await openDueSlots(db)
    const began = (ago: string) => db.sql`
      insert into job_run (job, slot, state, started_at)
      values ('track', '2026-03-10T18:00:00Z', 'running', clock_timestamp() - ${ago}::text::interval)
      on conflict (job, slot) do update set started_at = excluded.started_at`
    await began('14 minutes')
    assert.equal(await told(), 0)
    await began('16 minutes')
    assert.equal(await told(), 1)
  })
})

describe('what is due and was not planned', () => {
  const planning = lasting(createPlanning)

  async function readUnplanned(): Promise<[number, string | null]> {
    const [row] = await planning.db.sql<{ count: number; since: Date | null }[]>`
      select count, since from open_work where kind = 'unplanned'`
    return [row?.count ?? 0, row?.since?.toISOString() ?? null]
  }

  /** As `track` does, with its row. */
  async function track(): Promise<void> {
    await planning.plan()
    await planning.measure()
    await planning.db.sql`
      insert into job_run (job, slot, state, started_at, ended_at)
      values ('track', storerank_now(), 'done', storerank_now(), storerank_now())
      on conflict do nothing`
  }

  test('is all that is watched before the first plan, and nothing after it', async () => {
    await planning.setNow('2026-03-09T13:00:00Z')
    assert.deepEqual(await readUnplanned(), [0, null])
    await planning.watch('a', ['yoga', 'zen', 'run'])
    await planning.watch('b', ['yoga'], { every: '1 hour' })
    assert.deepEqual(await readUnplanned(), [4, '2026-03-09T00:00:00.000Z'])
    await track()
    assert.deepEqual(await readUnplanned(), [0, null])
  })

  test('is counted from the first slot that no plan has looked at, by interval', async () => {
    await planning.setNow('2026-03-09T14:30:00Z')
    assert.deepEqual(await readUnplanned(), [1, '2026-03-09T14:00:00.000Z'])
    await track()
    await planning.setNow('2026-03-09T14:59:00Z')
    assert.deepEqual(await readUnplanned(), [0, null])
    await planning.setNow('2026-03-10T00:20:00Z')
    assert.deepEqual(await readUnplanned(), [4, '2026-03-09T15:00:00.000Z'])
    await track()
    assert.deepEqual(await readUnplanned(), [0, null])
    await planning.setNow('2026-03-12T00:20:00Z')
    await planning.db.sql`delete from keyword_watch where every = '1 hour'`
    assert.deepEqual(await readUnplanned(), [3, '2026-03-11T00:00:00.000Z'])
    await track()
  })

  test('counts a watch that is new once, whether its interval is due or not', async () => {
    await planning.watch('a', ['new'])
    assert.deepEqual(await readUnplanned(), [1, '2026-03-12T00:00:00.000Z'])
    await planning.setNow('2026-03-13T00:20:00Z')
    assert.deepEqual(await readUnplanned(), [4, '2026-03-12T00:00:00.000Z'])
    await planning.watch('a', ['newer'], { every: '6 hours' })
    await track()
    await planning.watch('a', ['newest'], { every: '6 hours' })
    await planning.setNow('2026-03-13T06:20:00Z')
    await planning.watch('b', ['zen'])
    assert.deepEqual(await readUnplanned(), [3, '2026-03-13T00:00:00.000Z'])
    await track()
    assert.deepEqual(await readUnplanned(), [0, null])
  })

  test('is what a plan that was broken off has left', async () => {
    await planning.setNow('2026-03-15T00:20:00Z')
    const [before] = await readUnplanned()
    assert.equal(before, 7)
    await openDueSlots(planning.db)
    // Two of the watches ask for the same.
    assert.equal((await readUnplanned())[0], 6)
    await track()
    assert.deepEqual(await readUnplanned(), [0, null])
  })
})
