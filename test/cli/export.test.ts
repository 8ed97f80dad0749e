/** `storerank export`. */
import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { commandsWith } from '../support/command.ts'
import { createTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

const database = lasting(createTestDatabase)
const { succeed, refuse } = commandsWith(() => ({ DATABASE_URL: database.url }))
const folder = mkdtempSync(join(tmpdir(), 'storerank-export-'))
after(() => rm(folder, { recursive: true }))

test('the format goes by the file or what is asked for; without a file it is CSV on stdout', async () => {
  const ask = (...args: string[]) => succeed('export', ...args)
  assert.equal(await ask('select 1 as n'), 'n\n1\n')
  assert.equal(await ask('select 1 as n', '--format', 'jsonl'), '{"n":1}\n')
  const out = join(folder, 'one.parquet')
  await ask('select 1 as n', '--out', out)
  assert.equal((await readFile(out)).subarray(0, 4).toString(), 'PAR1')
})

test('wide, each day is a column, in order, with one row a keyword', async () => {
  const rows = `(values ('yoga', date '2026-03-10', 7), ('calm', '2026-03-09', 1),
    ('yoga', '2026-03-09', null), ('it''s', '2026-03-10', 3)) v (keyword, day, rank)`
  const ask = (query: string) => succeed('export', query, '--wide')
  assert.equal(
    await ask(`select keyword, day, rank from ${rows}`),
    "keyword,2026-03-09,2026-03-10\ncalm,1,\nit's,,3\nyoga,,7\n",
  )
  assert.equal(
    await ask(`select day, keyword, rank from ${rows}`),
    "day,calm,it's,yoga\n2026-03-09,1,,\n2026-03-10,,3,7\n",
  )
  const narrow = ['export', 'select 1 as a, 2 as b', '--wide']
  await refuse(narrow, /--wide takes a SELECT of three columns or more/)
})

test('an export that fails leaves the file as it was, and nothing beside it', async () => {
  const out = join(folder, 'ranks.csv')
  await succeed('export', 'select 1 as n', '--out', out)
  const before = await readdir(folder)
  const query = 'select 1 / (5000 - n) as n from generate_series(1, 9000) n'
  await refuse(['export', query, '--out', out], /The database refused it: division by zero/)
  assert.equal(await readFile(out, 'utf8'), '\ufeffn\n1\n')
  assert.deepEqual(await readdir(folder), before)
})

test('watches come as the file that import reads', async () => {
  await database.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
      values ('fitness', 'ios_store', '=1+1', 2840, 'en')`
  const out = join(folder, 'watches.csv')
  await succeed('export', 'watches', '--out', out)
  assert.match(await readFile(out, 'utf8'), /\nfitness,ios_store,'=1\+1,2840,/)
  const counts = 'keyword_watch: 0 added, 0 changed, 1 as they were, 0 refused.\n'
  assert.equal(await succeed('import', out), counts)
  await refuse(['export', 'watches', '--format', 'parquet'], /Watches and alerts are exported as CSV/)
})

test('a file is not called what it is not', async () => {
  const out = join(folder, 'ranks.xlsx')
  const said = /^\.xlsx is not written: name the file \.csv, which spreadsheets open/
  await refuse(['export', 'select 1 as n', '--out', out], said)
  assert.ok(!(await readdir(folder)).includes('ranks.xlsx'))
})
