/** A copy of a database knows that it is one, and buys nothing before a person has said what it is. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { auditPosted } from '../../src/audit/audit.ts'
import { openDatabase } from '../../src/db/database.ts'
import { readRestoreHold, recordCheck, standApart } from '../../src/ledger/restored.ts'
import { refuseRestored } from '../../src/post/restored.ts'
import type { TestDatabase } from '../support/database.ts'
import { DAY_MS, RECOVER, useService } from './recovering.ts'

const service = useService()
const {
  openTestDatabase,
  copy,
  at,
  plan,
  post,
  liveDay,
  watch,
  readBooks,
  readMeasured,
  assertNothingTwice,
  sweep,
} = service

/** The server of a copy of files has started since, and runners reach it elsewhere. */
async function copyFiles(original: TestDatabase): Promise<TestDatabase> {
  const target = await copy(original)
  await at(target, async (db) => {
    await recordCheck(db)
    await db.sql`
      update restore_check set server_started_at = server_started_at - interval '1 hour',
        places = '{db.example.com:5432/ranks}', written_by = pg_current_xact_id()::xid::text`
  })
  return target
}

describe('a copy beside its original, at the very instant at which it was made', () => {
  for (const [way, make] of Object.entries({ 'by a dump': copy, 'of the files': copyFiles })) {
    test(`posts nothing before a person has said what it is: one ${way}`, async () => {
      const original = await openTestDatabase()
      await watch(original)
      await liveDay(original)
      await at(original, plan)
      const beside = await make(original)
      const bought = (await readBooks()).length
      await at(beside, async (db) => {
        await post(db, await sweep(db))
        assert.match((await readRestoreHold(db.sql)) ?? '', /is a copy .*recover --apart` here/)
      })
      assert.equal((await readBooks()).length, bought, 'the copy has bought')
      await at(original, async (db) => post(db, await sweep(db)))
      assertNothingTwice(await readMeasured())

      await at(beside, async (db) => {
        await standApart(db)
        await refuseRestored(db, service.client)
        await post(db, await sweep(db))
      })
      const counts = new Map<string, number>()
      for (const one of await readMeasured()) counts.set(one, (counts.get(one) ?? 0) + 1)
      assert.equal(Math.max(...counts.values()), 2, 'the copy that stands apart buys for itself')
      await at(original, async (db) => {
        await auditPosted(
          db,
          service.client,
          { from: new Date(service.presentMs - DAY_MS), to: new Date(service.presentMs) },
          RECOVER,
        )
        assert.equal(await readRestoreHold(db.sql), null)
        assert.equal((await db.sql`select from charge where kind = 'duplicate'`).count, 0)
      })
    })
  }

  test('is no copy where its server has only started again, or is reached by another name too', async () => {
    const original = await openTestDatabase()
    await watch(original)
    await liveDay(original)
    await original.sql`
      update restore_check set server_started_at = server_started_at - interval '1 hour',
        written_by = pg_current_xact_id()::xid::text`
    await at(original, (db) => refuseRestored(db, service.client))
    await original.sql`update restore_check
      set places = '{db:5432/x}', written_by = pg_current_xact_id()::xid::text`
    await at(original, (db) => refuseRestored(db, service.client))
    const [check] = await original.sql<{ places: string[] }[]>`select places from restore_check`
    assert.equal(check?.places.length, 2)
  })

  test('is no copy where a new way to it was taken first after a start of its server', async () => {
    const original = await openTestDatabase()
    await watch(original)
    await liveDay(original)
    await original.sql`
      update restore_check set server_started_at = server_started_at - interval '1 hour',
        written_by = pg_current_xact_id()::xid::text`
    const tunnel = openDatabase(original.url, { place: 'localhost:6543/ranks' })
    const refused = { message: /is a copy of the one that has bought/ }
    await assert.rejects(refuseRestored(tunnel, service.client), refused)
    await at(original, (db) => refuseRestored(db, service.client))
    await refuseRestored(tunnel, service.client)
    await tunnel.close()
  })
})
