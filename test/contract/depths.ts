/** Rows of depth and price: how many results each function gives, what they cost, and what its tasks hold. */

import assert from 'node:assert/strict'
import type { AppDataClient } from '../../src/service/client.ts'
import { billingUnits, findRule, type ServiceFunction } from '../../src/service/functions.ts'
import type { Json } from '../sandbox/caller.ts'
import { ask, envelope, taskWith } from '../service/wire-server.ts'
import { ASK } from './ask.ts'
import { bySide, covers, type Otherwise, type Side } from './covers.ts'
import { byForm } from './form.ts'
import type { Store } from './paths.ts'
import { postOne, postWire, type World } from './world.ts'

type DepthRow = readonly [
  store: Store,
  fn: ServiceFunction,
  depth: readonly number[],
  usd: number,
  subject: Readonly<Record<string, string>>,
]
/** Default, maximum and billing unit, and the price of a unit in dollars. */
const DEPTHS = [
  ['ios_store', 'app_searches', [100, 700, 100], 0.0012, { keyword: 'yoga' }],
  ['android_store', 'app_searches', [30, 200, 30], 0.0012, { keyword: 'yoga' }],
  ['android_store', 'app_list', [100, 200, 100], 0.0012, { app_collection: 'topgrossing' }],
  ['ios_store', 'app_reviews', byForm([50, 500, 50], [25, 500, 25]), 0.00075, { app_id: '1480010017' }],
] as const satisfies readonly DepthRow[]
const micros = (usd: number): number => Math.round(usd * 1_000_000)
/** A subject, and no keyword beside it. */
const alone = (subject: Readonly<Record<string, string>>) => ({ keyword: undefined, ...subject })

