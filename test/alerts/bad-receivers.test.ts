/**
 * Receivers that hang, answer 500 for a day or redirect stop nobody else, and get what they missed when they
 * are well again.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, test } from 'node:test'
import { pino } from 'pino'
import { Webhook } from 'standardwebhooks'
import { deliverChannel } from '../../src/alerts/deliver.ts'
import { runAlerts } from '../../src/alerts/run.ts'
import { sql } from '../../src/db/sql.ts'
import { Secret } from '../../src/secret.ts'
import { openTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { NO_ALERT_SETTINGS } from '../support/message.ts'
import { type Receiver, startReceiver } from '../support/receivers.ts'

const SECRET = `whsec_${randomBytes(24).toString('base64')}`
const settings = {
  ...NO_ALERT_SETTINGS,
  privateHosts: ['127.0.0.1'],
  secrets: new Map([['ALERT_OPS', new Secret(SECRET)]]),
}
const log = pino({ level: 'silent' })
/** Attempts of a day: each hour at the latest. */
const HOURS = 24

const db = lasting(openTestDatabase)
before(async () => {
  await db.sql`insert into project (name) values ('fitness')`
})
async function addReceiver(name: string, receiver: Receiver): Promise<void> {
  const channel = { name, kind: 'webhook', address: receiver.url, secret_variable: 'ALERT_OPS' }
  await db.sql`insert into alert_channel ${sql.row(channel)}`
  const rule = { project: 'fitness', name, kind: 'job_late', threshold: 1, channel: name }
  await db.sql`insert into alert_rule ${sql.row(rule)}`
}

/**
 * The hours of which a receiver was told, by a receiver that verifies each message and drops an id that it
 * has seen.
 */
function hoursOf({ received }: Receiver): number[] {
  const webhook = new Webhook(SECRET)
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
  let isWell = false
  const receivers = {
    hangs: await startReceiver((_, response) => isWell && response.writeHead(204).end()),
    broken: await startReceiver((_, response) => response.writeHead(isWell ? 204 : 500).end()),
    redirects: await startReceiver((_, response) => {
      response.writeHead(isWell ? 204 : 307, { location: receivers.well.url }).end()
    }),
    well: await startReceiver(),
  }
  t.after(() => Promise.all(Object.values(receivers).map((receiver) => receiver.close())))
  for (const [name, receiver] of Object.entries(receivers)) await addReceiver(name, receiver)
  const [hanging] = await db.sql`select id from alert_channel where name = 'hangs'`
  const stopping = new AbortController()
  let hung: Promise<unknown> | undefined
  const { signal } = new AbortController()
  const lookAndDeliver = async () => {
    const ids: number[] = []
    await runAlerts({
      db,
      settings,
      budget: { maxDayMicros: 5_000_000, maxMonthMicros: null, maxRunMicros: null },
      enqueue: async (_tx, channelIds) => {
        ids.push(...channelIds)
      },
      signal,
    })
    const others = isWell ? ids : ids.filter((id) => id !== hanging?.id)
    // One delivery of a channel at a time, as the queue has it.
    if (!isWell)
      hung ??= deliverChannel({ db, settings, log }, hanging?.id, stopping.signal).catch(() => 'stopped')
    await Promise.all(others.map((id) => deliverChannel({ db, settings, log }, id, signal)))
  }
  for (let hour = 0; hour < HOURS; hour += 1) {
    await db.sql`
      insert into alert_event (rule_id, subject, slot, kind, severity, detail)
      select id, 'track', timestamptz '2026-03-01' + make_interval(hours => ${hour}::int), kind, severity,
        jsonb_build_object('job', 'track', 'hour', ${hour}::int) from alert_rule`
    await db.sql`update alert_message set next_at = clock_timestamp() where state = 'pending'`
    await lookAndDeliver()
    assert.equal(hoursOf(receivers.well).length, hour + 1, 'the others are told at once')
  }
  assert.equal(receivers.broken.received.length, HOURS, 'only the oldest message is tried, once an hour')
  stopping.abort()
  await hung
  isWell = true
  await db.sql`update alert_message set next_at = clock_timestamp() where state = 'pending'`
  await lookAndDeliver()
  const all = Array.from({ length: HOURS }, (_, hour) => hour)
  for (const receiver of Object.values(receivers)) assert.deepEqual(hoursOf(receiver), all)
  const states = await db.sql`select state, count(*)::int from alert_message group by 1`
  assert.deepEqual([...states], [{ state: 'delivered', count: 4 * HOURS }])
})
