import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { beforeEach, test } from 'node:test'
import type { Database } from '../../src/db/database.ts'
import { importWatches } from '../../src/watch/import.ts'
import { column, openTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

const db = lasting(openTestDatabase)
beforeEach(async () => {
  await db.sql`delete from keyword_watch`
  await db.sql`delete from app_watch`
  await db.sql`delete from chart_watch`
  await db.sql`delete from watch_period`
})

const HEADER = 'project,store,keyword,location_code,language_code'
const keywords = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => `fitness,ios_store,yoga ${from + index},2840,en`)
const csv = (...lines: string[]) => `${lines.join('\n')}\n`
const load = (text: string, isTrial = false) => importWatches(db, text, { isTrial })
const counts = async (text: string) => {
  const { added, changed, unchanged, refused } = await load(text)
  return [added, changed, unchanged, refused.length]
}

test('the same file twice changes nothing the second time, and opens no second period', async () => {
  const file = csv(HEADER, ...keywords(1_200))
  assert.deepEqual(await counts(file), [1_200, 0, 0, 0])
  assert.deepEqual(await counts(file), [0, 0, 1_200, 0])
  const [row] = await db.sql<{ watches: number; periods: number; open: number }[]>`
    select (select count(*) from keyword_watch) as watches, count(*) as periods,
      count(*) filter (where ended_at is null) as open from watch_period`
  assert.deepEqual(row, { watches: 1_200, periods: 1_200, open: 1_200 })
})

test('the same file by two at once is the same as by one', async () => {
  const lines = keywords(600)
  const files = [csv(HEADER, ...lines), csv(HEADER, ...lines.toReversed())]
  const done = await Promise.all(files.map((file) => load(file)))
  assert.deepEqual(done.map(({ added }) => added).toSorted(), [0, 600])
  const [row] = await db.sql<{ periods: number }[]>`select count(*) as periods from watch_period`
  assert.equal(row?.periods, 600)
})

test('a row that breaks a rule is refused with its line and the rule; the others are in', async () => {
  const [first = '', ...others] = keywords(700)
  const bad = [
    'fitness,ios_store,calm,2840,english!',
    'fitness,shop,calm,2840,en',
    'fitness,ios_store,calm,x,en',
  ]
  const done = await load(csv(HEADER, first, '', ...bad, ...others))
  assert.equal(done.added, 700)
  assert.deepEqual(
    done.refused.map(({ line, subject }) => [line, subject]),
    [4, 5, 6].map((line) => [line, 'calm']),
  )
  assert.match(done.refused[0]?.reason ?? '', /^language_code is "english!", and a code is written like en/)
  assert.match(done.refused[1]?.reason ?? '', /^There is no store "shop"/)
  assert.match(done.refused[2]?.reason ?? '', /^location_code is "x", which is no whole number/)
})

test('cells that say something change a watch, empty ones leave it, and the period goes on', async () => {
  await load(
    csv(`${HEADER},depth,priority,tags,note`, 'fitness,ios_store,yoga,2840,en,50,2,"brand, core",ours'),
  )
  assert.deepEqual(
    await counts(csv(`${HEADER},depth,priority,tags`, 'fitness,ios_store,yoga,2840,en,,1,"[""core""]"')),
    [0, 1, 0, 0],
  )
  assert.deepEqual(
    [...(await db.sql`select depth, priority, tags, note from keyword_watch`)],
    [{ depth: 50, priority: 1, tags: ['core'], note: 'ours' }],
  )
  assert.deepEqual(
    [...(await db.sql`select priority, ended_at from watch_period`)],
    [{ priority: 1, ended_at: null }],
  )
})

test('a keyword comes in as written, with a mark at the start, semicolons and Windows lines', async () => {
  const row = 'fitness;ios_store;"3+ math, ""naïve"" ヨガ; 100%";2392;ja'
  const file = `\uFEFF${HEADER.replaceAll(',', ';')}\r\n${row}\r\n`
  assert.deepEqual(await counts(file), [1, 0, 0, 0])
  const [stored] = await db.sql<{ keyword: string }[]>`select keyword from keyword_watch`
  assert.equal(stored?.keyword, '3+ math, "naïve" ヨガ; 100%')
})

