import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openDatabase } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { createTestDatabase } from '../support/database.ts'

const SESSIONS = 8
const PARTS = 1_000
/** The driver keeps the type of each parameter, and twice as much for each part of a text. */
const MOST_BYTES_A_PART = 100
const UNSAFE_TIMES = 400
const UNSAFE_BYTES = 20_000

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const database = await createTestDatabase()
const db = openDatabase(database.url, { maxConnections: 1 })
after(async () => {
  await db.close()
  await database.drop()
})

test('what the first caller of a statement had in hand is let go, in a transaction or not', async () => {
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

test('nothing is kept of what the queue asks again and again by unsafe', async () => {
  const ask = async (times: number) => {
    for (let turn = 0; turn < times; turn += 1) {
      const text = randomBytes(UNSAFE_BYTES / 2).toString('hex')
      await (turn % 2 === 0
        ? db.sql.unsafe(`select '${text}' as text`)
        : db.begin((tx) => tx.unsafe(`select '${text}' as text`)))
    }
    for (let turn = 0; turn < 3; turn += 1) collectGarbage()
    return process.memoryUsage().heapUsed
  }
  const before = await ask(10)
  const grown = (await ask(UNSAFE_TIMES)) - before
  assert.ok(grown < (UNSAFE_TIMES * UNSAFE_BYTES) / 4, `${grown} bytes`)
})

test('the text of a statement is kept once, and not for each session in its parts', async () => {
  const many = openDatabase(database.url)
  const ask = () => {
    const { sql: db } = many
    const parts = Array.from({ length: PARTS }, (_, n) => sql`${n}::int + `)
    return db<{ sum: number }[]>`select ${sql.join(parts, '')} 0 as sum, pg_sleep(0.2)`
  }
  const heap = () => {
    for (let turn = 0; turn < 3; turn += 1) collectGarbage()
    return process.memoryUsage().heapUsed
  }
  try {
    await Promise.all(Array.from({ length: SESSIONS }, () => many.sql`select pg_sleep(0.2)`))
    await ask()
    const before = heap()
    const answers = await Promise.all(Array.from({ length: SESSIONS }, ask))
    assert.ok(answers.every(([row]) => row?.sum === (PARTS * (PARTS - 1)) / 2))
    answers.length = 0
    const bytes = (heap() - before) / SESSIONS / PARTS
    assert.ok(bytes < MOST_BYTES_A_PART, `${bytes.toFixed(1)} bytes a part`)
  } finally {
    await many.close()
  }
})
