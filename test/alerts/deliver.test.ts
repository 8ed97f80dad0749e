/** Messages: one for all that was found, at least once and under one id, to receivers that others have written. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, beforeEach, describe, type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { Webhook } from 'standardwebhooks'
import { deliverChannel } from '../../src/alerts/deliver.ts'
import { type AlertDeps, runAlerts } from '../../src/alerts/run.ts'
import { NO_ALERT_SETTINGS } from '../../src/alerts/settings.ts'
import { Secret } from '../../src/config.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { UnavailableError } from '../../src/errors.ts'
import { createTestDatabase, emptyTables, type TestDatabase } from '../support/database.ts'
import { startMailServer, startReceiver } from '../support/receivers.ts'

const OLD = `whsec_${randomBytes(24).toString('base64')}`
const NEW = `whsec_${randomBytes(24).toString('base64')}`
const secrets = new Map([
  ['ALERT_OPS', new Secret(`${NEW} ${OLD}`)],
  ['ALERT_BAD', new Secret('short')],
])
const settings = { ...NO_ALERT_SETTINGS, secrets }
const log = pino({ level: 'silent' })
const { signal } = new AbortController()

let database: TestDatabase
let db: Database
before(async () => {
  database = await createTestDatabase()
  db = openDatabase(database.url)
})
after(async () => {
  await db.close()
  await database.drop()
})
beforeEach(async () => {
  await emptyTables(db.sql)
  await db.sql`insert into project (name, timezone) values ('fitness', 'Asia/Tokyo')`
})

const addChannel = async (fields: Record<string, unknown>): Promise<number> => {
  const row = {
    name: 'ops',
    kind: 'webhook',
    secret_variable: 'ALERT_OPS',
    created_at: '2026-01-01',
    ...fields,
  }
  const [channel] = await db.sql<{ id: number }[]>`insert into alert_channel ${db.sql(row)} returning id`
  return channel?.id ?? 0
}
const addRule = async (fields: Record<string, unknown> = {}) => {
  const row = {
    project: 'fitness',
    name: 'late jobs',
    kind: 'job_late',
    threshold: 1,
    channel: 'ops',
    created_at: '2026-01-01',
    ...fields,
  }
  await db.sql`insert into alert_rule ${db.sql(row)}`
}
/** An event as an evaluation leaves it. */
const addEvent = (subject: string, fields: Record<string, unknown> = {}) =>
  db.sql`
    insert into alert_event (rule_id, subject, slot, kind, severity, detail)
    select id, ${subject}, ${String(fields.slot ?? '2026-03-01')}, kind, ${String(fields.severity ?? 'warning')},
      jsonb_build_object('job', ${subject}::text) from alert_rule where name = ${String(fields.rule ?? 'late jobs')}`

const gather = async (changes: Partial<AlertDeps> = {}): Promise<number[]> => {
  const enqueued: number[] = []
  await runAlerts({
    db,
    settings,
    budget: { maxDayMicros: 5_000_000, maxMonthMicros: null, maxRunMicros: null },
    enqueue: async (_tx, ids) => {
      enqueued.push(...ids)
    },
    signal,
    ...changes,
  })
  return enqueued
}
const deliver = (id: number, given = settings) => deliverChannel({ db, settings: given, log }, id, signal)
const states = async () => {
  const rows = await db.sql<{ text: string }[]>`
    select concat_ws(' ', state, attempts, problem) as text from alert_message order by created_at, id`
  return rows.map(({ text }) => text)
}
const isDueNow = () => db.sql`update alert_message set next_at = clock_timestamp() where state = 'pending'`
const receive = async (t: TestContext, ...args: Parameters<typeof startReceiver>) => {
  const receiver = await startReceiver(...args)
  t.after(() => receiver.close())
  return receiver
}