test('apps and charts come in by their own columns', async () => {
  assert.deepEqual(
    await counts(
      csv('project,store,app_id,role', 'fitness,ios_store,1480010017,own', 'fitness,ios_store,1,own'),
    ),
    [1, 0, 0, 1],
  )
  const chart = csv(
    'project,collection,location_name,language_code,every',
    'fitness,topselling_free,United States,en,12 hours',
  )
  assert.deepEqual(await counts(chart), [1, 0, 0, 0])
  assert.deepEqual(await counts(chart), [0, 0, 1, 0])
})

test('a trial says what would happen, and changes nothing', async () => {
  const { added, refused } = await load(csv(HEADER, ...keywords(2), 'fitness,ios_store,calm,0,en'), true)
  assert.deepEqual([added, refused.length], [2, 1])
  assert.deepEqual([...(await db.sql`select from keyword_watch`)], [])
})

test('a ragged line is refused by its number, and the others go on', async () => {
  const done = await load(
    csv(
      `${HEADER},note`,
      'fitness,ios_store,one,2840,en,',
      'fitness,ios_store,two',
      'fitness,ios_store,three,2840,en,,,',
      'fitness,ios_store,four,2840,en,,more',
      'fitness,ios_store,5" screen,2840,en,',
      'fitness,ios_store,"six ""words""",2840,en,"two',
      'lines"',
      'fitness,ios_store,seven,2840,en,',
    ),
  )
  assert.deepEqual([done.added, done.refusedCount], [4, 3])
  assert.deepEqual(
    done.refused.map(({ line, reason }) => [line, reason]),
    [
      [3, 'it has 3 cells, and the first line has 6'],
      [5, 'it has 7 cells, and the first line has 6'],
      [6, 'its quotes do not match: a cell with quotes in it is written "say ""hi"""'],
    ],
  )
  const rows = await db.sql<{ keyword: string }[]>`select keyword from keyword_watch order by keyword`
  assert.deepEqual(column(rows, 'keyword'), ['one', 'seven', 'six "words"', 'three'])
})

test('a quote that is not closed is told with its line; what stands before it is in', async () => {
  for (const [tail, line] of [
    ['"open,2840,en\nfitness,ios_store,calm,2840,en\n', 4],
    [`${'x'.repeat(300_000)},2840,en`, 3],
  ] as const) {
    const { refused, added, unchanged } = await load(
      `${csv(HEADER, ...keywords(1))}fitness,ios_store,${tail}`,
    )
    assert.equal(added + unchanged, 1)
    assert.deepEqual(
      refused.map((row) => [row.line, row.reason]),
      [
        [
          line,
          'a quote before it is not closed, or it is longer than 262,144 bytes: nothing after it could ' +
            'be read',
        ],
      ],
    )
  }
})

test('a file comes in as spreadsheets write it', async () => {
  const row = (n: number) => `fitness,ios_store,yoga ${n},2840,en`
  const semicolons = (line: string) => `${line.replaceAll(',', ';')};;;\n`
  const spelt = 'sep=;\r\nProject;Store;KEYWORD;Location Code;language-code\r\n'
  for (const [file, added] of [
    [`${HEADER}\r\n${row(1)}\n${row(2)}\r${row(3)}\r\n`, 3],
    [[HEADER, row(4), row(5)].map(semicolons).join(''), 2],
    [csv(`${HEADER},,`, row(6), `${row(7)},,`), 2],
    // Of files that were put together each has its first line.
    [csv(HEADER, row(8), HEADER, row(9)), 2],
    [`${spelt}fitness;ios_store;calm;2840;en\r\n`, 1],
  ] as const)
    assert.deepEqual(await counts(file), [added, 0, 0, 0], file)
  // Excel's line of its separator is a line.
  assert.equal((await load(`${spelt}x;y;z;1;en\r\n`)).refused[0]?.line, 3)
})

test('a file that cannot be read to its end is told with the reason', async () => {
  const text = async function* () {
    yield 'project,store,keyword,location_code,language_code\nfitness,ios_store,yoga,2840,en\n'
    throw new Error('the disk is gone')
  }
  await assert.rejects(importWatches(db, [{ name: 'a.csv', text }]), { message: 'the disk is gone' })
})

