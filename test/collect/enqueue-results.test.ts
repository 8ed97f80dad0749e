import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { handOutOverdue, handOutReady } from '../../src/collect/enqueue-results.ts'
import { sql } from '../../src/db/sql.ts'
import type { FetchItem } from '../../src/ledger/hand-out.ts'
import { findTroubles, readFigures } from '../../src/monitor/figures.ts'
import { lasting } from '../support/lasting.ts'
import { readReservations, readSpendDifferences } from '../support/ledger.ts'
import {
  buy,
  clear,
  collect,
  fetchItems,
  handOut,
  type Instead,
  store,
  tamper,
  watchKeywords,
} from '../support/stages.ts'
import { createWorld, type World } from '../support/world.ts'

const SANDBOX = { callsPerMinute: 100_000 }
const world = lasting(() => createWorld({ sandbox: SANDBOX }))
const sold = lasting(() => createWorld({ sandbox: { deviations: ['endpoints'] } }))
afterEach(async () => {
  await clear(world)
  await clear(sold)
})

async function watchBothStores(of: World = world) {
  await watchKeywords(of, ['yoga'])
  await watchKeywords(of, ['yoga'], { store: 'android_store' })
  await of.db.sql`
    insert into app_watch (project, store, app_id, info, location_code, language_code)
    values ('fitness', 'ios_store', '1480010017', true, 2840, 'en'),
      ('fitness', 'android_store', 'com.unknown.app', true, 2840, 'en')`
}

const minutesAhead = (column: string) => world.db.sql<{ minutes: number }[]>`
  select round(extract(epoch from ${sql.identifier(column)} - clock_timestamp()) / 60)::int as minutes
    from task`