describe('a webhook', () => {
  test('is signed so that a receiver of the Standard Webhooks library verifies it, by the new secret and the old', async (t) => {
    const receiver = await receive(t)
    const id = await addChannel({ address: receiver.url })
    await addRule()
    await addEvent('track')
    assert.deepEqual(await gather(), [id])
    assert.equal(await deliver(id), 1)
    const [{ headers, body } = { headers: {}, body: '' }] = receiver.received
    for (const secret of [OLD, NEW]) new Webhook(secret).verify(body, headers as Record<string, string>)
    const stranger = new Webhook(`whsec_${randomBytes(24).toString('base64')}`)
    assert.throws(() => stranger.verify(body, headers as Record<string, string>))
    const [message] = await db.sql`select id from alert_message`
    assert.equal(headers['webhook-id'], message?.id)
    const { type, data } = JSON.parse(body)
    assert.deepEqual(
      [type, data.project, data.rest, data.lines[0].text.slice(0, 13)],
      ['alerts.found', 'fitness', 0, 'The job track'],
    )
    assert.deepEqual(await states(), ['delivered 1'])
    assert.equal(await deliver(id), 0)
    assert.deepEqual(await gather(), [])
    assert.equal(receiver.received.length, 1)
  })

  test('tells all of one evaluation in one message, the gravest first, at most so many lines and a count of the rest', async (t) => {
    const receiver = await receive(t)
    const id = await addChannel({ address: receiver.url, max_lines: 2 })
    await addRule()
    for (const subject of ['a', 'b', 'c']) await addEvent(subject)
    await addEvent('grave', { severity: 'critical' })
    await gather()
    await deliver(id)
    const { data } = JSON.parse(receiver.received[0]?.body ?? '')
    assert.deepEqual(
      [data.lines.map((line: { detail: { job: string } }) => line.detail.job), data.rest],
      [['grave', 'a'], 2],
    )
    assert.equal(receiver.received.length, 1)
  })

  test('that is not taken is tried again later under the same id with the same words, until it is', async (t) => {
    const statuses = [500, 302, 204]
    const receiver = await receive(t, (_, response) => {
      response
        .writeHead(statuses.shift() ?? 204, { location: 'http://127.0.0.1:1/' })
        .end('x'.repeat(100_000))
    })
    const id = await addChannel({ address: receiver.url })
    await addRule()
    await addEvent('track')
    await gather()
    assert.equal(await deliver(id), 0)
    assert.deepEqual(await states(), ['pending 1 The receiver answered HTTP 500.'])
    assert.deepEqual(await gather(), [], 'its time has not come')
    assert.equal(await deliver(id), 0)
    await isDueNow()
    await db.sql`update alert_event set detail = '{"job": "other"}'`
    assert.deepEqual(await gather(), [id])
    await deliver(id)
    assert.deepEqual(await states(), [
      'pending 2 The receiver answered HTTP 302, and no redirect is followed.',
    ])
    await isDueNow()
    assert.equal(await deliver(id), 1)
    const ids = new Set(receiver.received.map(({ headers }) => headers['webhook-id']))
    const bodies = new Set(receiver.received.map(({ body }) => body))
    assert.deepEqual([receiver.received.length, ids.size, bodies.size], [3, 1, 1])
  })

  test('that hangs keeps no other channel waiting, and those behind it keep their order', async (t) => {
    const hung = await receive(t, () => {})
    const well = await receive(t)
    const first = await addChannel({ address: hung.url })
    const second = await addChannel({ name: 'other', address: well.url })
    await addRule()
    await addRule({ name: 'other', channel: 'other' })
    await addEvent('track')
    await addEvent('track', { rule: 'other' })
    assert.deepEqual((await gather()).sort(), [first, second].sort())
    const stopping = new AbortController()
    const hanging = deliverChannel({ db, settings, log }, first, stopping.signal)
    assert.equal(await deliver(second), 1)
    stopping.abort()
    await assert.rejects(hanging)
    assert.equal(well.received.length, 1)
    assert.deepEqual((await states()).sort(), ['delivered 1', 'pending 0'])
  })

  test('is given up after three days, which watch_problem tells until another one was delivered', async (t) => {
    const receiver = await receive(t, (_, response) => response.writeHead(500).end())
    const id = await addChannel({ address: receiver.url })
    await addRule()
    await addEvent('track')
    await gather()
    await deliver(id)
    const problems = async () => {
      const rows = await db.sql<
        { problem: string }[]
      >`select problem from watch_problem where watch_table = 'alert_channel'`
      return rows.map(({ problem }) => problem)
    }
    assert.deepEqual(await problems(), ['delivery_failing'])
    await db.sql`update alert_message set created_at = clock_timestamp() - interval '73 hours', next_at = clock_timestamp()`
    await deliver(id)
    assert.deepEqual(await states(), ['dead 2 The receiver answered HTTP 500.'])
    assert.deepEqual(await problems(), ['delivery_dead'])
    await db.sql`insert into alert_message (channel_id, project_id, state, ended_at) select ${id}, 1, 'delivered', clock_timestamp()`
    assert.deepEqual(await problems(), [])
  })

  test('without its variable, or into a private network, is told in watch_problem by the next run', async () => {
    await addChannel({ address: 'https://10.0.0.1/hook' })
    await addChannel({ name: 'missing', address: 'https://example.com', secret_variable: 'ALERT_MISSING' })
    await addChannel({ name: 'bad', address: 'https://example.com', secret_variable: 'ALERT_BAD' })
    await addChannel({ name: 'mail', kind: 'email', address: 'a@example.com', secret_variable: null })
    await addRule()
    await gather()
    const rows = await db.sql<{ subject: string; message: string }[]>`
      select subject, message from watch_problem where problem = 'channel_settings' order by 1`
    assert.deepEqual(
      rows.map(({ subject, message }) => [
        subject,
        /PRIVATE_ALERT_HOSTS|ALERT_MISSING|whsec_|SMTP_URL/.exec(message)?.[0],
      ]),
      [
        ['bad', 'whsec_'],
        ['mail', 'SMTP_URL'],
        ['missing', 'ALERT_MISSING'],
        ['ops', 'PRIVATE_ALERT_HOSTS'],
      ],
    )
    await db.sql`delete from alert_channel where name <> 'ops'`
    await gather({ settings: { ...settings, privateHosts: ['10.0.0.1'] } })
    assert.equal((await db.sql`select from alert_channel_problem`).length, 0)
  })
})

