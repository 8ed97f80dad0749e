/** What a statement says, and how its values reach Postgres and come back. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openDatabase } from '../../src/db/database.ts'
import { type Part, render, sql, type Value } from '../../src/db/sql.ts'
import { createTestDatabase } from '../support/database.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const database = await createTestDatabase()
const db = openDatabase(database.url)
after(async () => {
  await db.close()
  await database.drop()
})

describe('a statement', () => {
  test('numbers the values of those that stand in it, from the first to the last', () => {
    const isOld = sql`at < ${1}`
    const either = sql.join([isOld, sql`id = ${2}`], ' or ')
    assert.deepEqual(render(sql`select ${0} where (${either}) and ${true}`), {
      text: 'select $1 where (at < $2 or id = $3) and $4',
      values: [0, 1, 2, true],
    })
  })

  test('quotes names, and writes rows of an insert', () => {
    const rows = sql.row({ a: 1, b: sql`now()` }, { a: null, b: 2 })
    const { text, values } = render(sql`insert into ${sql.identifier('pg_temp.odd "name"')} ${rows}`)
    assert.equal(text, 'insert into "pg_temp"."odd ""name""" ("a", "b") values ($1, now()), ($2, $3)')
    assert.deepEqual(values, [1, null, 2])
    assert.equal(render(sql`${sql.identifiers(['a', 'b'])}${sql.join([], ', ')}`).text, '"a", "b"')
  })

  test('takes objects as the rows of a relation', async () => {
    const rows = [
      { taskId: 7, at: new Date('2026-03-10T12:34:56.789Z'), body: Buffer.from([0, 255]), more: [{ a: 1 }] },
      { taskId: 8, at: null, body: null, more: null, isLast: true },
    ]
    const types = 'taskId int, at timestamptz, body bytea, more jsonb, isLast boolean'
    const found = await db.sql`
      select task_id as "taskId", at, body, more, is_last as "isLast" from ${sql.rows('r', rows, types)}`
    assert.deepEqual([...found], [{ ...rows[0], isLast: null }, rows[1]])
    assert.equal((await db.sql`select from ${sql.rows('r', rows.slice(2), types)}`).length, 0)
  })

  test('refuses what is no value, as the promise of another statement', async () => {
    for (const wrong of [db.sql`select 1`, undefined, { a: 1 }, [undefined]]) {
      await assert.rejects(async () => db.sql`select ${wrong as unknown as Part}`, TypeError)
    }
  })
})

describe('values', () => {
  const WRITTEN: readonly [type: string, value: Value, read?: unknown][] = [
    ['text', 'a "quoted" \\ line\n'],
    ['bigint', 9_007_199_254_740_991],
    // Beyond what a number tells apart.
    ['bigint', '9007199254740993'],
    ['bigint', 12n, 12],
    ['boolean', false],
    ['timestamptz', new Date('2026-03-10T12:34:56.789Z')],
    ['bytea', Buffer.from([0, 255])],
    ['jsonb', '{"a": [1, null]}', { a: [1, null] }],
    ['jsonb', '{"id": 9007199254740993, "n": 7}', { id: '9007199254740993', n: 7 }],
    ['jsonb[]', ['{"id": -9007199254740993}'], [{ id: '-9007199254740993' }]],
    ['text[]', []],
    ['text[]', ['a', null, 'null', 'b "c" \\', '{', 'ü,']],
    ['int[]', [1, null, -2]],
    [
      'bigint[][]',
      [
        [1, 2],
        [3, 4],
      ],
    ],
    ['boolean[]', [true, null, false]],
    ['timestamptz[]', [new Date('2026-03-10T12:34:56.789Z'), null]],
    ['bytea[]', [Buffer.from([0, 255])]],
    ['jsonb[]', ['{"a": 1}'], [{ a: 1 }]],
    ['numeric[]', ['1.50'], ['1.50']],
  ]
  for (const [type, value, read = value] of WRITTEN) {
    test(`of the type ${type} come back as they went: ${JSON.stringify(read)}`, async () => {
      const [row] = await db.sql`select ${value}::${sql.raw(type)} as value`
      assert.deepEqual(row?.value, read)
    })
  }
})

async function useFirst(): Promise<WeakRef<object>> {
  const first = openDatabase(database.url)
  try {
    await first.sql`select ${['a', 'b']}::text[]`
    return new WeakRef(first.sql)
  } finally {
    await first.close()
  }
}

test('a database is let go when it is closed, and the next one asks its statement alone', async () => {
  const first = await useFirst()
  const next = openDatabase(database.url, { name: 'next' })
  const [row] = await next.sql<{ texts: string[]; sessions: number }[]>`
    select array['c'] as texts, (select count(*)::int from pg_stat_activity
      where datname = current_database() and application_name = 'next') as sessions`
  assert.deepEqual({ ...row }, { texts: ['c'], sessions: 1 })
  for (let turn = 0; turn < 20 && first.deref() !== undefined; turn += 1) {
    await new Promise(setImmediate)
    collectGarbage()
  }
  assert.equal(first.deref(), undefined)
  await next.close()
})
