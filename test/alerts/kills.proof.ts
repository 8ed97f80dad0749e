/**
 * Runners that are killed at each place between two commits of evaluation and delivery lose no event and
 * repeat none: a receiver that knows nothing but the library of Standard Webhooks, and drops an id that it
 * has seen, has each event once.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { type AlertList, createAlertList } from '../support/alerts.ts'
import { type Receiver, startReceiver } from '../support/receivers.ts'

const RUNNER = join(import.meta.dirname, 'kill-runner.ts')
const SECRET = `whsec_${randomBytes(24).toString('base64')}`
/** In the order in which a runner comes by. */
const PLACES = [
  'evaluation: before its commit',
  'evaluation: after its commit',
  'clock: before its commit',
  'clock: after its commit',
  'gathering: before its commit',
  'gathering: after its commit',
  'enqueueing: before its commit',
  'enqueueing: after its commit',
  'composing: before its commit',
  'composing: after its commit',
  'delivery: before it is sent',
  'delivery: taken, and not recorded',
  'delivery: recorded',
]
const TAKEN = 'delivery: taken, and not recorded'

let list: AlertList
let receiver: Receiver
before(async () => {
  list = await createAlertList()
  receiver = await startReceiver()
  await list.setNow('2026-03-01 06:00+00')
  await list.addKeyword()
  await list.addApp()
  const channel = { name: 'ops', kind: 'webhook', address: receiver.url, secret_variable: 'ALERT_OPS' }
  await list.sql`insert into alert_channel ${list.sql(channel)}`
  await list.addRule({ kind: 'rank_moved', threshold: 5, channel: 'ops' })
})
after(async () => {
  await receiver.close()
  await list.drop()
})

/** @returns the signal that ended it */
async function runRunner(place: string): Promise<NodeJS.Signals | null> {
  const child = spawn(process.execPath, [...process.execArgv, RUNNER, list.url, SECRET, place], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code, signal] = await once(child, 'exit')
  assert.ok(signal !== null || code === 0, `a runner ended with ${code}`)
  return signal
}

const measure = async (day: number, rank: number) => {
  const date = `2026-03-${String(day).padStart(2, '0')}`
  const places = Array.from({ length: 100 }, (_, n) => (n === rank - 1 ? '1001' : String(500_000 + n)))
  await list.setNow(`${date} 06:00+00`)
  await list.capture('yoga', `${date} 00:00+00`, places)
}

test('runners that are killed anywhere lose and double nothing', async () => {
  const webhook = new Webhook(SECRET)
  await measure(1, 3)
  assert.equal(await runRunner(''), null)
  const expected: string[] = []
  for (const [n, place] of PLACES.entries()) {
    const [from, to] = n % 2 === 0 ? [3, 40] : [40, 3]
    await measure(n + 2, to)
    expected.push(`${String(n + 2).padStart(2, '0')} ${from}→${to}`)
    assert.equal(await runRunner(place), 'SIGKILL', `nothing comes by "${place}"`)
    assert.equal(await runRunner(''), null)
  }
  const messages = new Map<string, string>()
  let again = 0
  for (const { headers, body } of receiver.received) {
    webhook.verify(body, headers as Record<string, string>)
    const id = String(headers['webhook-id'])
    if (messages.has(id)) {
      again += 1
      assert.equal(messages.get(id), body, 'the same words under the same id')
    }
    messages.set(id, body)
  }
  const told = [...messages.values()].flatMap((body) =>
    JSON.parse(body).data.lines.map(
      ({ slot, before: was, after: is }: { slot: string; before: number; after: number }) =>
        `${slot.slice(8, 10)} ${was}→${is}`,
    ),
  )
  assert.deepEqual(told, expected)
  assert.equal(again, PLACES.filter((place) => place === TAKEN).length, 'only what was taken comes again')
  const [left] = await list.sql`
    select (select count(*) from alert_due) as due, (select count(*) from alert_event) as events,
      (select count(*) from alert_message where state <> 'delivered') as waiting`
  assert.deepEqual(left, { due: 0, events: PLACES.length, waiting: 0 })
})
