import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { callCommand, makeCommandHome } from '../support/command.ts'
import { createTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { addPerson } from '../support/people.ts'

const database = lasting(createTestDatabase)

async function importFile(t: TestContext, content: string | Uint8Array, ...options: string[]) {
  return importAs(database.url, t, content, ...options)
}

async function importAs(url: string, t: TestContext, content: string | Uint8Array, ...options: string[]) {
  const file = join(dirname(await makeCommandHome(t)), 'keywords.csv')
  await writeFile(file, content)
  return callCommand(['import', file, ...options], { env: { DATABASE_URL: url } })
}

test('what was refused stands on stderr with its line, and what came in is counted', async (t) => {
  const file =
    'project,store,keyword,location_code,language_code\n' +
    'fit,ios_store,yoga,2840,en\nfit,ios_store,calm,-1,en\n'
  const trial = await importFile(t, file, '--trial')
  assert.match(trial.stdout, /1 added, .* 1 refused\. Nothing was changed: this was a trial\.\n/)
  assert.match(
    trial.stdout,
    /\nAll watches would cost \$0\.0012 a day and \$0\.036 a month, \$0\.036 more than now\.\n$/,
  )
  const { code, stdout, stderr } = await importFile(t, file)
  assert.equal(code, 1)
  assert.match(
    stdout,
    /^keyword_watch: 1 added, 0 changed, 0 as they were, 1 refused\.\n.*storerank forecast/,
  )
  assert.match(
    stderr,
    /Line 3, "calm", is refused: location_code is -1, and a code is a whole number from 1 to 2147483647\./,
  )
})

test('what is printed as CSV comes in again as it was', async (t) => {
  const env = { DATABASE_URL: database.url }
  await database.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code, every, tags, note)
    values ('fit', 'ios_store', '3+ "math", ヨガ', 2392, 'ja', '6 hours', '{brand,"two words"}', 'ours')`
  const query = `select project, store, keyword, location_code, location_name, language_code, depth, every,
    priority,
    enabled, tags, note from keyword_watch where note = 'ours'`
  const { stdout } = await callCommand(['sql', query, '--csv'], { env })
  assert.match((await importFile(t, stdout)).stdout, /0 added, 0 changed, 1 as they were, 0 refused/)
})

test('an editor may bring watches in and change them, a reader may not', async (t) => {
  const rows = (priority: number) =>
    `project,store,app_id,role,priority\nfit,ios_store,1480010017,own,${priority}\n`
  const editor = await addPerson(database.sql, 'storerank_editor')
  const reader = await addPerson(database.sql, 'storerank_reader')
  t.after(async () => {
    await editor.remove()
    await reader.remove()
  })
  assert.match((await importAs(editor.url, t, rows(1))).stdout, /1 added/)
  assert.match((await importAs(editor.url, t, rows(2))).stdout, /1 changed/)
  const { code, stderr } = await importAs(reader.url, t, rows(1))
  assert.equal(code, 2)
  assert.match(stderr, /^The login of DATABASE_URL may not do that/)
})

test('a refused keyword cannot steer the terminal', async (t) => {
  const file =
    'project,store,keyword,location_code,language_code\nfit,ios_store,a\u001b[31m\u009b1mb,2840,en\n'
  const { stderr } = await importFile(t, file)
  assert.match(stderr, /^Line 2, .* is refused: keyword is .* control character in it\./)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  assert.doesNotMatch(stderr, /[\u001b\u009b]/)
})

test('a file is read in the encoding of its spreadsheet, and a guess is told', async (t) => {
  const rows = (separator: string, keyword: string) =>
    [
      ['project', 'store', 'keyword', 'location_code', 'language_code'],
      ['fit', 'ios_store', keyword, '2250', 'fr'],
    ]
      .map((row) => `${row.join(separator)}\r\n`)
      .join('')
  const mark = '\ufeff'
  const swapped = (text: string) => Buffer.from(text, 'utf16le').swap16()
  const files: [Buffer, string, string][] = [
    [Buffer.from(mark + rows(';', 'début')), 'début', ''],
    [Buffer.from(mark + rows('\t', 'été'), 'utf16le'), 'été', ''],
    [swapped(mark + rows('\t', 'français')), 'français', ''],
    [Buffer.from(rows(',', 'naïf'), 'utf16le'), 'naïf', 'utf-16le'],
    [Buffer.from(rows(';', 'méditation guidée'), 'latin1'), 'méditation guidée', 'windows-1252'],
    [
      Buffer.concat([Buffer.from(rows(',', 'cœur').replace('œ', '\u009c'), 'latin1')]),
      'cœur',
      'windows-1252',
    ],
  ]
  for (const [bytes, keyword, guessed] of files) {
    const { code, stderr } = await importFile(t, bytes)
    assert.equal(code, 0, stderr)
    const [row] = await database.sql`select keyword from keyword_watch where keyword = ${keyword}`
    assert.equal(row?.keyword, keyword)
    if (guessed === '') assert.equal(stderr, '')
    else
      assert.match(stderr, new RegExp(`is not UTF-8\\. It is read as ${guessed}, so that it has the word "`))
  }
  const told = await importFile(t, Buffer.from(rows(';', 'cvièení'), 'latin1'), '--encoding', 'windows-1250')
  assert.deepEqual([told.code, told.stderr], [0, ''])
  const [row] = await database.sql`select keyword from keyword_watch where keyword = 'cvičení'`
  assert.equal(row?.keyword, 'cvičení')
})

