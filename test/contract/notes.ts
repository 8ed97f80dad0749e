/**
 * Rows of docs/service.md on what the specification leaves open, as far as no row of the specification has
 * them too.
 */

import assert from 'node:assert/strict'
import { Options } from '../../src/sandbox/options.ts'
import type { Json } from '../sandbox/caller.ts'
import { ask, envelope, taskWith } from '../service/wire-server.ts'
import { ASK } from './ask.ts'
import { bySide, covers } from './covers.ts'
import { byForm } from './form.ts'
import type { Store } from './paths.ts'
import { openSharedWorld, openWorld, postOne, postWire, wireTask } from './world.ts'

const SEARCH = '/v3/app_data/ios_store/app_searches'

// Paths and forms

covers('notes.tasks_ready_and_task_get_of_ios_store_app_searches', 'an answer for another task is an error', {
  world: { faults: { wrongId: 1 } },
  fetch: async (world) => {
    const { id } = await postWire(world)
    assert.notEqual((await world.get(`${SEARCH}/task_get/advanced/${id}`)).tasks[0].id, id)
  },
  client: async ({ client }) => {
    const id = await postOne(client)
    await assert.rejects(client.getAppSearches('ios_store', id), { code: 'unreadable', path: 'tasks[0].id' })
  },
})
covers('notes.advanced_results_of_android_store', 'a ready list may offer pages alone', {
  world: { htmlOnly: true },
  fetch: async (world) => {
    for (const [fn, type, subject] of [
      ['app_searches', 'organic', {}],
      ['app_list', 'app_list', { app_collection: 'topgrossing' }],
      ['app_info', 'app_info', { app_id: 'com.ashlune.yoga' }],
    ] as const) {
      const base = `/v3/app_data/android_store/${fn}`
      await postWire(
        world,
        { keyword: fn === 'app_searches' ? 'yoga' : undefined, ...subject },
        `${base}/task_post`,
      )
      world.later()
      const [row] = (await world.get(`${base}/tasks_ready`)).tasks[0].result
      assert.equal(row.endpoint_advanced === null, fn !== 'app_info')
      assert.equal((await world.get(row.endpoint_html)).tasks[0].result[0].type, type)
    }
  },
  client: async ({ client, later }) => {
    await postOne(client, {}, ['android_store', 'app_searches'])
    later()
    const [row] = await client.listReady('android_store', 'app_searches')
    assert.deepEqual([row?.kind, row?.path], ['html', row?.htmlPath])
    assert.equal((await client.getResult(row?.path ?? '')).kind, 'done')
  },
})
covers('notes.tasks_ready_rows', 'need an id and one path, and nothing more', {
  fetch: { because: 'The sandbox sends every field.' },
  client: async (_world, t) => {
    const path = '/v3/app_data/android_store/app_list/task_get/html/id-1'
    const bare = envelope([taskWith([{ id: 'id-1', endpoint_html: path }])])
    const { value } = await ask(t, bare, (client) => client.listReady('android_store', 'app_list'))
    assert.deepEqual(
      [value.length, value[0]?.path, value[0]?.tag, value[0]?.datePosted],
      [1, path, null, null],
    )
  },
})

// Results

/** What the types of a store's items begin with. */
const prefixOf = (store: Store): string =>
  byForm<string>(store, store === 'ios_store' ? 'app_store' : 'google_play')

