/**
 * Rows of docs/service.md on accounts, trouble and money: what is refused, what is charged, what is never
 * trusted.
 */

import assert from 'node:assert/strict'
import type { FaultSettingsInput } from '../../src/sandbox/faults.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import { DAY_MS, type Json, stamp } from '../sandbox/caller.ts'
import { ask, envelope } from '../service/wire-server.ts'
import { ASK } from './ask.ts'
import { bySide, covers } from './covers.ts'
import { byForm } from './form.ts'
import {
  listHere,
  openWorld,
  post,
  postOne,
  postWire,
  presentOf,
  readMoney,
  soon,
  task,
  type World,
  wireTask,
} from './world.ts'

const SEARCH = '/v3/app_data/ios_store/app_searches'

covers('notes.account', 'one that was never verified is refused with HTTP 200 and no tasks', {
  world: { verified: false },
  fetch: async (world) => {
    const response = await world.fetch('/v3/appendix/errors')
    const { status_code, tasks } = (await response.json()) as Json
    assert.deepEqual([response.status, status_code, tasks], [200, 40104, null])
    assert.equal((await world.post(`${SEARCH}/task_post`, [wireTask()])).status_code, 40104)
  },
  client: async ({ client }) => {
    // As it is sold, the account is shown all the same.
    const shown = client.getUserData().then(
      () => 'shown',
      ({ code }) => code,
    )
    assert.equal(await shown, byForm('account', 'shown'))
    const outcome = await post(client, [task()])
    assert.equal(outcome.kind === 'refused' && outcome.cause, 'account')
  },
})

// Trouble

/**
 * Trouble that strikes once: a GET comes through all the same, and a post may or may not have done its work.
 */
const TROUBLES: readonly (readonly [name: string, faults: FaultSettingsInput])[] = [
  ['HTTP 500', { http500: { times: 1, when: 'before' } }],
  ['an internal code', { internalCode: { times: 1, when: 'before' } }],
  ['a connection reset before the work', { reset: { times: 1, when: 'before' } }],
  ['a connection reset after the work', { reset: { times: 1, when: 'after' } }],
  ['a lost answer', { lost: { times: 1 } }],
  ['half a body', { halfBody: { times: 1 } }],
  ['a body that is not JSON', { notJson: { times: 1, when: 'after' } }],
]
/** What plain fetch makes of an answer in trouble. */
const seeTrouble = async (world: World): Promise<string> => {
  try {
    const response = await world.fetch('/v3/appendix/errors')
    const body = await response.text()
    return `${response.status} ${JSON.parse(body).status_code}`
  } catch {
    return 'no answer to read'
  }
}
const SEEN: Readonly<Record<string, RegExp>> = {
  'HTTP 500': /^500 50000$/,
  'an internal code': /^200 (50000|50301|50401)$/,
}
for (const [name, faults] of TROUBLES) {
  covers('notes.server_trouble', `${name} passes for a GET, and leaves a post unknown`, {
    world: { faults },
    fetch: async (world) => {
      assert.match(await seeTrouble(world), SEEN[name] ?? /^no answer to read$/)
      assert.equal(await seeTrouble(world), '200 20000')
    },
    client: async (world) => {
      assert.equal((await world.client.listErrors()).length, byForm(46, 44))
      await world.setFaults(faults)
      const outcome = await post(world.client, [task()])
      assert.equal(outcome.kind, 'unknown')
    },
  })
}

// Posts