describe('Slack', () => {
  test('gets text and blocks, escaped, at the address that the variable holds', async (t) => {
    const receiver = await receive(t)
    const id = await addChannel({ kind: 'slack', address: null, secret_variable: 'ALERT_SLACK' })
    await addRule({ name: 'a <b> & c' })
    await addEvent('<!channel>', { rule: 'a <b> & c' })
    await gather()
    assert.equal(
      await deliver(id, { ...settings, secrets: new Map([['ALERT_SLACK', new Secret(receiver.url)]]) }),
      1,
    )
    const { text, blocks } = JSON.parse(receiver.received[0]?.body ?? '')
    assert.match(text, /^storerank, fitness: 1 event\nThe job &lt;!channel&gt; /)
    assert.deepEqual(
      blocks.map(({ type }: { type: string }) => type),
      ['header', 'section'],
    )
    assert.match(
      blocks[1].text.text,
      /^\*Warning\* The job &lt;!channel&gt; .*_a &lt;b&gt; &amp; c, 2026-03-01_$/,
    )
  })
})

describe('an e-mail', () => {
  test('is readable as text and HTML, and keeps its Message-ID when it is sent again', async (t) => {
    const server = await startMailServer(1)
    t.after(() => server.close())
    const id = await addChannel({
      kind: 'email',
      address: 'ann@example.com, bob@example.com',
      secret_variable: null,
    })
    await addRule({ name: 'late <jobs>' })
    await addEvent('track', { rule: 'late <jobs>' })
    await gather()
    const mail = { ...settings, smtpUrl: new Secret(server.url), smtpFrom: 'Ranks <ranks@example.com>' }
    assert.equal(await deliver(id, mail), 0)
    assert.match(
      (await states())[0] ?? '',
      /^pending 1 The mail server of SMTP_URL did not take the message: .*451/,
    )
    await isDueNow()
    assert.equal(await deliver(id, mail), 1)
    const [received] = server.mails
    const [message] = await db.sql`select id from alert_message`
    assert.equal(received?.messageId, `<${message?.id}@storerank>`)
    assert.equal(received?.subject, 'storerank, fitness: 1 event')
    assert.deepEqual(
      received?.to?.map(({ address }) => address),
      ['ann@example.com', 'bob@example.com'],
    )
    assert.match(received?.text ?? '', /Warning: The job track has not succeeded/)
    assert.match(received?.text ?? '', /late <jobs>, 2026-03-01/)
    assert.match(received?.html ?? '', /<strong>Warning<\/strong> The job track .*late &lt;jobs&gt;/s)
  })
})