/** All items of some searches and one chart of a store, so that every kind of item is among them. */
const itemsOf = async (store: Store): Promise<Json[][]> => {
  const world = await openSharedWorld()
  const keywords = ['yoga', 'puzzle', 'budget', 'fitness', 'photo', 'math', 'running', 'free']
  const lists = keywords.map(async (keyword) => {
    const { id } = await postWire(
      world,
      { keyword, depth: 60 },
      `/v3/app_data/${store}/app_searches/task_post`,
    )
    return (await world.get(`/v3/app_data/${store}/app_searches/task_get/advanced/${id}`)).tasks[0].result[0]
      .items
  })
  return Promise.all(lists)
}
covers(
  'notes.app_searches_advanced_result',
  'advertisements and bundles shift the absolute rank, and have none',
  {
    fetch: async () => {
      for (const store of ['ios_store', 'android_store'] as const) {
        const kinds = new Set<string>()
        for (const items of await itemsOf(store)) {
          for (const { type } of items) kinds.add(type)
          const organic = items.filter(({ type }) => type === `${prefixOf(store)}_search_organic`)
          const count = (list: Json[]) => list.map((_, index) => index + 1)
          assert.deepEqual(
            organic.map(({ rank_group }) => rank_group),
            count(organic),
          )
          assert.deepEqual(
            items.map(({ rank_absolute }) => rank_absolute),
            count(items),
          )
        }
        // As it is sold, there are no others than organic ones.
        const expected = byForm(['bundle', 'organic', 'paid'], ['organic']).map(
          (kind) => `${prefixOf(store)}_search_${kind}`,
        )
        assert.deepEqual([...kinds].sort(), expected)
      }
    },
    client: async ({ client }) => {
      for (const subject of ['yoga', 'puzzle', 'budget', 'fitness']) {
        const outcome = await client.getAppSearches(
          'ios_store',
          await postOne(client, { subject, depth: 60 }),
        )
        assert.ok(outcome.kind === 'done' && outcome.result)
        const { items, itemsCount } = outcome.result
        assert.deepEqual(
          items.map(({ rank }) => rank),
          Array.from({ length: 60 }, (_, index) => index + 1),
        )
        assert.ok(items.every(({ rank, absolute }) => absolute >= rank && absolute <= itemsCount))
      }
    },
  },
)
covers('notes.app_list_advanced_result', 'a chart is a search with the collection for a keyword', {
  fetch: async (world) => {
    const base = '/v3/app_data/android_store/app_list'
    const chart = { keyword: undefined, app_collection: 'topgrossing', depth: 40 }
    const { id } = await postWire(world, chart, `${base}/task_post`)
    const [{ keyword, items }] = (await world.get(`${base}/task_get/advanced/${id}`)).tasks[0].result
    assert.deepEqual([keyword, items.length], ['topgrossing', 40])
    const type = byForm('android_store_list_organic', 'google_play_search_organic')
    assert.ok(items.every((each: Json) => each.type === type))
  },
  client: async ({ client }) => {
    const id = await postOne(client, { subject: 'topgrossing', depth: 40 }, ['android_store', 'app_list'])
    const outcome = await client.getAppList('android_store', id)
    assert.ok(outcome.kind === 'done' && outcome.result)
    assert.deepEqual([outcome.result.collection, outcome.result.items.at(-1)?.rank], ['topgrossing', 40])
  },
})
// Time

covers(
  'notes.asked_for_too_early',
  'it is handed over, then queued, then there',
  bySide(
    async (world, side) => {
      const [{ id = '' } = {}] = await ASK[side].post(world, [{}])
      const codeAfter = (ms: number) => {
        world.clock.nowMs += ms
        return ASK[side].fetch(world, id)
      }
      assert.deepEqual(
        [await codeAfter(0), await codeAfter(3000), await codeAfter(7000)],
        ['40601', '40602', '20000'],
      )
    },
    { readyMs: 10_000 },
  ),
)
covers('notes.unknown_id', 'is not found', {
  fetch: async (world) => {
    const [task] = (await world.get(`${SEARCH}/task_get/advanced/no-such-id`)).tasks
    assert.deepEqual(
      [task.status_code, task.status_message, task.result, task.data.id],
      [40401, 'Task Not Found.', null, 'no-such-id'],
    )
  },
  client: {
    file: 'test/collect/fetch.test.ts',
    test: 'that the service does not find stays open, is asked for daily, and is shown',
  },
})
covers('notes.pace_of_completion', 'is a second or two, and half of it for high priority', {
  fetch: async (_world, t) => {
    assert.equal(Options.parse({}).readyMs, 2000)
    const world = await openWorld(t, { readyMs: 10_000 })
    const posted = Array.from({ length: 40 }, (_, index) => wireTask({ priority: 1 + (index % 2) }))
    const { tasks } = await world.post(`${SEARCH}/task_post`, posted)
    const doneAfter = async (ms: number) => {
      world.clock.nowMs += ms
      const rows: Json[] = (await world.get(`${SEARCH}/tasks_ready`)).tasks[0].result ?? []
      const priorityOf = (id: string) => tasks.find((each: Json) => each.id === id).data.priority
      return rows.map(({ id }) => priorityOf(id))
    }
    assert.ok((await doneAfter(4999 + byForm(0, 1000))).every((priority) => priority === 2))
    assert.equal((await doneAfter(1)).filter((priority) => priority === 2).length, 20)
    assert.equal((await doneAfter(5000)).length, 40)
  },
  client: {
    file: 'test/collect/enqueue-results.test.ts',
    test: 'is asked for by its id, by one at a time, and each time twice as late, at most a day',
  },
})