covers(
  'notes.invalid_task_in_a_batch',
  'fails alone, with the name of its field',
  bySide(async (world, side) => {
    const answers = await ASK[side].post(world, [{}, { language_code: 'xx' }, {}])
    assert.deepEqual(
      answers.map(({ said, cost }) => `${said} ${cost}`),
      ['20100 Task Created. 1200', "40501 Invalid Field: 'language_code'. 0", '20100 Task Created. 1200'],
    )
  }),
)
covers('notes.duplicates', 'are created and charged again, and told apart by their ids', {
  world: { balanceUsd: 1 },
  fetch: async (world) => {
    const { tasks } = await world.post(`${SEARCH}/task_post`, [
      wireTask({ tag: 'same' }),
      wireTask({ tag: 'same' }),
    ])
    assert.notEqual(tasks[0].id, tasks[1].id)
    assert.equal((await readMoney(world)).balance, 1 - 0.0024)
  },
  client: async (world) => {
    const ids = [await postOne(world.client, { tag: 'same' }), await postOne(world.client, { tag: 'same' })]
    world.later()
    const rows = await listHere(world)
    assert.deepEqual(rows.map(({ id, tag }) => `${id} ${tag}`).sort(), ids.map((id) => `${id} same`).sort())
    await assert.rejects(post(world.client, [task(), task()]), /a tag comes twice/)
  },
})
covers('notes.missing_or_additional_answers', 'there are as many answers as tasks', {
  fetch: async (world) => {
    const posted = [wireTask({ tag: 'a' }), null, 7, wireTask({ tag: 'b' })]
    const { tasks } = await world.post(`${SEARCH}/task_post`, posted)
    assert.deepEqual(
      tasks.map((each: Json) => each.data.tag),
      ['a', undefined, undefined, 'b'],
    )
    assert.deepEqual(
      tasks.map((each: Json) => each.status_code),
      [20100, 40501, 40501, 20100],
    )
  },
  client: async (_world, t) => {
    const created = (id: string, tag: string) => ({
      id,
      status_code: 20100,
      cost: 0.0012,
      result: null,
      data: { tag },
    })
    const send = (client: AppDataClient) =>
      client.postTasks('ios_store', 'app_searches', [task({ tag: 'a' }), task({ tag: 'b' })], soon())
    const { value } = await ask(
      t,
      envelope([created('1', 'a'), created('2', 'stranger'), created('3', 'a')]),
      send,
    )
    assert.ok(value.kind === 'answered')
    assert.deepEqual(
      value.answers.map(({ tag, serviceId }) => `${tag} ${serviceId}`),
      ['a 1', 'stranger 2', 'a 3'],
    )
  },
})
covers('notes.tasks_error_cost_tasks_count', 'are right, and not what anything is decided by', {
  fetch: async (world) => {
    const posted = [wireTask(), wireTask({ depth: 701 }), wireTask({ depth: 300, priority: 2 })]
    const { cost, tasks_count, tasks_error } = await world.post(`${SEARCH}/task_post`, posted)
    assert.deepEqual([cost, tasks_count, tasks_error], [0.0084, 3, 1])
  },
  client: async (_world, t) => {
    const answer = { id: '1', status_code: 20100, cost: 0.0012, result: null, data: { tag: 'contract' } }
    const send = (client: AppDataClient) => client.postTasks('ios_store', 'app_searches', [task()], soon())
    // The envelope of the wire server says one task, no error and no cost, whatever stands in it.
    const { value } = await ask(t, envelope([answer, { ...answer, id: '2', data: { tag: 'b' } }]), send)
    assert.ok(value.kind === 'answered')
    assert.deepEqual(
      value.answers.map(({ costMicros }) => costMicros),
      [1200, 1200],
    )
  },
})
covers('notes.tag_that_is_not_ours', 'rows have the tag that was posted, or none', {
  world: {},
  fetch: async (world) => {
    await postWire(world, { tag: 'theirs' })
    await postWire(world)
    world.later()
    const rows: Json[] = (await world.get(`${SEARCH}/tasks_ready`)).tasks[0].result
    assert.deepEqual(rows.map(({ tag }) => tag).sort(), ['theirs', null].sort())
  },
  client: {
    file: 'test/collect/enqueue-results.test.ts',
    test: 'never make anybody fetch what another program bought, or what nobody knows',
  },
})

// Charges

covers('notes.refunds', 'a search is charged for what it returned, and the rest comes back when it is done', {
  fetch: async (_world, t) => {
    const world = await openWorld(t, { readyMs: 3000, idListsPerMinute: 100 })
    const { id, cost } = await postWire(world, { depth: 700 })
    world.later()
    assert.equal(cost, 0.0084)
    const costIn = async () => {
      const range = { datetime_from: stamp(world.clock.nowMs - DAY_MS), datetime_to: stamp(presentOf(world)) }
      return (await world.post('/v3/app_data/id_list', [range])).tasks[0].result[0].cost
    }
    assert.equal(await costIn(), 0.0084)
    world.clock.nowMs += 2000
    const { items } = (await world.get(`${SEARCH}/task_get/advanced/${id}`)).tasks[0].result[0]
    assert.ok(items.length < 600)
    assert.equal(await costIn(), (Math.ceil(items.length / 100) * 1200) / 1_000_000)
  },
  client: async (_world, t) => {
    const world = await openWorld(t, { readyMs: 1000 })
    await postOne(world.client, { depth: 700 })
    world.later()
    const [row] = await listHere(world)
    assert.equal(row?.costMicros, 3600)
    assert.equal((await world.client.getUserData()).balanceMicros, 1_000_000_000 - 3600)
  },
})
covers('notes.user_data_layout', 'money and prices stand in the rates, and may stand beside them', {
  fetch: async (world) => {
    const [record] = (await world.get('/v3/appendix/user_data')).tasks[0].result
    const beside = [
      'money',
      'price',
      'backlinks_subscription_expiry_date',
      'llm_mentions_subscription_expiry_date',
    ]
    assert.deepEqual(Object.keys(record), ['login', 'timezone', 'rates', ...byForm([], beside)])
    assert.deepEqual(Object.keys(record.rates), ['limits', 'statistics', ...byForm(['money', 'price'], [])])
  },
  client: { file: 'test/service/account.test.ts', test: 'money and prices may stand beside the rates' },
})
covers('notes.user_data_layout', 'a limit that is missing is none that is known', {
  fetch: { because: 'The sandbox leaves no limit out.' },
  client: {
    file: 'test/service/account.test.ts',
    test: 'what is missing or of another kind is not known, and no error',
  },
})
