/** That an outage is over is told to those who were told that it began. */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { UnavailableError } from '../../src/errors.ts'
import { column } from '../support/database.ts'
import { createDeliveries } from '../support/deliveries.ts'
import { lasting } from '../support/lasting.ts'

const world = lasting(createDeliveries)
let id: number
let told: string[][]
beforeEach(async () => {
  await world.reset()
  told = []
  id = await world.addChannel({ address: 'https://example.com' })
})

/** One look after the service has reported a status from an hour of the day on. */
async function look(status: string, hour: number, isWell = true): Promise<void> {
  await world.sql`
    insert into service_status (api, endpoint, status, since)
    values ('app_data', '', ${status}, timestamptz '2026-03-01 00:00+00'
      + make_interval(hours => ${hour}::integer))
    on conflict (api, endpoint) do update set status = excluded.status, since = excluded.since`
  await world.gather()
  await world.deliver(id, {
    send: async (_channel, { content }) => {
      if (!isWell) throw new UnavailableError('not now')
      told.push(content.lines.map(({ severity, text }) => `${severity}: ${text}`))
      return null
    },
  })
}

const BEGAN = 'critical: The service reports a major outage (all).'
const over = (hour: string) =>
  `info: The major outage of the service that began 2026-03-01 ${hour}:00 UTC is over.`
const addRule = (fields = {}) =>
  world.addRule({ name: 'out', kind: 'outage', threshold: null, severity: 'critical', ...fields })

test('once, within the cooldown too; of an outage that begins within it neither end', async () => {
  await addRule({ cooldown: '6 hours' })
  await look('major_outage', 2)
  await look('major_outage', 2)
  await look('ok', 3)
  await look('ok', 3)
  await look('major_outage', 5)
  await look('ok', 10)
  await look('major_outage', 12)
  await look('ok', 13)
  assert.deepEqual(told, [[BEGAN], [over('02')], [BEGAN], [over('12')]])
  const held = await world.sql`select held_back from alert_event where held_back is not null order by slot`
  assert.deepEqual(column(held, 'held_back'), ['cooldown', 'beginning'])
})

test('not where the beginning was not told: without a channel, or given up', async () => {
  await addRule({ channel: null })
  await look('major_outage', 2)
  await world.sql`update alert_rule set channel = 'ops'`
  await look('ok', 3)
  await look('major_outage', 5, false)
  await world.sql`update alert_message set give_up_at = clock_timestamp(), next_at = clock_timestamp()
    where state = 'pending'`
  await look('major_outage', 5, false)
  await look('ok', 6)
  assert.deepEqual(told, [])
  const states = await world.sql`select state from alert_history order by slot`
  assert.deepEqual(column(states, 'state'), ['channel', 'beginning', 'dead', 'beginning'])
})

test('in one digest with the beginning', async () => {
  await world.sql`update alert_channel set digest = 'daily', hour = 8`
  await addRule()
  await look('major_outage', 2)
  await world.sql`delete from alert_message`
  await world.sql`update alert_event set message_id = null`
  await look('send_delay', 3)
  assert.deepEqual(told.at(-1), [BEGAN, `${over('02').slice(0, -1)}; it still reports: send delay.`])
})
