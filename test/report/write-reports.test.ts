import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { ConfigurationError } from '../../src/errors.ts'
import { makePage } from '../../src/report/report-thread.ts'
import { writeWholeFile } from '../../src/report/write-file.ts'
import { nameFile, type ReportSettings, writeReports } from '../../src/report/write-reports.ts'
import { createWatchlist, type Watchlist } from '../support/watchlist.ts'

const NOW = '2026-11-03 06:00+00'

let list: Watchlist
let db: Database
let folder: string
before(async () => {
  list = await createWatchlist()
  await list.setNow('2026-11-01 00:00+00')
  await list.addKeyword()
  await list.addApp({ label: 'Mine' })
  await list.addKeyword({ project: 'R&D / <b>', keyword: 'chess' })
  await list.addApp({ project: 'R&D / <b>', app_id: '1002' })
  await list.sql`insert into project (name) values ('nothing watched')`
  await list.setNow(NOW)
  await list.setNowForAll(NOW)
  db = openDatabase(list.url)
})
after(async () => {
  await db.close()
  await list.drop()
})
afterEach(() => rm(join(folder, '..'), { recursive: true }))
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'storerank-reports-')), 'pages')
  await list.sql`delete from task`
  await list.sql`delete from ranking`
  await list.capture('yoga', '2026-11-02 00:00+00', ['1001'])
})

const write = (settings: Partial<ReportSettings> = {}) =>
  writeReports(db, { folder, title: null, logo: null, ...settings }, new AbortController().signal)

async function openTask(state: string): Promise<void> {
  await list.sql`
    insert into task (target_id, slot, slot_ends_at, state, priority, estimate_micros, payers)
    select id, '2026-11-03', '2026-11-04', ${state}, 1, 1200, array[1] from target where subject = 'yoga'`
}

test('each project with a measurement has a page under its own name', async () => {
  await list.capture('chess', '2026-11-03 00:00+00', ['1002'])
  assert.deepEqual(await write(), { written: ['R&D / <b>', 'fitness'], waiting: [] })
  assert.deepEqual((await readdir(folder)).toSorted(), ['R%26D %2f %3cb%3e.html', 'fitness.html'])
  assert.match(
    await readFile(join(folder, 'R%26D %2f %3cb%3e.html'), 'utf8'),
    /<h1>R&amp;D \/ &lt;b&gt;<\/h1>/,
  )
})

test('a folder that is made can be read, and its pages, under any umask', async () => {
  const umask = process.umask(0o077)
  try {
    await write()
  } finally {
    process.umask(umask)
  }
  const modes = [folder, join(folder, 'fitness.html')].map(async (path) => (await stat(path)).mode & 0o777)
  assert.deepEqual(await Promise.all(modes), [0o755, 0o644])
})

test('a page that is the oldest comes first, and none is begun when the time is over', async () => {
  await list.capture('chess', '2026-11-03 00:00+00', ['1002'])
  await write()
  await list.capture('chess', '2026-11-04 00:00+00', ['1002'])
  await list.capture('yoga', '2026-11-04 00:00+00', ['1001'])
  await utimes(join(folder, 'fitness.html'), 1, 1)
  const over = AbortSignal.abort()
  const { signal } = new AbortController()
  const settings = { folder, title: null, logo: null }
  assert.deepEqual(await writeReports(db, settings, signal, over), { written: [], waiting: [], left: 3 })
  assert.equal((await write()).written[0], 'fitness')
})

test('what cannot be made in its thread fails with what the thread met', async () => {
  await assert.rejects(makePage({ url: 'no address' }, { project: 'fitness' }, {}))
  const unknown = {
    name: 'ConfigurationError',
    message: /^There is no project "fitnes"\. Did you mean fitness/,
  }
  await assert.rejects(makePage(db, { project: 'fitnes' }, {}), unknown)
})

test('each page is made in a thread beside the loop, which ends with it', async () => {
  await list.capture('chess', '2026-11-03 00:00+00', ['1002'])
  const threads: Worker[] = []
  const count = (thread: Worker) => void threads.push(thread)
  process.on('worker', count)
  try {
    assert.equal((await write()).written.length, 2)
    const ended = threads.map(({ threadId }) => threadId)
    assert.deepEqual(ended, [-1, -1])
    await write()
    assert.equal(threads.length, 2)
  } finally {
    process.off('worker', count)
  }
})

