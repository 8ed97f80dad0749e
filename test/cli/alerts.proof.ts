/**
 * From a result of the service to the people who want to know of it: `storerank start` as a process, a
 * webhook and a mail server.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { startSandbox } from '../../src/sandbox/server.ts'
import { startCommand } from '../support/command.ts'
import { startMailServer, startReceiver } from '../support/receivers.ts'
import { settingsOf } from '../support/sandbox-process.ts'
import { createWatchlist } from '../support/watchlist.ts'
import { until } from '../support/world.ts'

const ACCOUNT = { login: 'somebody@example.com', password: 'hush-Kd83-quiet' }
const OWN = '1480010017'
/** The jobs go by minutes: one stores, the next one tells. */
const BOUND_MS = 5 * 60_000
const DAY_MS = 86_400_000

test('what a result shows is told once by webhook and by mail, in the same words', async (t) => {
  const sandbox = await startSandbox({ readyMs: 0, readyListsPerMinute: 1000, ...ACCOUNT })
  t.after(() => sandbox.close())
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const mail = await startMailServer()
  t.after(() => mail.close())
  const list = await createWatchlist()
  t.after(() => list.drop())

  const slot = `${new Date(Date.now() - DAY_MS).toISOString().slice(0, 10)} 00:00+00`
  await list.setNow(slot)
  await list.addKeyword()
  await list.addApp({ app_id: OWN })
  // The own app was the last within depth; today's result of the service has it elsewhere.
  await list.capture('yoga', slot, [...Array.from({ length: 99 }, (_, n) => String(500_000 + n)), OWN])
  const { sql } = list
  await sql`
    insert into alert_channel ${sql([
      { name: 'ops', kind: 'webhook', address: receiver.url, secret_variable: 'ALERT_OPS' },
      { name: 'ann', kind: 'email', address: 'ann@example.com', secret_variable: null },
    ])}`
  for (const channel of ['ops', 'ann']) {
    const rule = { project: 'fitness', kind: 'rank_moved', threshold: 1, channel }
    await sql`insert into alert_rule ${sql({ ...rule, name: `moved, to ${channel}` })}`
  }

  const secret = `whsec_${randomBytes(24).toString('base64')}`
  const running = startCommand(t, ['start'], {
    env: {
      ...settingsOf(list.url, sandbox.url, ACCOUNT),
      ALERT_OPS: secret,
      PRIVATE_ALERT_HOSTS: '127.0.0.1',
      SMTP_URL: mail.url,
      SMTP_FROM: 'Ranks <ranks@example.com>',
    },
  })
  const isTold = async () => {
    assert.equal(running.child.exitCode, null, running.stderr())
    const [row] = await sql`select count(*) as told from alert_history where state = 'delivered'`
    return row?.told === 2
  }
  await until('both are told', isTold, BOUND_MS)
  running.child.kill('SIGTERM')
  const { stdout, stderr } = await running.ended
  assert.ok(!(stdout + stderr).includes(secret), 'no output has the secret')

  assert.deepEqual([receiver.received.length, mail.mails.length], [1, 1])
  const [{ headers, body } = { headers: {}, body: '' }] = receiver.received
  new Webhook(secret).verify(body, headers as Record<string, string>)
  const [line] = JSON.parse(body).data.lines
  const [stored] = await sql<{ rank: number; url: string }[]>`
    select array_position(h.app_ids, a.id) as rank, t.check_url as url from ranking h
      join target t on t.id = h.target_id
    join app a on a.app_id = ${OWN} and a.store = 'ios_store' where h.slot > ${slot}::timestamptz
      and h.gap is null`
  assert.deepEqual([line.keyword, line.before, line.after], ['yoga', 100, stored?.rank])
  assert.match(line.check_url, /^https:/)
  assert.equal(line.check_url, stored?.url)
  const [received] = mail.mails
  assert.equal(received?.subject, 'storerank, fitness: 1 event')
  assert.ok(received?.text?.includes(line.text), received?.text)
  assert.match(received?.html ?? '', /<li[^>]*>\s*<strong>Warning<\/strong> yoga \(/)
})
