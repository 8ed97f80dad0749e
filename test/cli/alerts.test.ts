/** `storerank alerts` and `digest`, on a database with three days of history. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, test } from 'node:test'
import { pino } from 'pino'
import { Webhook } from 'standardwebhooks'
import { openDatabase } from '../../src/db/database.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { createAlertList } from '../support/alerts.ts'
import { callCommand, commandsWith } from '../support/command.ts'
import { lasting } from '../support/lasting.ts'
import { addPerson } from '../support/people.ts'
import { startReceiver } from '../support/receivers.ts'
import { settingsOf } from '../support/sandbox-process.ts'

const NOW = '2026-11-03 06:00+00'
const SECRET = `whsec_${randomBytes(24).toString('base64')}`

const list = lasting(createAlertList)
let env: Record<string, string>
const { succeed, refuse } = commandsWith(() => env)
before(async () => {
  await list.setNow('2026-11-01 06:00+00')
  await list.addKeyword()
  await list.addApp({ label: 'Mine' })
  const ranked = (rank: number) => [...Array.from({ length: rank - 1 }, (_, n) => `${n + 5000}`), '1001']
  for (const [day, rank] of [
    [1, 3],
    [2, 14],
    [3, 2],
  ] as const) {
    await list.setNow(`2026-11-0${day} 06:00+00`)
    await list.capture('yoga', `2026-11-0${day} 00:00+00`, ranked(rank))
  }
  await list.setNowForAll(NOW)
  env = { DATABASE_URL: list.url, ALERT_OPS: SECRET, PRIVATE_ALERT_HOSTS: '127.0.0.1' }
})

test('a trial says what the rules would have told, and leaves nothing behind', async () => {
  assert.match(await succeed('alerts'), /There is no rule yet/)
  await list.addRule({ kind: 'rank_moved', threshold: 5 })
  await list.addRule({ kind: 'top_crossed', top: 10, direction: 'down', severity: 'critical' })
  await list.addRule({ kind: 'rank_moved', name: 'rarely', threshold: 5, cooldown: '3 days' })
  const stdout = await succeed('alerts', '--trial', '--days', '5')
  assert.match(
    stdout,
    /fitness, 2026-11-02\n {2}critical: yoga \(iOS 2840, en\): Mine fell from 3 to 14 .* out of the top 10/,
  )
  assert.match(
    stdout,
    /fitness, 2026-11-03\n {2}warning: .*Mine rose from 14 to 2 .*\(rank_moved\)\n {2}… and 1 held back/,
  )
  assert.match(stdout, /4 events in the last 5 days\. Nothing was sent\./)
  const counts = [...stdout.matchAll(/│ fitness │ (\w+) +│ \w+ +│ +(\d) │/g)].map(
    ([, rule, events]) => `${rule} ${events}`,
  )
  assert.deepEqual(counts, ['rank_moved 2', 'rarely 1', 'top_crossed 1'])
  const [left] = await list.sql`
    select (select count(*) from alert_event) as events, (select count(*) from alert_message) as messages`
  assert.deepEqual(left, { events: 0, messages: 0 })
})

test('a test of a channel is marked as one, and signed; a channel that is not there is told', async (t) => {
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const channel = { name: 'ops', kind: 'webhook', address: receiver.url, secret_variable: 'ALERT_OPS' }
  await list.sql`insert into alert_channel ${list.sql(channel)}`
  assert.match(await succeed('alerts', 'test', 'ops'), /took a message that is marked as a test/)
  const [{ headers, body } = { headers: {}, body: '' }] = receiver.received
  const { type } = new Webhook(SECRET).verify(body, headers as Record<string, string>) as { type: string }
  assert.equal(type, 'alerts.test')
  const unknown = /There is no channel "opss" in alert_channel\. Did you mean ops\? Channels: ops\./
  await refuse(['alerts', 'test', 'opss'], unknown)
})

test('a test of a channel whose receiver is dead says so, and nothing of the database', async () => {
  const receiver = await startReceiver()
  await receiver.close()
  await list.sql`update alert_channel set address = ${receiver.url} where name = 'ops'`
  const dead =
    /^The receiver could not be reached: nothing listens there \(ECONNREFUSED\)\. Check that it runs/
  await refuse(['alerts', 'test', 'ops'], dead, 1)
})

test('`run alerts` tells what it finds before it ends, and leaves posts to others', async (t) => {
  const sandbox = await startSandbox({ readyMs: 0 })
  t.after(() => sandbox.close())
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const other = await createAlertList()
  t.after(() => other.drop())
  await other.setNow('2026-11-01 06:00+00')
  await other.addKeyword()
  await other.addApp()
  const channel = { name: 'ops', kind: 'webhook', address: receiver.url, secret_variable: 'ALERT_OPS' }
  await other.sql`insert into alert_channel ${other.sql(channel)}`
  await other.addRule({ kind: 'rank_moved', threshold: 5, channel: 'ops' })
  await other.capture('yoga', '2026-11-01 00:00+00', ['1001'])
  await other.setNow('2026-11-02 06:00+00')
  await other.capture('yoga', '2026-11-02 00:00+00', ['5000', '5001', '5002', '5003', '5004', '5005', '1001'])
  const db = openDatabase(other.url)
  t.after(() => db.close())
  const queue = await openQueue(other.url, pino({ level: 'silent' }))
  t.after(() => queue.stop(1_000))
  await db.begin(async (tx) => {
    const [post] = await tx<{ id: string }[]>`
      insert into post (store, function) values ('ios_store', 'app_searches') returning id`
    await queue.enqueuePosts(tx, post === undefined ? [] : [post.id])
  })
  const { code, stderr } = await callCommand(['run', 'alerts'], {
    env: {
      ...settingsOf(other.url, sandbox.url),
      ALERT_OPS: SECRET,
      PRIVATE_ALERT_HOSTS: '127.0.0.1',
    },
  })
  assert.equal(code, 0, stderr)
  assert.deepEqual(
    receiver.received.map(({ body }) => JSON.parse(body).data.lines.length),
    [1],
  )
  assert.equal(await queue.countOpen('post'), 1)
})

test('an editor sends a test and what was given up again, of one channel or of all', async (t) => {
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const editor = await addPerson(list.sql, 'storerank_editor')
  const reader = await addPerson(list.sql, 'storerank_reader')
  t.after(() => Promise.all([editor.remove(), reader.remove()]))
  const asEditor = commandsWith(() => ({ ...env, DATABASE_URL: editor.url }))
  const asReader = commandsWith(() => ({ ...env, DATABASE_URL: reader.url }))
  await list.sql`update alert_channel set address = ${receiver.url}`
  await list.sql`
    insert into alert_message (channel_id, project_id, state, problem, ended_at)
    select c.id, 1, 'dead', 'no', clock_timestamp() - make_interval(days => d)
      from alert_channel c, unnest('{1,2,9}'::int[]) d`
  assert.match(
    await asEditor.succeed('alerts', 'test', 'ops'),
    /2 messages that were given up in the last 7 days can be sent again: storerank alerts\s+retry ops\./,
  )
  assert.equal(
    await asEditor.succeed('alerts', 'retry'),
    'The runners send 2 messages of the channel "ops" that were given up again within a minute, under ' +
      'the same ids.\n',
  )
  assert.match(
    await asEditor.succeed('alerts', 'retry', 'ops'),
    /^No message of the channel "ops" was given up in the last 7 days\.$/m,
  )
  await list.sql`update alert_channel set enabled = false`
  assert.match(
    (await asEditor.succeed('alerts', 'retry', 'ops', '--days', '30')).replace(/\s+/g, ' '),
    /^1 message of the channel "ops" .* waits to be sent again\. The channel is not enabled, .* = 'ops'; $/,
  )
  const states = await list.sql`select state, count(*)::int from alert_message group by 1`
  assert.deepEqual([...states], [{ state: 'pending', count: 3 }])
  await asEditor.refuse(['alerts', 'retry', 'opss'], /There is no channel "opss"/)
  const ofAlerts = /--project is of alerts, and not of alerts retry/
  await asEditor.refuse(['alerts', 'retry', '--project', 'fitness'], ofAlerts)
  await asReader.refuse(['alerts', 'retry'], /may not do that: permission denied/)
  await list.sql`delete from alert_message`
  await list.sql`update alert_channel set enabled = true`
})

test('a project that is not there and days of no trial are refused; a project has its rules', async () => {
  const unknown = /There is no project "fitnes"\. Did you mean fitness\? Projects: fitness\./
  for (const trial of [[], ['--trial']]) await refuse(['alerts', ...trial, '--project', 'fitnes'], unknown)
  await refuse(['alerts', '--days', '3'], /--days is of the trial/)
  await list.addRule({ kind: 'visibility_moved', threshold: 10 })
  await list.sql`update project set timezone = 'Asia/Tokyo'`
  await list.sql`
    insert into alert_event (rule_id, subject, slot, kind, severity)
    select id, 's', '2026-11-01 15:00+00', kind, severity from alert_rule where name = 'visibility_moved'`
  const stdout = await succeed('alerts', '--project', 'fitness')
  assert.match(stdout, /│ visibility_moved +│ visibility_moved, warning +│ – +│ +1 │ 2026-11-02 │/)
  await list.sql`delete from alert_rule where name = 'visibility_moved'`
  assert.match(stdout, /^\nfitness\n┌[\s\S]*rank_moved, warning +│ – /)
})

test('a digest is printed with the summary of the report and the events', async () => {
  await list.sql`
    insert into alert_event (rule_id, subject, slot, kind, severity, before, after, detail)
    select id, 's', '2026-11-02', kind, severity, 3, 14, '{"top": 10}' from alert_rule
      where name = 'top_crossed'`
  const stdout = await succeed('digest', '--project', 'fitness', '--days', '2')
  assert.match(
    stdout,
    /storerank, fitness: digest of 2 days, 1 event\n\nIn one day: 1 up, 0 down\.\n[\s\S]*In 2 days: /,
  )
  assert.match(
    stdout,
    /CRITICAL: The app fell from 3 to 14 out of the top 10\.\n {2}top_crossed, 2026-11-02\n/,
  )
  assert.doesNotMatch(stdout, /7 days/)
  assert.deepEqual(
    JSON.parse(await succeed('alerts', '--json')).map((rule: { rule: string; events: number }) => [
      rule.rule,
      rule.events,
    ]),
    [
      ['rank_moved', 0],
      ['rarely', 0],
      ['top_crossed', 1],
    ],
  )
})
