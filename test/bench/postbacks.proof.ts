import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '../../src/db/database.ts'
import { createTestDatabase } from '../support/database.ts'
import { deliverMixed } from './deliveries.ts'

test('results delivered at full speed, some of them again and again, are stored once each', async () => {
  const database = await createTestDatabase()
  const db = openDatabase(database.url)
  try {
    const { deliveries, statuses, fetched, problems } = await deliverMixed(db, 400)
    assert.deepEqual(problems, [])
    assert.ok(fetched > 0, 'some were fetched at the same time')
    assert.equal(deliveries, 440)
    assert.deepEqual(statuses, { 200: deliveries })
  } finally {
    await db.close()
    await database.drop()
  }
})
