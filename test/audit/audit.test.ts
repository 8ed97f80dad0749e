import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { audit } from '../../jobs/audit.ts'
import { auditDueDays, auditPosted, readDueDays } from '../../src/audit/audit.ts'
import { RejectedError, UnavailableError } from '../../src/errors.ts'
import { pruneWork } from '../../src/history/housekeeping.ts'
import { isChecked } from '../../src/ledger/restored.ts'
import { checkForRestore } from '../../src/post/restored.ts'
import { executeJob } from '../../src/queue/job.ts'
import { readMoney, readOwnBooks } from '../post/posting.ts'
import { buy, watchKeywords } from '../support/stages.ts'
import type { World } from '../support/world.ts'
import {
  auditAll,
  audited,
  DAY_MS,
  HOUR_MS,
  measure,
  range,
  readProblems,
  rowOf,
  useWorlds,
  withHistory,
} from './auditing.ts'

const openWorld = useWorlds()

describe('a list that is not read whole', () => {
  /** Two pages, and one task of ours in them, for which the service took less than we know. */
  async function buyAmongMany(t: TestContext) {
    const world = await openWorld(t)
    await measure(world, ['zzz'], { store: 'android_store', depth: 200 })
    const [own] = await readOwnBooks(world)
    assert.ok(own !== undefined)
    const rows = Array.from({ length: 1500 }, (_, n) => rowOf(`other-${n}`))
    rows[1200] = rowOf(own.id, { tag: own.tag, costMicros: own.costMicros })
    return { world, rows }
  }
  const isUntouched = async (world: World) => {
    assert.deepEqual(Object.keys(await readMoney(world.db)), ['charge'])
    assert.deepEqual(await readProblems(world), [])
  }

  test('because a page failed leaves everything as it was', async (t) => {
    const { world, rows } = await buyAmongMany(t)
    const failing = withHistory(world, async ({ offset, limit }) => {
      if (offset > 0) throw new UnavailableError('The service is down.')
      return rows.slice(offset, offset + limit)
    })
    await assert.rejects(auditAll(world, failing), { code: 'unavailable' })
    await isUntouched(world)
    const refused = withHistory(world, async () => {
      throw new RejectedError('no', 40501)
    })
    await assert.rejects(auditAll(world, refused), { code: 'rejected' })
    await isUntouched(world)
  })

  test('because it never stood still is refused with a sentence', async (t) => {
    const { world, rows } = await buyAmongMany(t)
    let made = 0
    const restless = withHistory(world, async ({ offset, limit }) => {
      if (offset > 0) rows.unshift(rowOf(`new-${made++}`))
      return rows.slice(offset, offset + limit)
    })
    await assert.rejects(auditAll(world, restless), {
      code: 'unavailable',
      message: /each time they were read, so nothing was compared\. The next audit reads them again\.$/,
    })
    await isUntouched(world)
  })

  test('at once is read again: a task that moved in front of the page just read is compared', async (t) => {
    const { world, rows } = await buyAmongMany(t)
    let page = 0
    const moving = withHistory(world, async ({ offset, limit }) => {
      page += 1
      if (page === 2) rows.unshift(...rows.splice(1200, 1))
      return rows.slice(offset, offset + limit)
    })
    assert.deepEqual(await auditAll(world, moving), audited({ listed: 1500, adjusted: 1, unknown: 1499 }))
    assert.equal((await readProblems(world)).length, 2)
  })

  test('because the runner stops is left to the next audit', async (t) => {
    const { world } = await buyAmongMany(t)
    const options = { overdueAfterMs: HOUR_MS, signal: AbortSignal.abort() }
    await assert.rejects(auditPosted(world.db, world.client, range(), options), { name: 'AbortError' })
    await isUntouched(world)
  })
})

test('the check for which posts wait is made before it is due, and waits for no audit', async (t) => {
  const world = await openWorld(t)
  await watchKeywords(world, ['zzz'])
  await buy(world)
  await checkForRestore(world.db, world.client)
  const rows = Array.from({ length: 1500 }, (_, n) => rowOf(`other-${n}`))
  const isRecent: boolean[] = []
  const client = withHistory(world, async (query) => {
    // The day of an audit begins half an hour before midnight.
    if (query.from.getTime() % DAY_MS !== DAY_MS - HOUR_MS / 2) return world.client.listTaskIds(query)
    isRecent.push(await isChecked(world.db, 30))
    await world.db.sql`
      update restore_check set checked_at = clock_timestamp() - interval '45 minutes',
        written_by = pg_current_xact_id()::xid::text`
    return rows.slice(query.offset, query.offset + query.limit)
  })
  const options = { overdueAfterMs: world.settings.overdueAfterMs }
  assert.equal((await auditDueDays(world.db, client, 'audit', options)).days, 2)
  assert.deepEqual(isRecent, [true, true, true, true])
})

describe('the days that are due', () => {
  const day = (ago: number) => {
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS
    return new Date(today - ago * DAY_MS)
  }
  /** How many days ago each due day was, and that they are whole. */
  async function due(world: World): Promise<number[]> {
    const days = await readDueDays(world.db, 'audit', new Date())
    return days.map(({ from, to }) => {
      assert.equal(to.getTime() - from.getTime(), DAY_MS)
      return (day(0).getTime() - from.getTime()) / DAY_MS
    })
  }
  const ran = (world: World, state: string, ago: number) => world.db.sql`
    insert into job_run (job, slot, state) values ('audit', ${new Date(day(ago).getTime() + 45 * 60_000)},
      ${state})`

  test('are the two before today, and after an outage all since the last that ended well', async (t) => {
    const world = await openWorld(t)
    assert.deepEqual(await due(world), [2, 1])
    await ran(world, 'done', 6)
    await ran(world, 'failed', 2)
    assert.deepEqual(await due(world), [7, 6, 5, 4, 3, 2, 1])
    await ran(world, 'done', 1)
    assert.deepEqual(await due(world), [2, 1])
    await ran(world, 'done', 0)
    assert.deepEqual(await due(world), [1])
  })

  test('end where the service forgets the tags, and are never none, whatever the clock said', async (t) => {
    const world = await openWorld(t)
    await ran(world, 'done', 80)
    const days = await due(world)
    assert.deepEqual([days[0], days.length], [26, 26])
    await world.client.listTaskIds({
      from: new Date(day(26).getTime() - HOUR_MS),
      to: new Date(),
      offset: 0,
      limit: 1,
      includeMetadata: true,
      sort: 'asc',
    })
    await ran(world, 'done', -5)
    assert.deepEqual(await due(world), [1])
  })

  test('are audited by the job, and not again by its next run', async (t) => {
    const world = await openWorld(t)
    const { context } = await world.openRunner()
    for (const days of [2, 1]) assert.deepEqual(await executeJob(context, audit), { days, ...audited({}) })
  })
})

test('what the audit found is forgotten after 90 days', async (t) => {
  const world = await openWorld(t)
  await world.db.sql`
    insert into audit_difference (kind, service_id, posted_at)
    values ('missing', 'old', now() - interval '91 days'), ('missing', 'new', now() - interval '89 days')`
  assert.equal((await pruneWork(world.db)).differences, 1)
  const left = await world.db.sql`select service_id from audit_difference`
  assert.deepEqual([...left], [{ service_id: 'new' }])
})
