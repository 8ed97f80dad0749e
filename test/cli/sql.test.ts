import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import type { Output } from '../../src/cli/document.ts'
import { isLarger, showByPager } from '../../src/cli/print.ts'
import { commandsWith, runCommand } from '../support/command.ts'
import { createTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

const database = lasting(createTestDatabase)
before(() => {
  process.env.TZ = 'Asia/Kolkata'
})

const { succeed, refuse, call } = commandsWith(() => ({ DATABASE_URL: database.url }))
const ask = (...args: string[]) => succeed('sql', ...args)

test('values are printed as the database writes them, whatever the time zone of the person', async () => {
  const query = `select 9007199254740993::bigint as big, 7::bigint as small,
    array[9007199254740993, 7] as several,
      '{"a": [9007199254740993, 7, 0.1234567890123456789]}'::jsonb as json, date '2026-01-01' as day,
    timestamp '2026-01-01 10:00' as local, timestamptz '2026-01-01 10:00+00' as at,
      interval '6 hours' as every, 1 as a, 2 as a`
  assert.deepEqual(JSON.parse(await ask(query, '--json')), [
    {
      big: '9007199254740993',
      small: 7,
      several: ['9007199254740993', 7],
      json: { a: ['9007199254740993', 7, 0.12345678901234568] },
      day: '2026-01-01',
      local: '2026-01-01 10:00:00',
      at: '2026-01-01 10:00:00+00',
      every: '06:00:00',
      a: 1,
      a_2: 2,
    },
  ])
  assert.equal(
    await ask(`select date '2026-01-01' as day, null as nothing, 'a,b' as text`, '--csv'),
    'day,nothing,text\n2026-01-01,,"a,b"\n',
  )
})

test('several statements are one JSON document: what each that returns rows has returned', async () => {
  const query = 'select 1 as a; create temporary table seen (); select 2 as b, 3 as c'
  assert.deepEqual(JSON.parse(await ask(query, '--json')), [[{ a: 1 }], [{ b: 2, c: 3 }]])
  assert.deepEqual(JSON.parse(await ask('create temporary table seen ()', '--json')), [])
  assert.equal(await ask(query, '--csv'), 'a\n1\n\nb,c\n2,3\n')
})

test('a statement without an answer is told by its name, and by its rows where it has some', async () => {
  assert.equal(await ask('create temporary table seen (a int)'), 'CREATE TABLE\n')
  assert.equal(
    await ask('create temporary table seen (a int); insert into seen values (1), (2)'),
    'INSERT 2\n',
  )
})

test('rows are blocks with --expanded', async () => {
  const query = "select 1 as a, 'x' as longer union all select 2, null; create temporary table seen ()"
  assert.equal(
    await ask(query, '--expanded'),
    '─── row 1 ───\na      │ 1\nlonger │ x\n─── row 2 ───\na      │ 2\nlonger │\n',
  )
})

test('a name that is near none is answered with the views that there are', async () => {
  await refuse(['sql', 'select * from zzzzzzzzzzzz'], /\nViews: .*rank_history/, 1)
})

test('a duplicate is told with the row that has it, whatever commas are in its values', async () => {
  const insert = (...words: string[]) => `insert into keyword_watch (project, store, keyword, location_code,
    language_code) values ${words.map((word) => `('many, and more', 'ios_store', '${word}', 2840, 'en')`)}`
  await ask(insert('words, many of them', 'words', 'words, 2840, en'))
  const [twin] = await database.sql`select id from keyword_watch where keyword = 'words, many of them'`
  const told = `The row that has it is: select \\* from keyword_watch where id = ${twin?.id};`
  await refuse(['sql', insert('words, many of them')], new RegExp(told), 1)
})

test('lists, duplicates and ids of apps are told in words', async () => {
  const insert = (tags: string) => `insert into keyword_watch (project, store, keyword, location_code,
    language_code, tags) values ('told', 'ios_store', 'yoga', 2840, 'en', ${tags})`
  await ask(insert(`'{}'`))
  for (const [query, told] of [
    [insert(`'brand, core'`), /^A list is written array\['brand', 'core'\]\.$/m],
    [
      insert(`'{}'`),
      /^The database refused it: keyword_watch has such a row already: told, ios_store, yoga, /,
    ],
    [`select 1 from rank_history where app = 'com.acme.yoga'`, /its id in the store is app_id/],
  ] as const)
    await refuse(['sql', query], told, 1)
})

test('what the database remarks is told', async () => {
  const { code, stderr } = await call('sql', 'drop table if exists nothing_of_the_kind')
  assert.deepEqual([code, stderr], [0, 'NOTICE: table "nothing_of_the_kind" does not exist, skipping\n'])
})

test('a pager gets the text, and one that is not installed shows nothing', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'storerank-pager-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'shown')
  assert.equal(await showByPager('ranks\n', `cat > '${file}'; true`), true)
  assert.equal(readFileSync(file, 'utf8'), 'ranks\n')
  assert.equal(await showByPager('ranks\n', 'no-such-pager 2>/dev/null'), false)
  const screen = { rows: 10, columns: 20 } as Output
  assert.deepEqual(
    ['x\n', 'x\n'.repeat(10), 'x'.repeat(21)].map((text) => isLarger(text, screen)),
    [false, true, true],
  )
})

/**
 * Writes at the end which modules were loaded; by file, because a module of CommonJS may be loaded by several
 * names.
 */
const COUNTING = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  const loaded = new Set()
  registerHooks({ load: (url, context, next) => (loaded.add(url), next(url, context)) })
  process.on('exit', () => process._rawDebug(JSON.stringify([...loaded])))`)}`

test('a query loads neither service, queue, sandbox nor what draws, and few modules in all', async (t) => {
  const env = { DATABASE_URL: database.url, NODE_OPTIONS: `--import=${COUNTING}` }
  const { code, stderr } = await runCommand(t, ['sql', 'select 1'], { env })
  assert.equal(code, 0, stderr)
  const modules: string[] = JSON.parse(stderr)
  const drawing = 'undici|pg|pg-boss|fastify|hono|ora|pino-pretty|csv-parse|d3-[a-z]+|drizzle-orm|node-cron'
  const foreign = modules.filter((url) => new RegExp(`/node_modules/(${drawing})/`).test(url))
  assert.deepEqual(foreign, [])
  assert.ok(modules.length > 50 && modules.length < 270, `${modules.length} modules`)
})
