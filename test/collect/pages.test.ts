/** Raw pages beside a result: one task, paid once, fetched in both forms, and stored as one or not at all. */
import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { handOutOverdue } from '../../src/collect/enqueue-results.ts'
import type { FetchItem } from '../../src/ledger/hand-out.ts'
import { lasting } from '../support/lasting.ts'
import {
  buy,
  clear,
  collect,
  fetchItems,
  handOut,
  type Rewrite,
  store,
  tamper,
  watch,
} from '../support/stages.ts'
import { createWorld, type World } from '../support/world.ts'

const world = lasting(() => createWorld({ sandbox: { callsPerMinute: 100_000 } }))
afterEach(() => clear(world))

const ANDROID = { store: 'android_store' }
const CHART = { collection: 'topselling_free', depth: 120 }

const watchSearch = (fields = {}) =>
  watch(world, 'keyword_watch', { ...ANDROID, keyword: 'yoga', depth: 60, html: true, ...fields })

async function readHistory() {
  const [row] = await world.db.sql`
    select (select count(*) from ranking where gap is null) as rankings,
      (select count(*) from app_snapshot where gap is null) as snapshots,
      (select count(*) from ranking where gap is not null)
        + (select count(*) from app_snapshot where gap is not null) as gaps,
      (select count(*) from page) as pages`
  return { ...row }
}

async function readTask() {
  const [task] = await world.db.sql`
    select state, status_code, problem, fetching_until > clock_timestamp() as is_put_off from task`
  return { ...task }
}

/** What should long have been named by a ready list. */
async function handOutLate({ db }: World): Promise<FetchItem[]> {
  const items: FetchItem[] = []
  await handOutOverdue(db, async (_tx, found) => {
    items.push(...found)
  })
  return items
}

describe('a result whose watch wants the raw pages', () => {
  test('is fetched and stored in both forms, whatever it is of, and paid once', async (t) => {
    await watchSearch()
    await watch(world, 'chart_watch', { ...CHART, html: true })
    await watch(world, 'app_watch', { ...ANDROID, app_id: 'com.ashlune.yoga', info: true, html: true })
    await buy(world)
    const { client, paths } = await tamper(t, world, () => undefined)
    assert.equal((await collect(world, { client })).stored, 3)

    const forms = paths.map((path) => /(app_\w+)\/task_get\/(\w+)/.exec(path)?.slice(1).join(' '))
    assert.deepEqual(forms.filter((form) => form !== undefined).sort(), [
      'app_info advanced',
      'app_info html',
      'app_list advanced',
      'app_list html',
      'app_searches advanced',
      'app_searches html',
    ])
    // Thirty apps to a page, and the page of the app itself.
    assert.deepEqual(await readHistory(), { rankings: 2, snapshots: 1, gaps: 0, pages: 2 + 4 + 1 })
    const pages = await world.db.sql`
      select p.html_gzip, p.scanned_at, p.number, t.function from page p join target t on t.id = p.target_id
      order by function, number`
    assert.deepEqual(
      pages.map((page) => `${page.function} ${page.number}`),
      [
        'app_info 1',
        'app_list 1',
        'app_list 2',
        'app_list 3',
        'app_list 4',
        'app_searches 1',
        'app_searches 2',
      ],
    )
    for (const page of pages) {
      assert.ok(page.scanned_at instanceof Date)
      assert.match(gunzipSync(page.html_gzip).toString(), /^<!doctype html>/)
    }
    const charges = await world.db.sql`select from charge where kind = 'charge'`
    assert.equal(charges.length, 3)
    const [open] = await world.db.sql`select count(*) as problems from task where problem is not null`
    assert.equal(open?.problems, 0)
  })

  test('leaves its pages where the ready list says that they are', async (t) => {
    await watchSearch()
    await buy(world)
    const elsewhere = '/v3/app_data/pages/elsewhere'
    const { client, paths } = await tamper(
      t,
      world,
      (_path, body) => {
        for (const row of body.tasks[0].result ?? [])
          if (row.endpoint_html) row.endpoint_html = `${elsewhere}/${row.id}`
      },
      (path) => path.replace(elsewhere, '/v3/app_data/android_store/app_searches/task_get/html'),
    )
    assert.equal((await collect(world, { client })).stored, 1)
    assert.match(paths.at(-1) ?? '', /^\/v3\/app_data\/pages\/elsewhere\/[0-9a-f-]{36}$/)
    assert.equal((await readHistory()).pages, 2)
  })

  test('has them asked for by id where the ready list does not name them', async (t) => {
    await watchSearch()
    await buy(world)
    const { client } = await tamper(t, world, (path, body) => {
      if (path.endsWith('tasks_ready')) for (const row of body.tasks[0].result) row.endpoint_html = null
    })
    assert.equal((await collect(world, { client })).stored, 1)
    assert.equal((await readHistory()).pages, 2)
  })

  test('found nothing: there is a measurement, and no page of it', async () => {
    await watchSearch({ keyword: 'xqzvbnk' })
    await buy(world)
    assert.equal((await collect(world)).stored, 1)
    assert.deepEqual(await readHistory(), { rankings: 1, snapshots: 0, gaps: 0, pages: 0 })
    assert.deepEqual(await readTask(), {
      state: 'collected',
      status_code: 40102,
      problem: null,
      is_put_off: null,
    })
  })
})

