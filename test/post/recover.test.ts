/**
 * A database that is restored from an older copy, or is empty, pays for nothing again: it refuses to post,
 * reads back what was bought, and its books and history are what they would have been.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { auditPosted } from '../../src/audit/audit.ts'
import {
  adoptInstallationId,
  isChecked,
  readRestoreHold,
  recordCheck,
  standApart,
} from '../../src/ledger/restored.ts'
import { planDueTasks } from '../../src/plan/plan.ts'
import { recoverForgottenTasks } from '../../src/post/recover.ts'
import { checkForRestore, readInstallations, refuseRestored } from '../../src/post/restored.ts'
import { findPrograms } from '../support/copy.ts'
import { endAttemptPauses } from '../support/ledger.ts'
import { startLossyProxy } from './lossy-proxy.ts'
import { BUDGET, DAY_MS, RECOVER, useService } from './recovering.ts'

const service = useService()
describe('a database that was restored from an older copy', () => {
  test('pays for nothing again: it has the books of the service, the history of the original', async () => {
    const original = await service.openTestDatabase()
    await service.watch(original)
    // With dumps, in the proofs, a month with a backup on day 20; else five days.
    const [backupDay, lastDay] = (await findPrograms(original)) === null ? [2, 5] : [20, 30]
    for (let day = 0; day < backupDay; day += 1) await service.liveDay(original)
    // The copy is made while some tasks are planned, and others are posted and not collected.
    const planned = await service.at(original, service.plan)
    await service.at(original, (db) => service.post(db, planned.slice(0, 1)))
    const restored = await service.copy(original)
    await service.at(original, async (db) => {
      await service.post(db, planned.slice(1))
      await service.collect(db)
    })
    service.passDay()
    for (let day = backupDay + 1; day < lastDay; day += 1) await service.liveDay(original)
    await service.at(original, service.plan)

    await assert.rejects(
      service.at(restored, (db) => refuseRestored(db, service.client)),
      /is a copy of the one that has bought as \w{12}: .*storerank recover/,
    )
    const bought = (await service.readBooks()).length
    await service.at(restored, async (db) => service.post(db, await service.plan(db)))
    assert.equal((await service.readBooks()).length, bought, 'a database that is held posted')

    const found = await service.at(restored, service.recover)
    assert.ok(found.recovered > 5)
    assert.equal(found.duplicates + found.unreadable, 0)
    await service.assertBooksAgree(restored)
    assert.deepEqual(await service.readHistory(restored), await service.readHistory(original))
    assert.equal(await service.at(restored, (db) => readRestoreHold(db.sql)), null)

    await service.liveDay(restored)
    await service.liveDay(restored)
    service.assertNothingTwice(await service.readMeasured())
    await service.assertBooksAgree(restored)
    assert.equal(await service.at(restored, (db) => isChecked(db)), true)
  })

  test('may be ended in the middle of a recovery and recovered again', async () => {
    const original = await service.openTestDatabase()
    await service.watch(original)
    await service.liveDay(original)
    const restored = await service.copy(original)
    for (let day = 1; day < 4; day += 1) await service.liveDay(original)
    const stopping = new AbortController()
    const options = { ...RECOVER, signal: stopping.signal, onProgress: () => stopping.abort() }
    await assert.rejects(service.at(restored, (db) => recoverForgottenTasks(db, service.client, options)))
    assert.match((await service.at(restored, (db) => readRestoreHold(db.sql))) ?? '', /storerank recover/)
    await service.at(restored, service.recover)
    await service.assertBooksAgree(restored)
    assert.equal((await service.at(restored, service.recover)).recovered, 0)
    await service.liveDay(restored)
    service.assertNothingTwice(await service.readMeasured())
  })

  test('is read from what it knew as a copy, though it has collected since', async () => {
    const original = await service.openTestDatabase()
    await service.watch(original)
    await service.at(original, async (db) => {
      await db.sql`
        insert into app_watch (project, store, app_id, reviews, reviews_depth, location_code, language_code)
        values ('fitness', 'ios_store', '999999999', true, 500, 2840, 'en')`
      await service.post(db, await service.plan(db))
    })
    await original.sql`
      update restore_check set checked_at = ${new Date(service.presentMs)},
        written_by = pg_current_xact_id()::xid::text`
    const restored = await service.copy(original)
    await service.at(original, service.collect)
    for (let day = 1; day < 3; day += 1) {
      service.passDay()
      await service.at(original, async (db) => service.post(db, await service.plan(db)))
    }
    service.passDay()
    await service.at(restored, async (db) => {
      await db.sql`update task set ask_at = posted_at where state = 'posted'`
      await service.collect(db)
      const [{ refunds } = { refunds: 0 }] = await db.sql<{ refunds: number }[]>`
        select count(*)::int as refunds from charge where kind = 'refund' and at >= storerank_now()`
      assert.ok(refunds > 0)
    })
    assert.ok((await service.at(restored, service.recover)).recovered > 5)
    await service.assertBooksAgree(restored)
  })

  test('that works beside the original is found by the audit of the night, and posting stops', async () => {
    const original = await service.openTestDatabase()
    await service.watch(original)
    await service.liveDay(original)
    const beside = await service.copy(original)
    await service.liveDay(original)
    await service.at(beside, async (db) => {
      await recordCheck(db)
      assert.equal(await readRestoreHold(db.sql), null)
      const day = { from: new Date(service.presentMs - DAY_MS), to: new Date(service.presentMs) }
      await auditPosted(db, service.client, day, { overdueAfterMs: 60_000 })
      assert.match((await readRestoreHold(db.sql)) ?? '', /storerank recover/)
    })
  })

  test('has no slot due any more that was bought, though a budget had cut it', async () => {
    const original = await service.openTestDatabase()
    await service.watch(original)
    const restored = await service.copy(original)
    await service.at(restored, async (db) => {
      await standApart(db)
      await db.begin((tx) => adoptInstallationId(tx, '0123456789ab'))
      await planDueTasks(db, { ...BUDGET, maxDayMicros: 1200 }, async () => {})
      assert.ok((await db.sql`select from due_slot where cut is not null`).count > 0)
    })
    await original.sql`update ledger set installation = '0123456789ab'`
    await service.at(original, async (db) => service.post(db, await service.plan(db)))
    await service.at(restored, async (db) => {
      await service.recover(db)
      assert.equal((await db.sql`select from due_slot where cut is not null`).count, 0)
      assert.deepEqual(await service.plan(db), [])
    })
    service.assertNothingTwice(await service.readMeasured())
  })

  test('takes a task that failed at the store and was posted again for what it is', async () => {
    const original = await service.openTestDatabase()
    await service.watch(original)
    const restored = await service.copy(original)
    await service.setFaults({ storeError: 1 })
    await service.at(original, async (db) => {
      await service.post(db, await service.plan(db))
      await service.collect(db)
      await service.setFaults({ storeError: 0 })
      const [again] = await db.sql<
        { id: string }[]
      >`select id from task where state = 'planned' and attempt = 2`
      assert.ok(again !== undefined)
      await endAttemptPauses(db.sql)
      await service.post(db, await service.sweep(db))
      await service.collect(db)
    })
    await service.at(restored, async (db) => {
      await standApart(db)
      const [own] = await original.sql<{ installation: string }[]>`select installation from ledger`
      await db.begin((tx) => adoptInstallationId(tx, own?.installation ?? ''))
      const found = await service.recover(db)
      assert.deepEqual([found.recovered, found.duplicates], [10, 0])
    })
    await service.assertBooksAgree(restored)
    assert.deepEqual(await service.readHistory(restored), await service.readHistory(original))
  })
})

describe('an empty database', () => {
  test('asks what it is, takes the place of the one that bought, and gets what was bought', async () => {
    const original = await service.openTestDatabase()
    await original.sql`update ledger set installation = '0123456789ab'`
    await service.watch(original)
    for (let day = 0; day < 3; day += 1) await service.liveDay(original)
    const empty = await service.openTestDatabase()
    await assert.rejects(
      service.at(empty, (db) => refuseRestored(db, service.client)),
      /another storerank database, 0123456789ab \(\d+ tasks seen, the last posted at .*stands in.*--apart/,
    )
    await service.at(empty, async (db) => {
      const { presentMs } = service
      const range = { from: new Date(presentMs - 20 * DAY_MS), to: new Date(presentMs) }
      const [one, ...more] = await readInstallations(service.client, range)
      assert.deepEqual([one?.installation, more], ['0123456789ab', []])
      await db.begin((tx) => adoptInstallationId(tx, '0123456789ab'))
      await service.recover(db)
    })
    await service.assertBooksAgree(empty)
    assert.deepEqual(await service.readHistory(empty), await service.readHistory(original))
    await service.watch(empty)
    await service.liveDay(empty)
    service.assertNothingTwice(await service.readMeasured())
    await service.assertBooksAgree(empty)
  })

  test('that stands apart leaves the tasks of the others alone', async () => {
    const original = await service.openTestDatabase()
    await original.sql`update ledger set installation = '0123456789ab'`
    await service.watch(original)
    await service.liveDay(original)
    const other = await service.openTestDatabase()
    await service.at(other, async (db) => {
      await checkForRestore(db, service.client)
      assert.match((await readRestoreHold(db.sql)) ?? '', /--apart/)
      await standApart(db)
      await refuseRestored(db, service.client)
      assert.equal((await service.recover(db)).recovered, 0)
      assert.equal((await db.sql`select from charge`).count, 0)
    })
  })
})

test('the first post of a database whose answer was lost is no other copy at work', async (t) => {
  const database = await service.openTestDatabase()
  await service.watch(database)
  const proxy = await startLossyProxy(t, service.sandbox.url)
  proxy.lose = 'answer'
  await service.at(database, async (db) => service.post(db, await service.plan(db), proxy.client))
  const bought = await database.sql`select from task where state = 'posting'`
  assert.ok(bought.count > 0)
  assert.equal((await database.sql`select from charge`).count, 0)
  await database.sql`delete from restore_check`
  await service.at(database, (db) => refuseRestored(db, service.client))
  // A copy from before that post knows nothing of its tasks.
  await database.sql`delete from restore_check`
  await database.sql`delete from task`
  await assert.rejects(
    service.at(database, (db) => refuseRestored(db, service.client)),
    /nothing is paid for twice/,
  )
})