test('a page is written again when something new was measured, and not before', async () => {
  await write()
  const file = join(folder, 'fitness.html')
  const first = await stat(file)
  assert.deepEqual((await write()).written, [])
  assert.equal((await stat(file)).ino, first.ino)
  await list.leaveGap('yoga', '2026-11-03 00:00+00', 'budget', 'project_budget')
  assert.deepEqual((await write()).written, ['fitness'])
  assert.match(await readFile(file, 'utf8'), /1 not measured: budget/)
  await rm(file)
  assert.deepEqual((await write()).written, ['fitness'], 'it is gone')
  assert.deepEqual((await write({ title: 'Acme' })).written, ['fitness'], 'it has another title')
  assert.match(await readFile(file, 'utf8'), /<h1>Acme · fitness<\/h1>/)
})

test('no page is written in the middle of a collection', async () => {
  for (const state of ['planned', 'posting', 'posted']) {
    await openTask(state)
    assert.deepEqual(await write(), { written: [], waiting: ['fitness'] })
    await list.sql`delete from task`
  }
  await openTask('collected')
  assert.deepEqual((await write()).written, ['fitness'])
})

test('what is left of a slot that is over holds no page up', async () => {
  await openTask('posted')
  await list.sql`update task set slot_ends_at = '2026-11-03 05:00+00'`
  assert.deepEqual(await write(), { written: ['fitness'], waiting: [] })
})

test('a page that cannot be written is told by its file, and the others are written', async () => {
  await list.capture('chess', '2026-11-03 00:00+00', ['1002'])
  await mkdir(join(folder, 'R%26D %2f %3cb%3e.html'), { recursive: true })
  await assert.rejects(
    write(),
    (error) =>
      error instanceof ConfigurationError &&
      /R%26D.*\.html cannot be written: it is a folder \(EISDIR\)/.test(error.message),
  )
  assert.deepEqual((await readdir(folder)).toSorted(), ['R%26D %2f %3cb%3e.html', 'fitness.html'])
})

test('the last page stays when its project is disabled', async () => {
  await write()
  await list.sql`update project set enabled = false where name = 'fitness'`
  await list.capture('yoga', '2026-11-03 00:00+00', ['1001'])
  assert.deepEqual((await write()).written, [])
  assert.deepEqual(await readdir(folder), ['fitness.html'])
  await list.sql`update project set enabled = true where name = 'fitness'`
})

test('a folder or a logo that cannot be used is told by its setting', async () => {
  for (const nowhere of ['/dev/null', '/dev/null/pages', '/proc/pages/of/all', '/proc/pages']) {
    await assert.rejects(
      write({ folder: nowhere }),
      (error) =>
        error instanceof ConfigurationError &&
        /REPORT_DIR cannot be made: .* \(E[A-Z]+\)\./.test(error.message),
    )
  }
  await assert.rejects(write({ logo: '/nowhere.png' }), /logo \/nowhere\.png cannot be used: .* \(ENOENT\)/)
})

test('a reader finds the old page or the new one, and a draft that fails leaves nothing', async () => {
  await write()
  const file = join(folder, 'fitness.html')
  await writeFile(file, 'old')
  await assert.rejects(
    writeWholeFile(
      file,
      (async function* () {
        yield 'half of the new'
        assert.equal(await readFile(file, 'utf8'), 'old')
        throw new Error('the database is gone')
      })(),
    ),
    /the database is gone/,
  )
  assert.equal(await readFile(file, 'utf8'), 'old')
  assert.deepEqual(await readdir(folder), ['fitness.html'])
})

test('drafts of killed writers are removed, and those that may be in work stay', async () => {
  await mkdir(folder)
  const minutesAgo = (minutes: number) => Date.now() / 1000 - minutes * 60
  for (const [name, age] of [
    ['fitness.html.0123abcd.draft', 90],
    ['other.html.89abcdef.draft', 5],
    ['notes.draft', 90],
    ['gone.html', 90],
  ] as const) {
    await writeFile(join(folder, name), '<!doctype')
    await utimes(join(folder, name), minutesAgo(age), minutesAgo(age))
  }
  await mkdir(join(folder, 'folder.html.0123abcd.draft'))
  await write()
  assert.deepEqual((await readdir(folder)).toSorted(), [
    'fitness.html',
    'folder.html.0123abcd.draft',
    'gone.html',
    'notes.draft',
    'other.html.89abcdef.draft',
  ])
})

describe('the file of a project', () => {
  const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 100 })

  test('is in the folder, whatever the project is called', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          name,
          fc.constantFrom('.', '..', '../../etc', 'a\\b', 'CON', '%2f', 'x'.repeat(100), 'ヨ'.repeat(100)),
        ),
        (project) => {
          const file = nameFile(project)
          assert.doesNotMatch(file, /[/\\]|^\./)
          assert.ok(Buffer.byteLength(file) < 230)
        },
      ),
    )
  })

  test('is that of no other one', () => {
    fc.assert(
      fc.property(name, name, (one, other) => {
        assert.equal(nameFile(one) === nameFile(other), one === other)
      }),
    )
  })
})