test('a result whose watch does not want the raw pages is fetched in one form', async (t) => {
  await watchSearch({ html: false })
  await watch(world, 'chart_watch', CHART)
  await buy(world)
  const { client, paths } = await tamper(t, world, () => undefined)
  assert.equal((await collect(world, { client })).stored, 2)
  assert.ok(!paths.some((path) => path.includes('/html/')))
  assert.equal((await readHistory()).pages, 0)
})

describe('raw pages that are not to be had', () => {
  /** The answer to whoever asks for the pages. */
  const answerPages =
    (change: object): Rewrite =>
    (path, body) => {
      if (path.includes('/html/')) body.tasks[0] = { ...body.tasks[0], ...change }
    }
  const refuse = (status_code: number, status_message: string) =>
    answerPages({ status_code, status_message, result: null })

  const deferResults: Record<string, Rewrite> = {
    'because they are not ready': refuse(40602, 'Task In Queue.'),
    'because there were too many calls': refuse(40202, 'Rate limit per minute exceeded.'),
    'because another task was answered': answerPages({ id: '11111111-1111-4111-8111-111111111111' }),
    'because the account is refused': refuse(40100, 'You are not authorized.'),
  }
  for (const [why, rewrite] of Object.entries(deferResults)) {
    test(`now, ${why}, put their task off as a whole, and nothing is lost`, async (t) => {
      await watchSearch()
      await buy(world)
      const items = await handOut(world)
      const { client } = await tamper(t, world, rewrite)
      const { stored, later } = await store(world, await fetchItems(world, items, { client }))
      assert.deepEqual([stored, later], [0, 1])
      assert.deepEqual(await readHistory(), { rankings: 0, snapshots: 0, gaps: 0, pages: 0 })
      const { state, is_put_off } = await readTask()
      assert.deepEqual([state, is_put_off], ['posted', true])

      // The service has given the result, and so names it no more.
      await world.db.sql`update task set fetching_until = null, ask_at = ask_at - interval '10 minutes'`
      assert.deepEqual(await handOut(world), [])
      const again = await handOutLate(world)
      assert.equal((await store(world, await fetchItems(world, again))).stored, 1)
      assert.deepEqual(await readHistory(), { rankings: 1, snapshots: 0, gaps: 0, pages: 2 })
      assert.equal((await readTask()).problem, null)
    })
  }

  const refused: Record<string, [Rewrite, RegExp]> = {
    'have expired': [refuse(40403, 'Results Expired.'), /had: 40403: Results Expired\.$/],
    'are not known': [refuse(40401, 'Task Not Found.'), /had: 40401: Task Not Found\.$/],
    'could not be made': [
      refuse(40101, 'Internal SE server error.'),
      /had: 40101: Internal SE server error\.$/,
    ],
    'are done and missing': [answerPages({ result: null }), /had: .* holds no result\.$/],
    'cannot be read': [answerPages({ result: [{ items: [{ page: 1 }] }] }), /had: .* at items\[0\]\.html: /],
  }
  for (const [why, [rewrite, problem]] of Object.entries(refused)) {
    test(`for good, as they ${why}, hold up no result: its task says why it has none`, async (t) => {
      await watchSearch()
      await buy(world)
      const { client } = await tamper(t, world, rewrite)
      assert.equal((await collect(world, { client })).stored, 1)
      assert.deepEqual(await readHistory(), { rankings: 1, snapshots: 0, gaps: 0, pages: 0 })
      const task = await readTask()
      assert.deepEqual([task.state, task.status_code], ['collected', 20000])
      assert.match(String(task.problem), problem)
      assert.match(String(task.problem), /^The raw pages that were asked for cannot be had: /)
      await buy(world)
      assert.equal((await world.db.sql`select from charge where kind = 'charge'`).length, 1)
    })
  }

  test('for good, as there is no such endpoint, hold up no result either', async (t) => {
    await watchSearch()
    await buy(world)
    const nowhere = (path: string) => (path.includes('/html/') ? '/v3/nowhere' : path)
    const { client } = await tamper(t, world, () => undefined, nowhere)
    assert.equal((await collect(world, { client })).stored, 1)
    assert.match(String((await readTask()).problem), /cannot be had: GET .* failed/)
  })
})

describe('where nothing but raw pages is offered', () => {
  const pagesOnly = lasting(() => createWorld({ sandbox: { htmlOnly: true } }))

  test('a task that no ready list names any more is asked for by its id in that form', async () => {
    await watch(pagesOnly, 'chart_watch', { ...CHART, html: true })
    await buy(pagesOnly)
    // Whoever fetched it took it off the list, and died.
    await fetchItems(pagesOnly, await handOut(pagesOnly))
    await pagesOnly.db.sql`update task set fetching_until = null, ask_at = clock_timestamp() - interval '1 s'`
    assert.deepEqual(await handOut(pagesOnly), [])
    const items = await handOutLate(pagesOnly)
    assert.equal((await store(pagesOnly, await fetchItems(pagesOnly, items))).stored, 1)
    const [row] = await pagesOnly.db.sql`
      select gap, (select count(*) from page) as pages from ranking`
    assert.deepEqual({ ...row }, { gap: 'html_only', pages: 4 })
  })
})
