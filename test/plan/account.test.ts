import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { claimDatabaseFor } from '../../src/plan/account.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let db: Database
before(async () => {
  database = await createTestDatabase()
  db = openDatabase(database.url)
})
after(async () => {
  await db.close()
  await database.drop()
})

test('a database belongs to the account that first worked with it, and no other mixes its ranks in', async () => {
  await claimDatabaseFor(db, 'the account me@example.com')
  await claimDatabaseFor(db, 'the account me@example.com')
  await assert.rejects(claimDatabaseFor(db, 'the sandbox'), {
    code: 'configuration',
    message: /measured with the account me@example\.com, and must not mix it with the sandbox/,
  })
})