describe('the ready lists', () => {
  test('bring what was bought into the history, from both stores and both functions', async () => {
    await watchBothStores()
    await buy(world)
    const items = await handOut(world)
    assert.deepEqual(items.map((item) => `${item.store} ${item.function}`).sort(), [
      'android_store app_info',
      'android_store app_searches',
      'ios_store app_info',
      'ios_store app_searches',
    ])
    assert.deepEqual(await handOut(world), [])
    await world.db.sql`update task set fetching_until = null`
    assert.equal((await collect(world)).stored, 4)
    const [counts] = await world.db.sql`
      select (select count(*) from ranking where gap is null) as rankings,
        (select count(*) from app_snapshot where found) as found,
        (select count(*) from app_snapshot where not found) as unknown,
        (select count(*) from task where state = 'collected') as collected`
    assert.deepEqual({ ...counts }, { rankings: 2, found: 1, unknown: 1, collected: 4 })
    assert.equal((await collect(world)).stored, 0)
  })

  test('are asked only of endpoints where something is outstanding', async (t) => {
    await watchKeywords(world, ['yoga'], { store: 'android_store' })
    await buy(world)
    const { client, paths } = await tamper(t, world, () => undefined)
    const list = '/v3/app_data/android_store/app_searches/tasks_ready'
    await handOut(world, { client })
    assert.deepEqual(paths, [list])
    await handOut(world, { client })
    assert.deepEqual(paths, [list], 'while all that it could name is being fetched it is left alone')
    await world.db.sql`update task set fetching_until = clock_timestamp()`
    await handOut(world, { client })
    assert.deepEqual(paths, [list, list])
  })

  test('of several functions are asked in one call where the service offers one list for all', async (t) => {
    await watchBothStores(sold)
    await buy(sold)
    const { client, paths } = await tamper(t, sold, () => undefined)
    assert.equal((await handOut(sold, { client })).length, 4)
    assert.deepEqual(paths, ['/v3/app_data/tasks_ready'])
  })

  test('of each function are asked where none is for all, which a process finds out once', async (t) => {
    await watchBothStores()
    await buy(world)
    const { client, paths } = await tamper(t, world, () => undefined)
    assert.equal((await handOut(world, { client })).length, 4)
    await world.db.sql`update task set fetching_until = null`
    assert.equal((await handOut(world, { client })).length, 4)
    const all = paths.filter((path) => path === '/v3/app_data/tasks_ready')
    assert.deepEqual([all.length, paths.length], [1, 1 + 2 * 4])
  })

  test('of each function are asked where the list for all is full of what is not ours', async (t) => {
    await watchBothStores(sold)
    await buy(sold)
    const { client, paths } = await tamper(t, sold, (path, body) => {
      if (path !== '/v3/app_data/tasks_ready') return
      const [row] = body.tasks[0].result
      const id = (n: number) => `11081554-0696-0066-0000-${String(n).padStart(12, '0')}`
      body.tasks[0].result = Array.from({ length: 1000 }, (_, n) => ({
        ...row,
        id: id(n),
        tag: 'theirs',
        endpoint_advanced: row.endpoint_advanced.replace(row.id, id(n)),
      }))
    })
    assert.equal((await handOut(sold, { client })).length, 4)
    assert.equal(paths.length, 5)
  })

  test('say where a result is fetched, and that path is followed', async (t) => {
    await watchKeywords(world, ['yoga'])
    await buy(world)
    const elsewhere = '/v3/app_data/results/elsewhere'
    const real = '/v3/app_data/ios_store/app_searches/task_get/advanced'
    const { client, paths } = await tamper(
      t,
      world,
      (_path, body) => {
        for (const row of body.tasks[0].result ?? []) {
          if (row.endpoint_advanced) row.endpoint_advanced = `${elsewhere}/${row.id}`
        }
      },
      (path) => path.replace(elsewhere, real),
    )
    assert.equal((await collect(world, { client })).stored, 1)
    const fetched = paths.filter((path) => !path.endsWith('/tasks_ready'))
    assert.equal(fetched.length, 1)
    assert.match(fetched[0] ?? '', /^\/v3\/app_data\/results\/elsewhere\/[0-9a-f-]{36}$/)
  })

  test('never make anybody fetch what another program bought, or what nobody knows', async () => {
    await watchKeywords(world, ['yoga'])
    await buy(world)
    const url = `${world.sandboxUrl}/v3/app_data/ios_store/app_searches/task_post`
    const ofAnotherDatabase = '019a0000-0000-7000-8000-000000000000.1'
    const tags = ['another program', ofAnotherDatabase, undefined]
    const answer = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('sandbox:sandbox')}`, 'content-type': 'application/json' },
      body: JSON.stringify(tags.map((tag) => ({ keyword: 'chess', location_code: 2840, tag }))),
    })
    assert.equal(((await answer.json()) as { tasks_error: number }).tasks_error, 0)

    const handed: string[] = []
    const { foreign } = await handOutReady(world.db, world.client, world.settings, async (_tx, items) => {
      handed.push(...items.map((item) => item.serviceId))
    })
    const own = await world.db.sql`select service_id from task`
    assert.deepEqual(
      handed,
      own.map((task) => task.service_id),
    )
    assert.equal(foreign, 1)
    const charges = await world.db.sql`select from charge`
    assert.equal(charges.length, 1)
  })

  test('settle a post whose answer was lost: its tasks are adopted, charged and fetched', async (t) => {
    await watchKeywords(world, ['yoga', 'chess'])
    const { client } = await tamper(t, world, (path) => (path.endsWith('/task_post') ? 'no JSON' : undefined))
    await buy(world, { client })
    const [before] = await world.db.sql`select state from post`
    assert.equal(before?.state, 'unknown')

    assert.equal((await collect(world)).stored, 2)
    const [post] = await world.db.sql`select state, problem from post`
    assert.deepEqual({ ...post }, { state: 'settled', problem: null })
    const [charged] = await world.db.sql`
      select sum(amount_micros)::int as micros, count(*) as charges from charge where kind = 'charge'`
    assert.deepEqual({ ...charged }, { micros: 2400, charges: 2 })
    assert.deepEqual(await readReservations(world.db.sql), [])
    assert.deepEqual(await readSpendDifferences(world.db.sql), [])
  })

  test('that are full are asked again as long as somebody fetches, and not once nobody does', async (t) => {
    const full = await createWorld({ sandbox: SANDBOX })
    t.after(() => full.close())
    const keywords = Array.from({ length: 1030 }, (_, index) => `chess ${index}`)
    await watchKeywords(full, keywords, { depth: 1 })
    await buy(full)
    const unfetched = await handOut(full)
    assert.equal(unfetched.length, 1000)
    await full.db.sql`update task set fetching_until = null`

    const rounds: number[] = []
    const { handedOut } = await handOutReady(full.db, full.client, full.settings, async (_tx, items) => {
      rounds.push(items.length)
      await fetchItems(full, items)
    })
    assert.equal(handedOut, 1030)
    assert.deepEqual(rounds, [1000, 30])
  })
})

describe('a ready task', () => {
  beforeEach(async () => {
    await watchKeywords(world, ['yoga', 'chess', 'running'])
    await buy(world)
  })

  test('is handed to one of two collectors that look at once', async () => {
    const both = await Promise.all([handOut(world), handOut(world)])
    assert.equal(both.flat().length, 3)
    assert.equal(new Set(both.flat().map((item) => item.serviceId)).size, 3)
  })

  test('is handed out again by the clock when its fetcher has died, and not before', async () => {
    assert.equal((await handOut(world)).length, 3)
    assert.deepEqual(await handOut(world), [])
    await world.db.sql`
      update task set fetching_until = clock_timestamp() - interval '1 second'
      where id = (select id from task order by id limit 1)`
    assert.equal((await handOut(world)).length, 1)
    assert.deepEqual(await handOut(world), [])
  })

  test('is not handed out when its job cannot be enqueued', async () => {
    const fail = async () => {
      throw new Error('The queue is full.')
    }
    await assert.rejects(handOutReady(world.db, world.client, world.settings, fail), /queue is full/)
    assert.equal((await handOut(world)).length, 3)
  })
})

describe('a task that no list named in time', () => {
  const handOutLate = async () => {
    const ids: (string | null)[] = []
    await handOutOverdue(world.db, async (_tx, items) => {
      ids.push(...items.map((item) => item.path))
    })
    return ids
  }

  /** Moves the times of all tasks back. */
  const pass = (time: string) => world.db.sql`
    update task set posted_at = posted_at - ${time}::interval, overdue_at = overdue_at - ${time}::interval,
      ask_at = ask_at - ${time}::interval,
      fetching_until = null`
  const collectLate = async (instead: Instead) => {
    const items: FetchItem[] = []
    await handOutOverdue(world.db, async (_tx, found) => {
      items.push(...found)
    })
    return store(world, await fetchItems(world, items, instead))
  }
  /** As the view, the table of problems and `status --check` have it. */
  const readOverdue = async () => {
    const [open] = await world.db.sql<{ count: number }[]>`select count from open_work where kind = 'overdue'`
    const told = await world.db.sql<
      { subject: string }[]
    >`select subject from task_problem where kind = 'overdue'`
    const figures = await readFigures(world.db, world.settings)
    const troubles = findTroubles(figures).filter(({ kind }) => kind === 'overdue')
    assert.equal(figures.work.overdue.count, open?.count)
    return {
      open: open?.count,
      told: told.map(({ subject }) => subject),
      troubles: troubles.map(({ kind }) => kind),
    }
  }

  beforeEach(async () => {
    await watchKeywords(world, ['yoga'])
    await buy(world)
  })

  test('is not asked for before its time', async () => {
    assert.deepEqual(await handOutLate(), [])
    assert.deepEqual([...(await minutesAhead('ask_at'))], [{ minutes: 45 }])
  })

  test('is asked for by its id, by one at a time, and each time twice as late, at most a day', async () => {
    const age = (age: string) => world.db.sql`
      update task set posted_at = clock_timestamp() - ${age}::interval,
        ask_at = clock_timestamp() - interval '1 second',
        fetching_until = null`
    for (const [posted, minutes] of [
      ['1 minute', 5],
      ['45 minutes', 45],
      ['90 minutes', 90],
      ['3 days', 24 * 60],
    ] as const) {
      await age(posted)
      assert.deepEqual(await handOutLate(), [null])
      assert.deepEqual(await handOutLate(), [])
      assert.deepEqual([...(await minutesAhead('ask_at'))], [{ minutes }])
    }
  })

  test('is overdue until its result is stored, however often it is called not ready', async (t) => {
    const notReady = { status_code: 40602, status_message: 'Task In Queue.', result: null }
    const { client, paths } = await tamper(t, world, (path, body) => {
      if (path.includes('/task_get/')) Object.assign(body.tasks[0], notReady)
    })
    const late = { open: 1, told: ['yoga'], troubles: ['overdue'] }
    await pass('7 hours')
    assert.deepEqual(await readOverdue(), late)
    for (const asked of [1, 2, 3]) {
      assert.equal((await collectLate({ client })).later, 1)
      assert.equal(paths.filter((path) => path.includes('/task_get/')).length, asked)
      assert.deepEqual(await readOverdue(), late)
      await pass('1 day')
    }
    assert.deepEqual([...(await minutesAhead('overdue_at'))], [{ minutes: 45 - (7 + 3 * 24) * 60 }])
    assert.equal((await collectLate({})).stored, 1)
    assert.deepEqual(await readOverdue(), { open: 0, told: [], troubles: [] })
  })

  test('is not taken from a fetcher that has it, and its result is stored like any other', async () => {
    const fromList = await handOut(world)
    await world.db.sql`update task set ask_at = clock_timestamp() - interval '1 second'`
    assert.deepEqual(await handOutLate(), [])
    await world.db.sql`update task set fetching_until = null`
    const [fetched] = await fetchItems(
      world,
      fromList.map((item) => ({ ...item, path: null })),
    )
    assert.equal(fetched?.kind, 'ranking')
  })
})

test('of more overdue tasks than are handed out at once, the longest overdue come first', async () => {
  await world.db.sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', 'keyword ' || n, 2840, 'en' from generate_series(1, 1001) n`
  // The longest overdue is the last row of the table, where a statement without an order comes to it last.
  await world.db.sql`
    insert into task (target_id, slot, slot_ends_at, state, priority, estimate_micros, payers, service_id,
      posted_at, ask_at)
    select id, now(), now() + interval '1 day', 'posted', 1, 1200, '{1}', subject, now() - interval '2 days',
      now() - make_interval(secs => id)
    from target order by id`
  await world.db.sql`analyze task`
  const rounds: string[][] = []
  for (let round = 0; round < 2; round += 1) {
    await handOutOverdue(world.db, async (_tx, items) => {
      rounds.push(items.map((item) => item.serviceId))
    })
  }
  const [first, second] = rounds
  assert.deepEqual([first?.length, second], [1000, ['keyword 1']])
})
