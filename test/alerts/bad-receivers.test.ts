/**
 * Receivers that hang, answer 500 for a day or redirect stop nobody else, and get what they missed when they
 * are well again.
 */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { createDeliveries, NEW, receive } from '../support/deliveries.ts'
import { lasting } from '../support/lasting.ts'
import type { Receiver } from '../support/receivers.ts'

/** Attempts of a day: each hour at the latest. */
const HOURS = 24

const world = lasting(createDeliveries)
beforeEach(() => world.reset())

/**
 * The hours of which a receiver was told, by a receiver that verifies each message and drops an id that it
 * has seen.
 */
function hoursOf({ received }: Receiver): number[] {
  const webhook = new Webhook(NEW)
  const bodies = new Map<string, string>()
  for (const { headers, body } of received) {
    webhook.verify(body, headers as Record<string, string>)
    bodies.set(String(headers['webhook-id']), body)
  }
  return [...bodies.values()].flatMap((body) =>
    JSON.parse(body).data.lines.map(({ detail }: { detail: { hour: number } }) => detail.hour),
  )
}

test('one that hangs, one that answers 500 for a day and one that redirects stop nobody else', async (t) => {
  const { sql } = world.db
  let isWell = false
  const well = await receive(t)
  const location = well.url
  const receivers = {
    hangs: await receive(t, (_, response) => isWell && response.writeHead(204).end()),
    broken: await receive(t, (_, response) => response.writeHead(isWell ? 204 : 500).end()),
    redirects: await receive(t, (_, response) => response.writeHead(isWell ? 204 : 307, { location }).end()),
    well,
  }
  for (const [name, { url }] of Object.entries(receivers)) {
    await world.addChannel({ name, address: url })
    await world.addRule({ name, channel: name })
  }
  const [hanging] = await sql<{ id: number }[]>`select id from alert_channel where name = 'hangs'`
  const stopping = new AbortController()
  let hung: Promise<unknown> | undefined
  const lookAndDeliver = async () => {
    await world.isDueNow()
    const ids = await world.gather()
    const others = isWell ? ids : ids.filter((id) => id !== hanging?.id)
    // One delivery of a channel at a time, as the queue has it.
    if (!isWell) hung ??= world.deliver(hanging?.id ?? 0, {}, stopping.signal).catch(() => 'stopped')
    await Promise.all(others.map((id) => world.deliver(id)))
  }
  for (let hour = 0; hour < HOURS; hour += 1) {
    await sql`
      insert into alert_event (rule_id, subject, slot, kind, severity, detail)
      select id, 'track', timestamptz '2026-03-01' + make_interval(hours => ${hour}::int), kind, severity,
        jsonb_build_object('job', 'track', 'hour', ${hour}::int) from alert_rule`
    await lookAndDeliver()
    assert.equal(hoursOf(well).length, hour + 1, 'the others are told at once')
  }
  assert.equal(receivers.broken.received.length, HOURS, 'only the oldest message is tried, once an hour')
  stopping.abort()
  await hung
  isWell = true
  await lookAndDeliver()
  const all = Array.from({ length: HOURS }, (_, hour) => hour)
  for (const receiver of Object.values(receivers)) assert.deepEqual(hoursOf(receiver), all)
  const states = await sql`select state, count(*)::int from alert_message group by 1`
  assert.deepEqual([...states], [{ state: 'delivered', count: 4 * HOURS }])
})
