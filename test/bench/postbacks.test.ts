import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '../../src/db/database.ts'
import { createTestDatabase } from '../support/database.ts'
import { deliver } from './deliveries.ts'

test('a few hundred results, delivered at full speed and some of them again and again, are stored once each', async () => {
  const database = await createTestDatabase()
  const db = openDatabase(database.url)
  try {
    const { deliveries, statuses, problems } = await deliver(db, 400)
    assert.deepEqual(problems, [])
    assert.equal(deliveries, 440)
    assert.deepEqual(statuses, { 200: deliveries })
  } finally {
    await db.close()
    await database.drop()
  }
})