for (const [store, fn, [standard, maximum, unit], usd, subject] of DEPTHS) {
  const path = `/v3/app_data/${store}/${fn}/task_post`
  // The client learns the unit from what it is charged.
  const byUnit: Otherwise = fn === 'app_reviews' ? { client: ['units'] } : []
  covers(
    'notes.depth_rules',
    `${fn} of ${store} fetches ${standard}, at most ${maximum}`,
    {
      fetch: async (world) => {
        const post = (depth?: number) => postWire(world, { ...alone(subject), ...(depth && { depth }) }, path)
        assert.equal((await post()).data.depth, standard)
        assert.equal((await post(maximum)).status_code, 20100)
        assert.equal((await post(maximum + 1)).status_code, 40501)
      },
      client: async (world) => {
        const rule = findRule(store, fn)
        assert.deepEqual(
          [rule?.defaultDepth, rule?.maximumDepth, rule?.billingUnitResults, rule?.unitCostMicros],
          [standard, maximum, unit, micros(usd)],
        )
        assert.equal(rule?.source, fn === 'app_searches' && store === 'ios_store' ? 'spec' : 'assumed')
        const { client } = world
        const one = { subject: Object.values(subject)[0] ?? '' }
        await postOne(client, { ...one, depth: maximum }, [store, fn])
        await assert.rejects(postOne(client, { ...one, depth: maximum + 1 }, [store, fn]), /depth must be/)
      },
    },
    byUnit,
  )
  const checkRounding = async (world: World, side: Side) => {
    const depths = [1, unit, unit + 1, maximum]
    const tasks = depths.map((depth) => ({ ...alone(subject), depth }))
    const answers = await ASK[side].post(world, tasks, [store, fn])
    for (const [index, depth] of depths.entries()) {
      const units = Math.ceil(depth / unit)
      assert.equal(answers[index]?.cost, units * micros(usd), `depth ${depth}`)
      if (side === 'client') assert.equal(billingUnits(store, fn, depth), units)
    }
  }
  covers(
    'notes.rounding_of_the_billing_unit',
    `${fn} of ${store} costs $${usd} for each ${unit} begun`,
    bySide(checkRounding),
    byUnit,
  )
}
covers('notes.depth_rules', 'app_info has none', {
  fetch: async (world) => {
    const path = '/v3/app_data/ios_store/app_info/task_post'
    const { data, cost } = await postWire(world, alone({ app_id: '1480010017' }), path)
    assert.deepEqual([data.depth, cost], [undefined, 0.0006])
  },
  client: async ({ client }) => {
    const deep = { subject: '1480010017', depth: 10 }
    await assert.rejects(postOne(client, deep, ['ios_store', 'app_info']), /app_info of ios_store has none/)
  },
})
covers('notes.task_post_of_android', 'a postback may hold pages, and each function has its own subject', {
  fetch: async (world) => {
    const hook = { postback_url: 'http://127.0.0.1:9/', postback_data: 'html' }
    const codeOf = async (kind: string, fields: Json): Promise<number> =>
      (await postWire(world, { ...fields, ...hook }, `/v3/app_data/${kind}/task_post`)).status_code
    const keyword = undefined
    assert.equal(await codeOf('android_store/app_searches', {}), 20100)
    assert.equal(await codeOf('android_store/app_info', { keyword, app_id: 'com.ashlune.yoga' }), 20100)
    assert.equal(await codeOf('android_store/app_list', { keyword, app_collection: 'topgrossing' }), 20100)
    const chart = { keyword, app_collection: 'topgrossing', app_category: 'game' }
    assert.equal(await codeOf('android_store/app_list', chart), 20100)
    assert.equal(await codeOf('android_store/app_list', { ...chart, app_category: 'games' }), 40501)
    assert.equal(await codeOf('android_store/app_list', { ...chart, app_collection: 'Top Free!' }), 40501)
    assert.equal(await codeOf('android_store/app_searches', { location_code: 21137 }), 20100)
    assert.equal(await codeOf('ios_store/app_reviews', { keyword, app_id: '1480010017' }), 40501)
    for (const kind of ['android_store/app_info', 'android_store/app_list', 'ios_store/app_reviews']) {
      assert.equal(await codeOf(kind, {}), 40501, `${kind} takes no keyword`)
    }
  },
  client: async ({ client }) => {
    const hook = { postbackUrl: 'http://127.0.0.1:9/', postbackData: 'html' } as const
    await postOne(client, hook, ['android_store', 'app_searches'])
    await postOne(client, { ...hook, subject: 'com.ashlune.yoga' }, ['android_store', 'app_info'])
    const chart = { ...hook, subject: 'topgrossing', category: 'game' }
    await postOne(client, chart, ['android_store', 'app_list'])
    const reviews = { ...hook, subject: '1480010017' }
    await assert.rejects(
      postOne(client, reviews, ['ios_store', 'app_reviews']),
      /postback_data must be advanced/,
    )
  },
})
covers('notes.priority', 'doubles the price of every function, and numbers may come back as text', {
  fetch: async (world) => {
    const kinds = [...DEPTHS, ['ios_store', 'app_info', [], 0.0006, { app_id: '1480010017' }]] as const
    for (const [store, fn, , usd, subject] of kinds) {
      const path = `/v3/app_data/${store}/${fn}/task_post`
      const depth = fn === 'app_info' ? {} : { depth: 1 }
      const { cost } = await postWire(world, { ...alone(subject), ...depth, priority: 2 }, path)
      assert.equal(micros(cost), 2 * micros(usd))
    }
  },
  client: async (_world, t) => {
    const texts = { depth: '300', location_code: '2840', priority: '2' }
    const page = { items: [], items_count: '0', datetime: '2026-10-15 12:00:00 +00:00' }
    const answer = envelope([taskWith([page], { data: texts })])
    const look = (client: AppDataClient) => client.getAppSearches('ios_store', 'id-1')
    const { value } = await ask(t, answer, look)
    assert.ok(value.kind === 'done')
    assert.deepEqual([value.data.depth, value.data.locationCode, value.data.priority], [300, 2840, 2])
  },
})
