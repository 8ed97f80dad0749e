/** What a channel lacks is told, and goes when it is mended; what was told stays told when it is deleted. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { recordTest } from '../../src/alerts/deliver.ts'
import type { Database } from '../../src/db/database.ts'
import { UnavailableError } from '../../src/errors.ts'
import { createDeliveries, type Deliveries, receive } from '../support/deliveries.ts'

let world: Deliveries
let db: Database
before(async () => {
  world = await createDeliveries()
  db = world.db
})
after(() => world.close())
beforeEach(() => world.reset())

describe('a channel', () => {
  const failing = async () => {
    const id = await world.addChannel({ address: 'https://example.com' })
    await world.addRule()
    await world.addEvent('track')
    await world.gather()
    const send = () => Promise.reject(new UnavailableError('not now'))
    await world.deliver(id, { send })
    return { id, send }
  }

  test('whose receiver took a test has no problem any more, and tries at once what waits', async () => {
    const { id, send } = await failing()
    await db.sql`update alert_message set created_at = clock_timestamp() - interval '4 days', next_at = clock_timestamp()`
    await world.deliver(id, { send })
    await world.addEvent('collect')
    await world.gather()
    await world.deliver(id, { send })
    assert.deepEqual(await world.problems(), ['delivery_dead', 'delivery_failing'])
    const [failure] = await db.sql`select message from watch_problem where problem = 'delivery_failing'`
    assert.match(
      failure?.message,
      /^1 message waits for the channel "ops"\. The last attempt failed: not now\. It is tried until .*: storerank alerts test ops\.$/,
    )
    assert.deepEqual(await world.gather(), [])
    assert.equal(await recordTest(db, id), 1)
    assert.deepEqual(await world.gather(), [id])
    assert.equal(await world.deliver(id, { send: async () => null }), 1)
    assert.deepEqual(await world.problems(), [])
  })

  test('whose message storerank cannot write says so, and is not kept waiting for ever', async () => {
    const id = await world.addChannel({ address: 'https://example.com' })
    await world.addRule()
    await world.addEvent('track')
    await world.gather()
    const send = () => Promise.reject(new RangeError('Invalid string length'))
    await world.deliver(id, { send })
    assert.deepEqual(await world.states(), [
      'pending 1 storerank could not write the message: Invalid string length.',
    ])
    await db.sql`update alert_message set created_at = clock_timestamp() - interval '4 days', next_at = clock_timestamp()`
    await world.deliver(id, { send })
    assert.match((await world.states())[0] ?? '', /^dead /)
  })

  test('of a project that is disabled is told of nothing that goes by the clock', async () => {
    await world.addChannel({ address: 'https://example.com', digest: 'daily' })
    await world.addRule({ kind: 'outage', threshold: null })
    await db.sql`
      insert into service_status (api, endpoint, status, since, checked_at)
      values ('app_data', '', 'major_outage', clock_timestamp(), clock_timestamp())`
    await db.sql`update project set enabled = false`
    assert.deepEqual(await world.gather(), [])
    assert.equal((await db.sql`select from alert_event`).length, 0)
    await db.sql`update project set enabled = true`
    assert.equal((await world.gather()).length, 1)
    assert.equal((await db.sql`select from alert_event`).length, 1)
  })
})

describe('a channel that is deleted', () => {
  test('has told what it told: no other channel tells it again', async (t) => {
    const first = await receive(t)
    const second = await receive(t)
    const id = await world.addChannel({ address: first.url })
    await world.addRule()
    await world.addEvent('told')
    await world.gather()
    await world.deliver(id)
    await world.addEvent('waits')
    await world.gather()
    const other = await world.addChannel({ name: 'other', address: second.url })
    await db.sql`update alert_rule set channel = 'other'`
    await db.sql`delete from alert_channel where name = 'ops'`
    await world.addEvent('new')
    assert.deepEqual(await world.gather(), [other])
    await world.deliver(other)
    assert.deepEqual(
      second.received.flatMap(({ body }) =>
        JSON.parse(body).data.lines.map((line: { detail: { job: string } }) => line.detail.job),
      ),
      ['new'],
    )
    assert.deepEqual(await world.states(), ['delivered 1', 'dead 0 The channel was deleted.', 'delivered 1'])
  })
})