describe('a cooldown', () => {
  test('is used up only by what was delivered, and within one message by what it tells first', async () => {
    const id = await addChannel({ address: 'https://example.com' })
    await addRule({ cooldown: '6 hours' })
    const sent: string[][] = []
    let isWell = false
    const through = () =>
      deliverChannel(
        {
          db,
          settings,
          log,
          send: async (_channel, { content }) => {
            if (!isWell) throw new UnavailableError('not now')
            sent.push(content.lines.map(({ slot }) => slot.slice(11, 13)))
          },
        },
        id,
        signal,
      )
    await addEvent('track', { slot: '2026-03-01 00:00+00' })
    await gather()
    await through()
    // The first is given up, so that it has used up nothing.
    await db.sql`update alert_message set created_at = clock_timestamp() - interval '4 days', next_at = clock_timestamp()`
    await through()
    isWell = true
    for (const hour of ['02', '04', '09']) await addEvent('track', { slot: `2026-03-01 ${hour}:00+00` })
    await gather()
    await through()
    await addEvent('track', { slot: '2026-03-01 14:00+00' })
    await gather()
    await through()
    assert.deepEqual(sent, [['09', '02']])
    assert.deepEqual(
      (await states()).map((text) => text.split(' ')[0]),
      ['dead', 'delivered', 'empty'],
    )
    const held =
      await db.sql`select to_char(slot, 'HH24') as hour from alert_event where held_back = 'cooldown' order by 1`
    assert.deepEqual(
      held.map(({ hour }) => hour),
      ['04', '14'],
    )
  })
})

describe('a digest', () => {
  test('goes once at its hour in the time zone of the project, with all that was found until then', async (t) => {
    const receiver = await receive(t)
    const id = await addChannel({ address: receiver.url, digest: 'daily', hour: 8 })
    await addRule()
    const name = new URL(database.url).pathname.slice(1)
    const runAt = async (instant: string) => {
      await db.sql.unsafe(`alter database "${name}" set storerank.now = '${instant}'`)
      const moved = openDatabase(database.url)
      const enqueued = await gather({ db: moved })
      await deliverChannel({ db: moved, settings, log }, id, signal)
      await moved.close()
      return enqueued.length
    }
    t.after(() => db.sql.unsafe(`alter database "${name}" reset storerank.now`))
    await addEvent('track')
    // 8:00 in Tokyo is 23:00 UTC of the day before: the digest of that hour has not been made yet.
    assert.equal(await runAt('2026-03-01T22:59:00Z'), 1)
    assert.equal(await runAt('2026-03-01T22:59:30Z'), 0)
    await addEvent('collect')
    await addEvent('audit')
    assert.equal(await runAt('2026-03-01T23:00:00Z'), 1)
    assert.equal(await runAt('2026-03-02T12:00:00Z'), 0)
    assert.deepEqual(
      receiver.received.map(({ body }) => {
        const { type, data } = JSON.parse(body)
        return [type, data.lines.map((line: { detail: { job: string } }) => line.detail.job)]
      }),
      [
        ['alerts.digest', ['track']],
        ['alerts.digest', ['collect', 'audit']],
      ],
    )
  })

  test('of a week goes on Mondays, and none of a project without rules to the channel', async () => {
    await addChannel({ address: 'https://example.com', digest: 'weekly', hour: 6 })
    await gather()
    assert.equal((await db.sql`select from alert_message`).length, 0)
    await addRule()
    await gather()
    const [message] =
      await db.sql`select to_char(digest_at at time zone 'Asia/Tokyo', 'Dy HH24:MI') as at from alert_message`
    assert.equal(message?.at, 'Mon 06:00')
  })
})

test('what a rule without a channel finds is kept, and never sent when it gets one', async () => {
  await addRule({ channel: null })
  await addEvent('track')
  await gather()
  await addChannel({ address: 'https://example.com' })
  await db.sql`update alert_rule set channel = 'ops'`
  await gather()
  assert.equal((await db.sql`select from alert_message`).length, 0)
  const [event] = await db.sql`select state from alert_history`
  assert.equal(event?.state, 'channel')
})
