/** What a channel lacks is told, and goes when it is mended; what was told stays told when it is deleted. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import type { Content } from '../../src/alerts/content.ts'
import type { DeliveryDeps } from '../../src/alerts/deliver.ts'
import { RejectedError, UnavailableError } from '../../src/errors.ts'
import { column } from '../support/database.ts'
import { createDeliveries, receive } from '../support/deliveries.ts'
import { lasting } from '../support/lasting.ts'

const world = lasting(createDeliveries)
beforeEach(() => world.reset())

/** A receiver that takes all, and what it was told. */
function collect<Told>(of: (content: Content, id: string) => Told) {
  const told: Told[] = []
  const send: DeliveryDeps['send'] = async (_channel, { id, content }) => {
    told.push(of(content, id))
    return null
  }
  return { told, send }
}

test('a project that cannot be looked at is an error, and keeps no other from being told', async (t) => {
  const id = await world.addChannel({ address: 'https://example.com' })
  await world.addRule()
  await world.addEvent('track')
  await world.sql`insert into project (name) values ('broken')`
  await world.sql`insert into alert_rule (project, name, kind, threshold)
    values ('broken', 'moved', 'rank_moved', 1)`
  await world.sql`insert into alert_due (project_id, slot, target_ids)
    select id, date_trunc('day', now()), '{1}' from project where name = 'broken'`
  await world.sql`
    create function refuse_to_look() returns trigger language plpgsql as $$ begin raise 'broken'; end $$`
  await world.sql`create trigger refuse before delete on alert_due
    for each row execute function refuse_to_look()`
  t.after(() => world.sql`drop function refuse_to_look() cascade`)
  await assert.rejects(world.gather(), /broken/)
  assert.deepEqual(await world.states(), ['pending 0'])
  assert.equal(await world.deliver(id, { send: async () => null }), 1)
})

test('what waits for a digest is kept while its channel is disabled, and no new event is', async () => {
  const id = await world.addWaiting({ address: 'https://example.com', digest: 'weekly' })
  await world.sql`update alert_channel set enabled = false`
  await world.addEvent('collect')
  await world.gather()
  await world.sql`update alert_channel set enabled = true`
  await world.gather()
  const { told, send } = collect(({ lines }) => lines.length)
  await world.deliver(id, { send })
  assert.ok(told.includes(1))
  const held = await world.sql`select subject from alert_event where held_back = 'channel'`
  assert.deepEqual(column(held, 'subject'), ['collect'])
})

test('a project that names a channel has digests without a rule, less what it leaves out', async () => {
  const money = { digest: 'monthly', hour: 0, without: ['money'] }
  const id = await world.addChannel({ address: 'https://example.com', ...money })
  const { told, send } = collect(({ summary }) => summary)
  assert.deepEqual(await world.gather(), [])
  await assert.rejects(
    Promise.resolve(world.sql`update project set digest_channel = 'opps'`),
    /There is no channel "opps"\. Did you mean ops\?/,
  )
  await world.sql`update project set digest_channel = 'ops'`
  assert.deepEqual(await world.gather(), [id])
  const [digest] = await world.sql<{ day: number }[]>`
    select extract(day from digest_at at time zone 'Asia/Tokyo')::integer as day from alert_message`
  assert.equal(digest?.day, 1)
  assert.equal(await world.deliver(id, { send }), 1)
  assert.deepEqual(told, [['Nothing yet: There is nothing to rank: watch a keyword or a chart, and an app.']])
  assert.deepEqual(await world.problems(), [])
  await world.sql`update alert_channel set digest = 'instant'`
  assert.deepEqual(await world.problems(), ['digest_without_time'])
})