test('what keeps an imported watch from being measured is told, once for all of them', async (t) => {
  const file = ['one', 'two'].map((keyword) => `far,ios_store,${keyword},Germany,de\n`)
  const { stderr } = await importFile(
    t,
    `project,store,keyword,location_name,language_code\n${file.join('')}`,
    '--trial',
  )
  assert.match(
    stderr,
    /2 watches: The location "Germany" is looked up when the references of ios_store have been loaded/,
  )
})

describe('bytes that are not UTF-8 cost their rows, and not the letters of the others', () => {
  const utf8 = (keyword: string) => Buffer.from(keyword)
  const latin = (keyword: string) => Buffer.from(keyword, 'latin1')
  const many = (count: number, word: string, encode: (keyword: string) => Buffer) =>
    Array.from({ length: count }, (_, n) => encode(`${word} ${n}`))
  // 'カレンダー 無料' and others, in shift_jis.
  const japanese = [
    '834a838c8393835f815b2096b397bf',
    '8388834b208f8990538ed22082cc208bb38eba',
    'e1d2917a2083418376838a2093fa967b8cea2082be82af',
    '8365838c83722082cc2094d49167955c2082f0208ca982e9',
  ].map((hex) => Buffer.from(hex, 'hex'))
  const files: [string, Buffer[], added: number, refused: number, RegExp][] = [
    ['one of three', [utf8('größe'), latin('café'), utf8('übung')], 2, 1, /^Line 3 is refused: it has bytes/],
    ['a half', [...many(40, 'größe', utf8), ...many(40, 'garçon', latin)], 40, 40, /^Line 42 is refused/],
    ['nearly all', [...many(90, 'garçon', latin), utf8('größe')], 1, 90, /^Line 2 is refused/],
    [
      'beside good ones in a line',
      [Buffer.concat([utf8('größe '), latin('café é')]), latin('plain')],
      1,
      1,
      /^Line 2/,
    ],
    ['all of them in an encoding of the East', japanese, 4, 0, /read as shift_jis/],
    ['a zero byte', [utf8('größe'), utf8('c\0alm'), utf8('übung')], 2, 1, /^Line 3 is refused: it has bytes/],
    ['all of them in one of Windows', [latin('café'), latin('garçon')], 2, 0, /read as windows-1252/],
    [
      'none of them, though one is also UTF-8',
      [latin('café'), latin('garçon'), latin('LOGIÉ®')],
      ...([3, 0, /read as windows-1252/] as const),
    ],
    ['one of two, of letters that the West has not', [utf8('żółw'), latin('café')], 1, 1, /^Line 3/],
  ]
  for (const [name, keywords, added, refused, told] of files) {
    test(name, async (t) => {
      await database.sql`delete from keyword_watch`
      const rows = keywords.flatMap((word) => [utf8('fit,ios_store,'), word, utf8(',2276,de\n')])
      const head = utf8('project,store,keyword,location_code,language_code\n')
      const { code, stdout, stderr } = await importFile(t, Buffer.concat([head, ...rows]))
      assert.match(stdout, new RegExp(`${added} added, .* ${refused} refused`), stderr)
      assert.equal(code, refused === 0 ? 0 : 1)
      assert.match(stderr, told)
      const odd = await database.sql`select keyword from keyword_watch where keyword ~ '[Ã�]'`
      assert.deepEqual([...odd], [])
    })
  }
})

test('a pipe is read as a file is', async (t) => {
  const pipe = join(dirname(await makeCommandHome(t)), 'pipe')
  execFileSync('mkfifo', [pipe])
  const [{ stdout }] = await Promise.all([
    callCommand(['import', pipe], { env: { DATABASE_URL: database.url } }),
    writeFile(pipe, 'project,store,keyword,location_code,language_code\nfit,ios_store,piped,2840,en\n'),
  ])
  assert.match(stdout, /1 added/)
})

test('what is no text is refused with what to do', async (t) => {
  for (const [begin, remedy] of [
    ['504b0304140006', /is an archive, and no workbook of Excel: save the sheet as "CSV UTF-8"/],
    ['d0cf11e0a1b11ae1', /is a workbook of an old Excel, or has a password: save/],
    ['1f8b0800', /is compressed: unpack it first/],
  ] as const) {
    const { code, stderr } = await importFile(t, Buffer.from(begin, 'hex'))
    assert.equal(code, 2)
    assert.match(stderr, remedy)
  }
})
