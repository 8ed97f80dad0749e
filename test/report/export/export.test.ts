import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { ConfigurationError } from '../../../src/errors.ts'
import { type ExportFormat, openExport } from '../../../src/report/export/export.ts'
import { escapeFormula, unescapeFormula } from '../../../src/watch/spellings.ts'
import { createTestDatabase } from '../../support/database.ts'
import { lasting } from '../../support/lasting.ts'

const database = lasting(createTestDatabase)

async function run(what: string, format: ExportFormat): Promise<Buffer> {
  const { chunks, close } = await openExport(database.url, what, {
    format,
    signal: new AbortController().signal,
  })
  try {
    const parts: Buffer[] = []
    for await (const chunk of chunks) parts.push(Buffer.from(chunk as string))
    return Buffer.concat(parts)
  } finally {
    await close()
  }
}

const text = async (what: string, format: ExportFormat) => (await run(what, format)).toString()
const lines = async (what: string) =>
  (await text(what, 'jsonl'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

async function parquet(what: string): Promise<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = await run(what, 'parquet')
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer
}
const rows = async (what: string) => parquetReadObjects({ file: await parquet(what) })

/** What JSON and Parquet say of `VALUES` alike. */
const ALIKE = {
  ...{ small: 7, whole: -5, amount: -0.0012, real: 1.5, yes: true },
  ...{ every: '1 day', name: 'ヨガ', nothing: null },
}

const VALUES = `
  select 7::smallint as small, -5 as whole, 9007199254740993::bigint as big, -0.0012::numeric as amount,
    1.5::float8 as real,
    true as yes, date '2026-03-29' as day, timestamptz '2026-03-29 01:02:03.123456+00' as at,
    timestamp '2026-01-01 10:00' as local, interval '1 day' as every, array[1, null, 3] as ids,
      '{"a": [1]}'::jsonb as facts,
    'ヨガ' as name, null::text as nothing`

describe('CSV', () => {
  test('has values as Postgres writes them, and an empty cell for null', async () => {
    assert.equal(
      await text(VALUES, 'csv'),
      'small,whole,big,amount,real,yes,day,at,local,every,ids,facts,name,nothing\n' +
        '7,-5,9007199254740993,-0.0012,1.5,t,2026-03-29,2026-03-29 01:02:03.123456+00,2026-01-01 ' +
        '10:00:00,1 day,"{1,NULL,3}","{""a"": [1]}",ヨガ,\n',
    )
  })

  test('defuses what a spreadsheet would take for a formula, and leaves numbers alone', async () => {
    const query =
      `select text, length(text) - 9 as number from unnest(array['=1+1', '+1', '-1', '@a', e'\\t=1', ` +
      `'''=1', 'a=1', ' =1']) text`
    assert.equal(
      await text(query, 'csv'),
      `text,number\n'=1+1,-5\n'+1,-7\n'-1,-7\n'@a,-7\n'\t=1,-6\n''=1,-6\na=1,-6\n" =1",-6\n`,
    )
    assert.match(await text(`select 1 as "=cmd()"`, 'csv'), /^'=cmd\(\)\n/)
  })

  test('no cell begins like a formula, and each can be had back', () => {
    const cell = fc.oneof(
      fc.string(),
      fc
        .tuple(
          fc.constantFrom('=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r', '\n', "'", "'="),
          fc.string(),
        )
        .map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(cell, (value) => {
        assert.doesNotMatch(escapeFormula(value), /^[=+\-@＝＋－＠\t\r\n]/)
        assert.equal(unescapeFormula(escapeFormula(value)), value)
      }),
    )
  })
})

describe('JSON lines', () => {
  test('have one object a row, with the types of JSON', async () => {
    assert.deepEqual(await lines(`select q.* from (${VALUES}) q`), [
      {
        ...ALIKE,
        big: Number('9007199254740993'),
        day: '2026-03-29',
        at: '2026-03-29T01:02:03.123456+00:00',
        local: '2026-01-01T10:00:00',
        ...{ ids: [1, null, 3], facts: { a: [1] } },
      },
    ])
  })

  test('hold no control character that steers a terminal, and lose none', async () => {
    const json = await text(`select e'a\\u001b[31m\\u009b\\u007f' as title`, 'jsonl')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about
    assert.doesNotMatch(json.trimEnd(), /[\u0000-\u001f\u007f-\u009f]/)
    assert.deepEqual(JSON.parse(json), { title: 'a\u001b[31m\u009b\u007f' })
  })
})

describe('Parquet', () => {
  test('keeps whole numbers, truth values, days and instants as what they are', async () => {
    const [row] = await rows(VALUES)
    assert.deepEqual(row, {
      ...ALIKE,
      big: 9007199254740993n,
      day: new Date('2026-03-29'),
      at: new Date('2026-03-29T01:02:03.123Z'),
      local: new Date('2026-01-01T10:00:00Z'),
      ...{ ids: '{1,NULL,3}', facts: '{"a": [1]}' },
    })
  })

  test('has several row groups where there are many rows, and all of them', async () => {
    const file = await parquet('select n, n % 7 as rest from generate_series(1, 120000) n')
    assert.equal(parquetMetadata(file).row_groups.length, 3)
    const found = await parquetReadObjects({ file })
    assert.equal(found.length, 120_000)
    assert.deepEqual(found.at(-1), { n: 120_000, rest: 120_000 % 7 })
  })

  test('has smaller row groups where rows are wide, so that they take no more memory', async () => {
    const columns = Array.from({ length: 100 }, (_, n) => `n + ${n}`).join(', ')
    const file = await parquet(`select ${columns} from generate_series(1, 12000) n`)
    assert.ok(parquetMetadata(file).row_groups.length > 1)
  })

  test('can hold no row at all', async () => {
    assert.deepEqual(await rows('select 1 as n where false'), [])
  })
})

describe('what is exported', () => {
  test('is a view by its name, in its columns', async () => {
    const csv = await text('rank_latest', 'csv')
    assert.match(csv, /^project,store,list,keyword,/)
    assert.equal(csv.split('\n').length, 2)
  })

  test('may be SQL with an end, a comment, an order, and two columns of one name', async () => {
    assert.equal(
      await text('select n as a, -n as a from generate_series(1, 2) n order by n desc -- last\n;', 'csv'),
      'a,a_2\n2,-2\n1,-1\n',
    )
    assert.deepEqual(await lines('select 1 as a, 2 as a, 3 as a_2'), [{ a: 1, a_3: 2, a_2: 3 }])
  })

  test('is refused in a sentence where there is no such view, or the SQL is wrong', async () => {
    const refused = (what: string, message: RegExp) =>
      assert.rejects(
        text(what, 'csv'),
        (error) => error instanceof ConfigurationError && message.test(error.message),
      )
    await refused('rank_histry', /There is no view "rank_histry"\. Did you mean rank_history\?/)
    await refused(
      'select colour from rank_history',
      /The database refused it: column "colour" does not exist/,
    )
    await refused(
      'select 1 / (n - 2) from generate_series(1, 3) n',
      /The database refused it: division by zero/,
    )
    await refused(' ; ', /no view and no SQL/)
  })

  test('changes nothing, whatever is asked for', async () => {
    await database.sql`insert into project (name) values ('kept')`
    await database.sql`
      create function drop_projects() returns integer language plpgsql as $$ begin delete
        from project; return 1; end $$`
    for (const sql of [
      'delete from project returning name',
      'select drop_projects()',
      "select nextval('app_id_seq')",
    ]) {
      await assert.rejects(text(sql, 'csv'), ConfigurationError)
    }
    assert.equal((await database.sql`select from project`).length, 1)
  })
})
