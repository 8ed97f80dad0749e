import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openDatabase } from '../../src/db/database.ts'
import { createTestDatabase } from '../support/database.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const database = await createTestDatabase()
const db = openDatabase(database.url, { maxConnections: 1 })
after(async () => {
  await db.close()
  await database.drop()
})

test('what the first caller of a statement had in hand is let go, in a transaction and without one', async () => {
  // What the driver says itself in a transaction holds the first one.
  await db.begin(async (tx) => void (await tx`select 1`))
  const results = [await runWith(inTransaction), await runWith(alone)]
  await db.sql`select 1`
  for (let turn = 0; turn < 10 && results.some((result) => result.deref() !== undefined); turn += 1) {
    await new Promise(setImmediate)
    collectGarbage()
  }
  assert.deepEqual(
    results.map((result) => result.deref()),
    [undefined, undefined],
  )
})

async function runWith(work: (result: { length: number }) => Promise<unknown>): Promise<WeakRef<object>> {
  const result = { length: 1 }
  await work(result)
  return new WeakRef(result)
}

function inTransaction(result: { length: number }) {
  return db.begin(async (tx) => {
    await tx`select ${result.length}::int`
  })
}

async function alone(result: { length: number }) {
  const read = async () => db.sql`select ${result.length}::int as length`
  await read()
}