test('what the file names twice is stored once, and the later row counts', async () => {
  const row = (keyword: string, depth: number) => `fitness,ios_store,${keyword},2840,en,${depth}`
  const file = csv(`${HEADER},depth`, row('yoga', 50), row('calm', 60), row('yoga', 70), row('yoga', 80))
  assert.deepEqual(await counts(file), [2, 2, 0, 0])
  const [yoga] = await db.sql`select depth from keyword_watch where keyword = 'yoga'`
  assert.equal(yoga?.depth, 80)
})

test('several files come in together, and a refusal names its file', async () => {
  const file = (name: string, text: string) => ({
    name,
    text: async function* () {
      yield text
    },
  })
  const done = await importWatches(db, [
    file('keywords.csv', csv(HEADER, ...keywords(2), 'fitness,shop,calm,2840,en')),
    file('apps.csv', csv('project,store,app_id', 'fitness,ios_store,1480010017', 'fitness,ios_store,1')),
  ])
  assert.deepEqual([done.tables, done.added], [['keyword_watch', 'app_watch'], 3])
  assert.deepEqual(
    done.refused.map((row) => [row.file, row.line]),
    [
      ['keywords.csv', 4],
      ['apps.csv', 3],
    ],
  )
})

test('--replace disables what the file does not name, of that project and that kind alone', async () => {
  await load(csv(HEADER, ...keywords(3), 'other,ios_store,yoga 9,2840,en'))
  await load(csv('project,store,app_id', 'fitness,ios_store,1480010017'))
  const file = csv(HEADER, ...keywords(2, 2), 'fitness,ios_store,new,2840,en')
  const replace = (text: string, isTrial = false) => importWatches(db, text, { replace: 'fitness', isTrial })
  const enabled = async () => {
    const rows = await db.sql<
      { keyword: string }[]
    >`select keyword from keyword_watch where enabled order by keyword`
    return rows.map(({ keyword }) => keyword)
  }
  assert.equal((await replace(file, true)).disabled, 1)
  assert.deepEqual(await enabled(), ['yoga 1', 'yoga 2', 'yoga 3', 'yoga 9'])
  const { added, unchanged, disabled } = await replace(file)
  assert.deepEqual([added, unchanged, disabled], [1, 2, 1])
  assert.deepEqual(await enabled(), ['new', 'yoga 2', 'yoga 3', 'yoga 9'])
  // A period that goes on is the same period.
  const [periods] =
    await db.sql`select count(*)::int as open from watch_period where kind = 'keyword' and ended_at is null`
  assert.equal(periods?.open, 4)
  assert.equal((await db.sql`select from app_watch where enabled`).length, 1)
  const refused = await replace(csv(HEADER, 'fitness,ios_store,yoga 2,2840,en', 'fitness,shop,x,2840,en'))
  assert.deepEqual([refused.disabled, refused.refusedCount, (await enabled()).length], [null, 1, 4])
  await assert.rejects(
    importWatches(db, file, { replace: 'fitnes' }),
    /no row of the project "fitnes".* Did you mean fitness\?/,
  )
})

test('a stop is obeyed between two pieces: what is stored stays, and the same file goes on', async () => {
  const file = csv(HEADER, ...keywords(5_200))
  const stopping = new AbortController()
  const done = await importWatches(db, file, { signal: stopping.signal, onProgress: () => stopping.abort() })
  assert.deepEqual([done.isStopped, done.added], [true, 5_000])
  assert.deepEqual(await counts(file), [200, 0, 5_000, 0])
})

test('a stop before the first row stores nothing', async () => {
  const onProgress = () => assert.fail('a piece was stored')
  const done = await importWatches(db, csv(HEADER, ...keywords(1)), {
    signal: AbortSignal.abort(),
    onProgress,
  })
  assert.deepEqual([done.isStopped, done.added], [true, 0])
})

test('a stop is obeyed within a piece, before rows of other columns', async () => {
  const stopping = new AbortController()
  const begin: Database['begin'] = (work, options) =>
    db.begin((tx) => {
      const savepoint: typeof tx.savepoint = (inner) => tx.savepoint(inner).finally(() => stopping.abort())
      return work(
        new Proxy(tx, { get: (_, key) => (key === 'savepoint' ? savepoint : Reflect.get(tx, key)) }),
      )
    }, options)
  const file = csv(`${HEADER},depth`, ...keywords(2).map((row) => `${row},`), `${keywords(1, 3)},50`)
  const done = await importWatches({ begin }, file, { signal: stopping.signal })
  assert.deepEqual([done.isStopped, done.added], [true, 2])
  assert.deepEqual(await counts(file), [1, 0, 2, 0])
})

