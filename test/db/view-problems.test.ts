/** The views of trouble: what keeps a watch from being measured, and which tasks went wrong. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const SLOT = '2026-03-10 00:00+00'

describe('the views of trouble', () => {
  const list = lasting(createWatchlist)
  beforeEach(async () => {
    await list.clear()
    await list.setNow('2026-03-10 13:00+00')
  })

  const problems = () =>
    list.sql`select watch_table, subject, problem, message from watch_problem
      where problem <> 'project_without_app' order by subject, problem`

  const told = () =>
    list.ask('watch_table, subject, problem', "watch_problem where problem <> 'project_without_app'")

  /** The one problem there is. */
  async function problem(): Promise<Record<string, string>> {
    const [first, ...others] = await problems()
    assert.deepEqual(others, [])
    return first ?? {}
  }

  async function addTask(fields: object): Promise<string> {
    const [target] =
      await list.sql`select id, array(select min(id) from project) as payers from target limit 1`
    const task = {
      target_id: target?.id,
      payers: target?.payers,
      slot: SLOT,
      slot_ends_at: '2026-03-11 00:00+00',
      priority: 1,
      estimate_micros: 1200,
    }
    const [row] = await list.sql`insert into task ${list.sql({ ...task, ...fields })} returning id`
    return row?.id
  }

  async function addCharge(
    kind: string,
    amountMicros: number,
    fields: { service_id: string; project?: string; target_id?: number },
  ): Promise<void> {
    const { project = 'fitness', target_id = 1, service_id } = fields
    await list.sql`
      insert into charge (kind, amount_micros, at, project_id, target_id, slot, service_id)
      select ${kind}, ${amountMicros}, '2026-03-10 12:00+00', id, ${target_id}, ${SLOT}, ${service_id}
      from project where name = ${project}`
    await list.sql`select recount_spend()`
  }

  describe('watch_problem', () => {
    const knowPlaces = () => list.sql`insert into location (store, code, name) values
      ('ios_store', 2826, 'United Kingdom'), ('ios_store', 2840, 'United States'),
      ('ios_store', 1006886, 'London,England,United Kingdom'), ('ios_store', 2276, 'Germany')`

    test('is empty while all is well', async () => {
      await knowPlaces()
      await list.sql`insert into language values ('ios_store', 'en', 'English')`
      await list.addKeyword()
      await list.addApp({ info: true, location_code: 2840, language_code: 'en' })
      await list.sql`delete from location`
      await list.addApp({ app_id: '1002', location_name: 'Nowhere' })
      await list.addKeyword({ keyword: 'off', location_code: 1, enabled: false })
      await knowPlaces()
      assert.deepEqual([...(await problems())], [])
    })

    test('says that a location by name waits for the references', async () => {
      await list.addKeyword({ location_code: null, location_name: 'United States' })
      assert.equal((await problem()).problem, 'references_missing')
    })

    test('names codes that the loaded references do not have, and none before they are loaded', async () => {
      await list.addKeyword({ location_code: 9999, language_code: 'xx' })
      assert.deepEqual([...(await problems())], [])
      await knowPlaces()
      await list.sql`insert into language values ('android_store', 'en', 'English')`
      assert.match((await problem()).message ?? '', /ios_store has no location with the code 9999/)
      await list.sql`insert into language values ('ios_store', 'en', 'English')`
      const unknown = ['language_unknown', 'location_unknown'].map((each) => `keyword_watch yoga ${each}`)
      assert.deepEqual(await told(), unknown)
    })

    test('names the category that was likely meant, and none before categories are loaded', async () => {
      await list.addChart({ category: 'game_puzle' })
      assert.deepEqual([...(await problems())], [])
      await list.sql`insert into category (store, name) values
        ('android_store', 'game'), ('android_store', 'game_puzzle'), ('ios_store', 'game_puzle')`
      assert.deepEqual(await problem(), {
        watch_table: 'chart_watch',
        subject: 'topselling_free',
        problem: 'category_unknown',
        message:
          'android_store has no category called "game_puzle". Did you mean "game_puzzle"? Correct ' +
          'category, or leave it out for all of the collection; the table category has them all.',
      })
      await list.sql`delete from category`
      await list.sql`update chart_watch set category = 'xyz'`
      await list.sql`insert into category (store, name) values ('android_store', 'game')`
      assert.doesNotMatch((await problem()).message ?? '', /Did you mean/)
      await list.sql`update chart_watch set category = null`
      assert.deepEqual([...(await problems())], [])
    })

    test('has charts like keywords: place, language, money, failure, twins of one category', async () => {
      await list.addChart({ collection: 'topgrossing', location_code: 9999, language_code: 'xx' })
      await list.sql`insert into location (store, code, name) values ('android_store', 2840, 'United States')`
      await list.sql`insert into language values ('android_store', 'en', 'English')`
      const first = await list.addChart({ category: 'game' })
      await list.leaveGap('topselling_free', SLOT, 'failed', 'why')
      await list.sql`insert into due_slot (target_id, slot, ends_at, cut, price_micros, priority, captured_at,
        askers)
        select id, ${SLOT}, '2026-03-11 00:00+00', 'overall_budget', 2400000, 1, '-infinity', 1 from target
          where location_code = 2840`
      await list.addChart({ category: 'game', location_code: null, location_name: 'united states' })
      await list.addChart({ location_code: null, location_name: 'united states' })
      const rows = await problems()
      assert.deepEqual(await told(), [
        'chart_watch topgrossing language_unknown',
        'chart_watch topgrossing location_unknown',
        'chart_watch topselling_free followed_already',
        'chart_watch topselling_free last_slot_failed',
        'chart_watch topselling_free money',
      ])
      assert.match(
        rows[2]?.message,
        new RegExp(`^chart_watch ${first} of this project follows the same already, and`),
      )
      assert.match(rows[4]?.message, /^This slot costs \$2\.40, and the budget of all projects/)
    })

    test('says once what is wrong with a row, and by itself what is wrong with its reviews', async () => {
      await list.addApp({ info: true, reviews: true, location_name: 'Nowhere', language_code: 'en' })
      await knowPlaces()
      assert.equal((await problem()).problem, 'location_unknown')
      await list.sql`update app_watch set info = false`
      assert.equal((await problem()).problem, 'location_unknown')
      await list.sql`update app_watch set location_code = 2840, location_name = null, info = true`
      await list.describeApp('1001', SLOT, { gap: 'failed', reason: 'why' }, 'app_reviews')
      assert.equal((await problem()).problem, 'last_slot_failed')
      assert.match(
        (await problem()).message ?? '',
        /^Reviews: The last measurement, due 2026-03-10 00:00 UTC, failed: why\./,
      )
      await list.sql`update project set enabled = false`
      assert.equal((await problem()).problem, 'project_disabled')
    })

    test('names the switch that is set twice: for the page of an app, and for its reviews', async () => {
      await knowPlaces()
      const first = await list.addApp({ info: true, reviews: true, location_code: 2840, language_code: 'en' })
      await list.addApp({ info: true, reviews: true, location_name: 'United States', language_code: 'en' })
      assert.deepEqual((await problems()).map(({ message }) => message).sort(), [
        `Reviews: app_watch ${first} of this project follows the same already: set reviews = false in ` +
          'one of the two.',
        `app_watch ${first} of this project follows the same already: set info = false in one of the two.`,
      ])
    })

    test('says that the project is disabled, of each of its watches', async () => {
      await list.addKeyword({ project: "o'neill" })
      await list.addApp({ project: "o'neill" })
      await list.sql`update project set enabled = false`
      assert.deepEqual(await told(), [
        'app_watch 1001 project_disabled',
        'keyword_watch yoga project_disabled',
      ])
      assert.match(
        (await problems())[0]?.message,
        /update project set enabled = true where name = 'o''neill'\.$/,
      )
    })

    test('says which budget cut a watch, and which one it can never fit', async () => {
      await list.addKeyword()
      await list.sql`insert into due_slot (target_id, slot, ends_at, cut, price_micros, priority, captured_at,
        askers)
        select id, ${SLOT}, '2026-03-11 00:00+00', 'project_budget', 1200, 1, '-infinity', 1 from target`
      assert.equal((await problem()).problem, 'money')
      assert.match(
        (await problem()).message ?? '',
        /costs \$0\.0012, and the budget of the project is used up/,
      )
      await list.sql`update due_slot set cut = 'dearer_than_overall_budget'`
      assert.equal((await problem()).problem, 'dearer_than_budget')
      assert.match(
        (await problem()).message ?? '',
        /budget of all projects, so it is not bought: raise (MAX_USD_PER_\w+, ){3}the limits of the account/,
      )
      await list.setNow('2026-03-11 13:00+00')
      assert.deepEqual([...(await problems())], [])
    })

    test('says why the last slot failed, until one succeeds', async () => {
      await list.addKeyword()
      await list.addApp({ info: true, location_code: 2840, language_code: 'en' })
      await list.leaveGap('yoga', SLOT, 'failed', "40501 Invalid Field: 'keyword'.")
      await list.describeApp('1001', SLOT, { gap: 'failed' })
      assert.deepEqual(await told(), [
        'app_watch 1001 last_slot_failed',
        'keyword_watch yoga last_slot_failed',
      ])
      assert.match(
        (await problems())[1]?.message,
        /due 2026-03-10 00:00 UTC, failed: 40501 Invalid Field: 'keyword'\. The next/,
      )
      await list.setNow('2026-03-11 13:00+00')
      await list.capture('yoga', '2026-03-11 00:00+00', [])
      assert.equal((await problem()).subject, '1001')
    })
  })

  describe('task_problem', () => {
    const troubles = () => list.sql`select kind, message from task_problem order by kind`
    const said = () => list.ask('kind, subject, service_id, status_code, message', 'task_problem')

    test('is empty while all is well', async () => {
      await list.addKeyword()
      await addTask({ state: 'posted', posted_at: SLOT, overdue_at: '2999-01-01' })
      assert.deepEqual([...(await troubles())], [])
    })

    test('has a failed task with its status and message', async () => {
      await list.addKeyword()
      await addTask({
        state: 'failed',
        ended_at: SLOT,
        status_code: 40501,
        problem: 'Invalid Field.',
        service_id: 's',
      })
      assert.deepEqual(await said(), ['failed yoga s 40501 Invalid Field.'])
    })

    test('has a measurement that was stored without its pages, and none that has them', async () => {
      await list.addKeyword()
      await addTask({ state: 'collected', ended_at: SLOT, slot: '2026-03-09 00:00+00' })
      await addTask({
        state: 'collected',
        ended_at: SLOT,
        status_code: 20000,
        problem: 'Gone.',
        service_id: 's',
      })
      assert.deepEqual(await said(), ['incomplete yoga s 20000 Gone.'])
    })

    test('has a refused result once, with the path of the bad field', async () => {
      await list.addKeyword()
      const task = await addTask({ state: 'failed', ended_at: SLOT, problem: 'not a number' })
      const result = {
        task_id: task,
        service_id: 's',
        target_id: 1,
        slot: SLOT,
        path: 'items.3.rank',
        problem: 'not a number',
      }
      await list.sql`insert into rejected_result ${list.sql({ ...result, body_gzip: Buffer.from('x') })}`
      await list.sql`update rejected_result set target_id = (select id from target)`
      const [row, ...others] = await troubles()
      assert.deepEqual(others, [])
      assert.equal(row?.kind, 'rejected')
      assert.match(row?.message, /at items\.3\.rank: not a number\./)
    })

    test('has a post of unknown outcome: since when, how many tasks, and what it waits for', async () => {
      await list.addKeyword()
      const [post] = await list.sql`insert into post (store, function, state, send_before)
        values ('ios_store', 'app_searches', 'unknown', '2026-03-10 12:00+00') returning id`
      await addTask({ state: 'posting', post_id: post?.id })
      await addTask({ state: 'posting', post_id: post?.id, slot: '2026-03-09 00:00+00' })
      await addTask({ state: 'posted', post_id: post?.id, slot: '2026-03-08 00:00+00' })
      const [row] = await troubles()
      assert.match(
        row?.message,
        /took 2 tasks is unknown since 2026-03-10 12:00:00 UTC: no answer came\. .*searched for them twice/,
      )
      await list.sql`update post set scanned_at = '2026-03-10 12:30+00', problem = 'The answer was cut off.'`
      assert.match(
        (await troubles())[0]?.message,
        /The answer was cut off\. .* second time; .* began 2026-03-10 12:30:00 UTC\.$/,
      )
    })

    test('has a task that was charged twice, once with the sum of all projects', async () => {
      await list.addKeyword()
      await list.sql`insert into project (name) values ('wellness')`
      const [target] = await list.sql`select id from target`
      const twice = { service_id: 's', target_id: target?.id }
      await addCharge('duplicate', 700, twice)
      await addCharge('duplicate', 500, { ...twice, project: 'wellness' })
      const rows = await troubles()
      assert.equal(rows.length, 1)
      assert.match(rows[0]?.message, /another \$0\.0012 for/)
    })

    test('has tasks that are overdue, with the last answer', async () => {
      await list.addKeyword()
      await addTask({ state: 'posted', posted_at: SLOT, overdue_at: '2026-03-10 01:00+00' })
      assert.match((await troubles())[0]?.message, /no ready list has named it/)
      await list.sql`update task set overdue_at = '2999-01-01', problem = 'Task Not Found.'`
      assert.match((await troubles())[0]?.message, /the last answer was: Task Not Found\. It stays open/)
    })
  })
})