describe('a channel', () => {
  const failing = async () => {
    const id = await world.addWaiting({ address: 'https://example.com' })
    const send = () => Promise.reject(new UnavailableError('not now'))
    await world.deliver(id, { send })
    return { id, send }
  }

  test('whose receiver took a test has no problem any more, and tries at once what waits', async () => {
    const { id, send } = await failing()
    await world.sql`update alert_message set give_up_at = clock_timestamp(), next_at = clock_timestamp()`
    await world.deliver(id, { send })
    await world.addEvent('collect')
    await world.gather()
    await world.deliver(id, { send })
    assert.deepEqual(await world.problems(), ['delivery_dead', 'delivery_failing'])
    const [failure] = await world.sql`select message from watch_problem where problem = 'delivery_failing'`
    assert.match(
      failure?.message,
      /^1 message waits for the channel "ops"\. The last attempt failed: not now\. It is tried next at 20/,
    )
    assert.match(failure?.message, / UTC, and given up after 20\d\d-.* UTC: .*: storerank alerts test ops\.$/)
    assert.deepEqual(await world.gather(), [])
    await world.sql`update alert_channel set tested_at = clock_timestamp()`
    assert.deepEqual(await world.gather(), [id])
    assert.equal(await world.deliver(id, { send: async () => null }), 1)
    assert.deepEqual(await world.problems(), [])
  })

  test('whose receiver says when to try again is left alone until then, a day at most', async (t) => {
    const wishes = ['7200', '864000', '5', 'soon', new Date(Date.now() + 3 * 3_600_000).toUTCString()]
    const receiver = await receive(t, (_, response) =>
      response.writeHead(503, { 'retry-after': wishes[0] ?? '' }).end(),
    )
    const id = await world.addWaiting({ address: receiver.url })
    const hours: number[] = []
    while (wishes.length > 0) {
      await world.isDueNow()
      await world.deliver(id)
      const [row] = await world.sql`
        select round(extract(epoch from next_at - clock_timestamp()) / 3600, 1)::float8 as hours
          from alert_message`
      hours.push(row?.hours)
      wishes.shift()
    }
    assert.deepEqual(hours, [2, 24, 0.1, 0.1, 3])
    assert.deepEqual(await world.states(), [
      'pending 5 The receiver answered HTTP 503. See its own log. It says when to try again.',
    ])
  })

  test('whose receiver wants no more is disabled; enabled again it has what waited', async (t) => {
    let status = 410
    const receiver = await receive(t, (_, response) => response.writeHead(status).end())
    const id = await world.addChannel({ address: receiver.url })
    await world.addRule()
    for (const subject of ['track', 'collect']) {
      await world.addEvent(subject)
      await world.gather()
    }
    await world.deliver(id)
    assert.equal(receiver.received.length, 1)
    assert.equal((await world.sql`select from alert_channel where enabled`).length, 0)
    await world.isDueNow()
    assert.deepEqual(await world.gather(), [])
    assert.equal(await world.deliver(id), 0)
    const [problem, ...others] = await world.sql`select problem, message from watch_problem`
    assert.deepEqual([problem?.problem, others], ['receiver_gone', []])
    assert.equal(
      problem?.message,
      'The channel "ops" was disabled. The receiver answered HTTP 410 (Gone): it wants no more ' +
        'messages. Correct its address and enable the channel, ' +
        "which sends what waits: update alert_channel set enabled = true where name = 'ops'; or take " +
        'it out of the rules: ' +
        "update alert_rule set channel = null where channel = 'ops'.",
    )
    status = 204
    await world.sql`update alert_channel set enabled = true`
    assert.deepEqual(await world.gather(), [id])
    assert.deepEqual(await world.problems(), ['delivery_failing'])
    assert.equal(await world.deliver(id), 2)
    assert.deepEqual(await world.problems(), [])
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    assert.deepEqual([ids.length, new Set(ids).size, ids[0]], [3, 2, ids[1]])
  })

  test('whose address was corrected while the old one answered stays enabled', async () => {
    const id = await world.addWaiting({ address: 'https://example.com/old' })
    const send = async () => {
      await world.sql`update alert_channel set address = 'https://example.com/new'`
      throw new RejectedError('It wants no more.', 410)
    }
    await world.deliver(id, { send })
    assert.deepEqual(await world.gather(), [id])
    assert.equal(await world.deliver(id, { send: async () => null }), 1)
    assert.deepEqual(await world.problems(), [])
  })

  test('whose messages were given up sends them again under their ids, before what came later', async () => {
    const { id, send } = await failing()
    const giveUp = async () => {
      await world.sql`update alert_message set give_up_at = clock_timestamp(), next_at = clock_timestamp()`
      await world.deliver(id, { send })
    }
    await giveUp()
    await world.addEvent('collect')
    await world.gather()
    const again = (from: string) =>
      world.sql`update alert_channel set retry_from = clock_timestamp() - ${from}::interval
        where name = 'ops'`
    await world.sql`update alert_message set ended_at = clock_timestamp() - interval '8 days'
      where state = 'dead'`
    await again('7 days')
    assert.deepEqual(await world.states(), ['dead 2 not now', 'pending 0'])
    await again('9 days')
    assert.deepEqual(await world.states(), ['pending 0', 'pending 0'])
    await world.sql`update alert_message set state = 'dead', ended_at = clock_timestamp()`
    await world.sql`update alert_channel set retry_from = retry_from`
    assert.deepEqual(await world.states(), ['pending 0', 'pending 0'])
    await world.deliver(id, { send })
    assert.deepEqual(await world.states(), ['pending 1 not now', 'pending 0'])
    await world.isDueNow()
    const { told, send: taking } = collect(({ lines }, id) => `${id} ${lines[0]?.detail.job}`)
    await world.deliver(id, { send: taking })
    const messages = await world.sql`select id from alert_message order by created_at`
    assert.deepEqual(told, [`${messages[0]?.id} track`, `${messages[1]?.id} collect`])
  })

  test('whose message storerank cannot write says so, and is not kept waiting for ever', async () => {
    const id = await world.addWaiting({ address: 'https://example.com' })
    const send = () => Promise.reject(new RangeError('Invalid string length'))
    await world.deliver(id, { send })
    assert.deepEqual(await world.states(), [
      'pending 1 storerank could not write the message: Invalid string length.',
    ])
    await world.sql`update alert_message set give_up_at = clock_timestamp(), next_at = clock_timestamp()`
    await world.deliver(id, { send })
    assert.match((await world.states())[0] ?? '', /^dead /)
  })

  test('of a project that is disabled is told of nothing that goes by the clock', async () => {
    await world.addChannel({ address: 'https://example.com', digest: 'daily' })
    await world.addRule({ kind: 'outage', threshold: null })
    await world.sql`
      insert into service_status (api, endpoint, status, since, checked_at)
      values ('app_data', '', 'major_outage', clock_timestamp(), clock_timestamp())`
    await world.sql`update project set enabled = false`
    assert.deepEqual(await world.gather(), [])
    assert.equal((await world.sql`select from alert_event`).length, 0)
    await world.sql`update project set enabled = true`
    assert.equal((await world.gather()).length, 1)
    assert.equal((await world.sql`select from alert_event`).length, 1)
  })
})

describe('a channel that is deleted', () => {
  test('has told what it told: no other channel tells it again', async (t) => {
    const first = await receive(t)
    const second = await receive(t)
    const id = await world.addWaiting({ address: first.url })
    await world.deliver(id)
    await world.addEvent('waits')
    await world.gather()
    const other = await world.addChannel({ name: 'other', address: second.url })
    await world.sql`update alert_rule set channel = 'other'`
    await world.sql`delete from alert_channel where name = 'ops'`
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