test('a stop during the last piece is told, and --replace disables nothing then', async () => {
  await load(csv(HEADER, ...keywords(2)))
  const stopping = new AbortController()
  const { isStopped, disabled } = await importWatches(db, csv(HEADER, ...keywords(1)), {
    replace: 'fitness',
    signal: stopping.signal,
    onProgress: () => stopping.abort(),
  })
  assert.deepEqual([isStopped, disabled], [true, null])
  assert.equal((await db.sql`select from keyword_watch where enabled`).length, 2)
})

test('rules come in after their channels, whatever stands between them', async () => {
  await load(csv(HEADER, ...keywords(1)))
  const file = (name: string, text: string) => ({ name, text: () => Readable.from([text]) })
  const { added, refused } = await importWatches(db, [
    file('rules.csv', csv('rule,project,kind,channel', 'plain,fitness,outage,mail')),
    file('keywords.csv', csv(HEADER, ...keywords(5_000, 2))),
    file('channels.csv', csv('channel,kind,address', 'mail,email,a@example.com')),
  ])
  assert.deepEqual([added, refused], [5_002, []])
})

test('a file whose lines stand in quotes as a whole is refused with what to do', async () => {
  await assert.rejects(
    load(csv(`"${HEADER}"`, '"fitness,ios_store,yoga,2840,en"')),
    /^ConfigurationError: The first line of the file stands in quotes as a whole, .* take them off/,
  )
})

test('a row with a letter that was lost is refused by its line', async () => {
  const done = await load(csv(HEADER, ...keywords(1), 'fitness,ios_store,caf\ufffd,2840,en'))
  assert.deepEqual([done.added, done.refused[0]?.line], [1, 3])
  assert.match(done.refused[0]?.reason ?? '', /bytes that are no letters of UTF-8/)
})

test('keywords that are a list, or of a wrong encoding, are told of and come in', async () => {
  const rows = ['"yoga, calm, sleep"', '"a,b,c"', 'cafÃ©', 'ãƒ¨ã‚¬', 'café', '"rent, buy"', 'ÃÃ']
  const { added, odd } = await load(csv(HEADER, ...rows.map((each) => `fitness,ios_store,${each},2840,en`)))
  assert.equal(added, rows.length)
  assert.deepEqual(odd, [
    '2 keywords, such as "yoga, calm, sleep", are searched as one: for "yoga", "calm", "sleep" give each a ' +
      'line of its own.',
    '2 keywords, such as "cafÃ©", may have the letters of a file that was opened in the wrong ' +
      'encoding: "café".',
  ])
})

test('twins are told of among the rows that are written, each once', async () => {
  await db.sql`insert into location (store, code, name) values ('ios_store', 2840, 'United States')`
  const file = 'project,store,keyword,location_code,location_name,language_code'
  const [byCode, byName] = ['fitness,ios_store,yoga,2840,,en', 'fitness,ios_store,yoga,,United States,en']
  const twins = async (...lines: string[]) =>
    (await load(csv(file, ...lines))).problems.filter(({ problem }) => problem === 'followed_already')
  const [told, ...others] = await twins(byCode, byName)
  assert.match(told?.message ?? '', /^keyword_watch \d+ of this project follows the same already/)
  assert.deepEqual([others, await twins(byCode, byName)], [[], []])
})

test('what --replace has disabled is enabled by a list that names it again', async () => {
  const [first = '', second = ''] = keywords(2)
  const replace = (text: string) => importWatches(db, text, { replace: 'fitness' })
  await load(csv(HEADER, first, second))
  assert.equal((await replace(csv(HEADER, first))).disabled, 1)
  const plain = await load(csv(HEADER, second))
  assert.deepEqual([plain.unchanged, plain.stillDisabled], [1, 1])
  const said = await replace(csv(`${HEADER},enabled`, `${first},true`, `${second},false`))
  assert.deepEqual([said.enabled, said.disabled], [0, 0])
  const named = await replace(csv(HEADER, first, second))
  assert.deepEqual([named.enabled, named.disabled, named.stillDisabled], [1, 0, 0])
  assert.equal((await db.sql`select from keyword_watch where not enabled`).length, 0)
})
