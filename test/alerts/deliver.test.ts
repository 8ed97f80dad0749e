/** Messages: one for all that was found, at least once and under one id, to receivers of others. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { beforeEach, describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { send } from '../../src/alerts/send.ts'
import { UnavailableError } from '../../src/errors.ts'
import { Secret } from '../../src/secret.ts'
import { column } from '../support/database.ts'
import { createDeliveries, NEW, OLD, receive, settings } from '../support/deliveries.ts'
import { lasting } from '../support/lasting.ts'
import { type MailServer, startMailServer } from '../support/receivers.ts'

const world = lasting(createDeliveries)
beforeEach(() => world.reset())

describe('a webhook', () => {
  test('is signed as Standard Webhooks verifies it, by the new secret and the old', async (t) => {
    const receiver = await receive(t)
    const id = await world.addChannel({ address: receiver.url })
    await world.addRule()
    await world.addEvent('track')
    assert.deepEqual(await world.gather(), [id])
    assert.equal(await world.deliver(id), 1)
    const [{ headers, body } = { headers: {}, body: '' }] = receiver.received
    for (const secret of [OLD, NEW]) new Webhook(secret).verify(body, headers as Record<string, string>)
    const stranger = new Webhook(`whsec_${randomBytes(24).toString('base64')}`)
    assert.throws(() => stranger.verify(body, headers as Record<string, string>))
    const [message] = await world.sql`select id from alert_message`
    assert.equal(headers['webhook-id'], message?.id)
    const { type, data } = JSON.parse(body)
    assert.deepEqual(
      [type, data.project, data.rest, data.lines[0].text.slice(0, 13)],
      ['alerts.found', 'fitness', 0, 'The job track'],
    )
    assert.deepEqual(await world.states(), ['delivered 1'])
    assert.equal(await world.deliver(id), 0)
    assert.deepEqual(await world.gather(), [])
    assert.equal(receiver.received.length, 1)
  })

  test('tells all of one evaluation in one message, the gravest first, and counts the rest', async (t) => {
    const receiver = await receive(t)
    const id = await world.addChannel({ address: receiver.url, max_lines: 2 })
    await world.addRule()
    for (const subject of ['a', 'b', 'c']) await world.addEvent(subject)
    await world.addEvent('grave', { severity: 'critical' })
    await world.gather()
    await world.deliver(id)
    const { data } = JSON.parse(receiver.received[0]?.body ?? '')
    assert.deepEqual(
      [data.lines.map((line: { detail: { job: string } }) => line.detail.job), data.rest],
      [['grave', 'a'], 2],
    )
    assert.equal(receiver.received.length, 1)
  })

  test('tells of what was never otherwise without a slot that it is compared with', async (t) => {
    const receiver = await receive(t)
    const id = await world.addWaiting({ address: receiver.url })
    await world.sql`update alert_event set compared_slot = '-infinity'`
    assert.equal(await world.deliver(id), 1)
    assert.equal(JSON.parse(receiver.received[0]?.body ?? '').data.lines[0].compared_slot, null)
  })

  test('that is not taken is tried again later, under the same id with the same words', async (t) => {
    const statuses = [500, 302, 204]
    const receiver = await receive(t, (_, response) => {
      response
        .writeHead(statuses.shift() ?? 204, { location: 'http://127.0.0.1:1/' })
        .end('x'.repeat(100_000))
    })
    const id = await world.addWaiting({ address: receiver.url })
    assert.equal(await world.deliver(id), 0)
    assert.match(
      String(await world.states()),
      /^pending 1 The receiver answered HTTP 500: "x{300}…"\. See its own log\.$/,
    )
    assert.deepEqual(await world.gather(), [], 'its time has not come')
    assert.equal(await world.deliver(id), 0)
    await world.isDueNow()
    await world.sql`update alert_event set detail = '{"job": "other"}'`
    assert.deepEqual(await world.gather(), [id])
    await world.deliver(id)
    assert.match(
      String(await world.states()),
      /^pending 2 The receiver answered HTTP 302: .* no redirect is followed\.$/,
    )
    await world.isDueNow()
    assert.equal(await world.deliver(id), 1)
    const ids = new Set(receiver.received.map(({ headers }) => headers['webhook-id']))
    const bodies = new Set(receiver.received.map(({ body }) => body))
    assert.deepEqual([receiver.received.length, ids.size, bodies.size], [3, 1, 1])
  })

  test('is given up after three days, which watch_problem tells until one is delivered', async (t) => {
    const receiver = await receive(t, (_, response) => response.writeHead(500).end())
    const id = await world.addWaiting({ address: receiver.url })
    await world.deliver(id)
    assert.deepEqual(await world.problems(), ['delivery_failing'])
    await world.sql`update alert_message set give_up_at = clock_timestamp(), next_at = clock_timestamp()`
    await world.deliver(id)
    assert.deepEqual(await world.states(), ['dead 2 The receiver answered HTTP 500. See its own log.'])
    assert.deepEqual(await world.problems(), ['delivery_dead'])
    await world.sql`
      insert into alert_message (channel_id, project_id, state, ended_at)
      select ${id}, 1, 'delivered', clock_timestamp()`
    assert.deepEqual(await world.problems(), [])
  })

  test('without its variable, or into a private network, is told in watch_problem', async () => {
    await world.addChannel({ address: 'https://10.0.0.1/hook' })
    await world.addChannel({
      name: 'missing',
      address: 'https://example.com',
      secret_variable: 'ALERT_MISSING',
    })
    await world.addChannel({ name: 'bad', address: 'https://example.com', secret_variable: 'ALERT_BAD' })
    await world.addChannel({ name: 'mail', kind: 'email', address: 'a@example.com', secret_variable: null })
    await world.addRule()
    await world.gather()
    const rows = await world.sql<{ subject: string; message: string }[]>`
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
    await world.sql`delete from alert_channel where name <> 'ops'`
    await world.gather({ settings: { ...settings, privateHosts: ['10.0.0.1'] } })
    assert.equal((await world.sql`select from alert_channel where problem is not null`).length, 0)
  })
})

describe('Slack', () => {
  test('gets text and blocks, escaped, at the address that the variable holds', async (t) => {
    const receiver = await receive(t)
    const id = await world.addChannel({ kind: 'slack', address: null, secret_variable: 'ALERT_SLACK' })
    await world.addRule({ name: 'a <b> & c' })
    await world.addEvent('<!channel>', { rule: 'a <b> & c' })
    await world.gather()
    assert.equal(
      await world.deliver(id, {
        settings: { ...settings, secrets: new Map([['ALERT_SLACK', new Secret(receiver.url)]]) },
      }),
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

const mailBy = ({ url }: MailServer, smtpFrom = 'ranks@example.com') => ({
  ...settings,
  smtpUrl: new Secret(url),
  smtpFrom,
})
const addMail = (fields: Record<string, unknown>) =>
  world.addChannel({ kind: 'email', secret_variable: null, ...fields })

describe('an e-mail', () => {
  test('is readable as text and HTML, and keeps its Message-ID when it is sent again', async (t) => {
    const server = await startMailServer(1)
    t.after(() => server.close())
    const id = await addMail({ address: "ann.o'neil@example.com, bob@example.com" })
    await world.addRule({ name: 'late <jobs>' })
    await world.addEvent('track', { rule: 'late <jobs>' })
    await world.gather()
    const mail = mailBy(server, 'Acme: ranks <ranks@example.com>')
    assert.equal(await world.deliver(id, { settings: mail }), 0)
    assert.match(
      (await world.states())[0] ?? '',
      /^pending 1 The mail server of SMTP_URL did not take the message: .*451/,
    )
    await world.isDueNow()
    assert.equal(await world.deliver(id, { settings: mail }), 1)
    const [received] = server.mails
    const [message] = await world.sql`select id from alert_message`
    assert.equal(received?.messageId, `<${message?.id}@storerank>`)
    assert.deepEqual(received?.from, { name: 'Acme: ranks', address: 'ranks@example.com' })
    assert.equal(received?.subject, 'storerank, fitness: 1 event')
    assert.deepEqual(
      received?.to?.map(({ address }) => address),
      ["ann.o'neil@example.com", 'bob@example.com'],
    )
    assert.match(received?.text ?? '', /Warning: The job track has not succeeded/)
    assert.match(received?.text ?? '', /late <jobs>, 2026-03-01/)
    assert.match(received?.html ?? '', /<strong>Warning<\/strong> The job track .*late &lt;jobs&gt;/s)
  })
})

test('a digest by e-mail has the page with it, and goes without after three failed attempts', async (t) => {
  const server = await startMailServer(3)
  t.after(() => server.close())
  const id = await addMail({ address: 'ann@example.com', digest: 'daily', report: true })
  await world.addRule()
  const mail = mailBy(server)
  const sendTimes = async (times: number) => {
    for (let time = 0; time < times; time += 1) {
      await world.isDueNow()
      await world.deliver(id, { settings: mail })
    }
  }
  await world.addEvent('track')
  await world.gather({ settings: mail })
  await world.sql`
    insert into alert_message (channel_id, project_id, digest_at)
    select ${id}, id, now() - interval '2 days' from project`
  await world.sql`update alert_event
    set message_id = (select id from alert_message order by digest_at limit 1)`
  await world.sql`
    delete from alert_message m where not exists (select from alert_event e where e.message_id = m.id)`
  await sendTimes(4)
  await world.sql`update alert_message set state = 'pending', attempts = 0`
  await sendTimes(1)
  assert.deepEqual(
    server.mails.map(({ attachments }) => attachments?.map(({ filename }) => filename)),
    [[], ['fitness.html']],
  )
})

test('an e-mail that not all addresses get is told of in watch_problem, and goes once', async (t) => {
  const server = await startMailServer(0, ['bob@example.com'])
  t.after(() => server.close())
  const id = await addMail({ address: "ann.o'neil@example.com, bob@example.com" })
  await world.addRule()
  await world.addEvent('track')
  const mail = mailBy(server)
  await world.gather({ settings: mail })
  assert.equal(await world.deliver(id, { settings: mail }), 1)
  assert.deepEqual(await world.states(), [
    'delivered 1 The mail server of SMTP_URL did not take the message for bob@example.com: "550 no such ' +
      'person".',
  ])
  assert.deepEqual(await world.problems(), ['recipient_refused'])
})

describe('a cooldown', () => {
  test('is used up only by what was delivered, and within one message by what it tells first', async () => {
    const id = await world.addChannel({ address: 'https://example.com' })
    await world.addRule({ cooldown: '6 hours' })
    const sent: string[][] = []
    let isWell = false
    const sending: typeof send = async (_channel, { content }) => {
      if (!isWell) throw new UnavailableError('not now')
      sent.push(content.lines.map(({ slot }) => slot.slice(11, 13)))
      return null
    }
    const through = () => world.deliver(id, { send: sending })
    await world.addEvent('track', { slot: '2026-03-01 00:00+00' })
    await world.gather()
    await through()
    // The first is given up, so that it has used up nothing.
    await world.sql`update alert_message set give_up_at = clock_timestamp(), next_at = clock_timestamp()`
    await through()
    isWell = true
    for (const hour of ['02', '04', '09']) await world.addEvent('track', { slot: `2026-03-01 ${hour}:00+00` })
    await world.gather()
    await through()
    await world.addEvent('track', { slot: '2026-03-01 14:00+00' })
    await world.gather()
    await through()
    assert.deepEqual(sent, [['09', '02']])
    assert.deepEqual(
      (await world.states()).map((text) => text.split(' ')[0]),
      ['dead', 'delivered', 'empty'],
    )
    const held = await world.sql`
      select to_char(slot, 'HH24') as hour from alert_event where held_back = 'cooldown' order by 1`
    assert.deepEqual(column(held, 'hour'), ['04', '14'])
  })
})

describe('a digest', () => {
  test('goes once at its hour in the time zone of the project, with all that was found', async (t) => {
    const receiver = await receive(t)
    const id = await world.addChannel({ address: receiver.url, digest: 'daily', hour: 8 })
    await world.addRule()
    const runAt = (instant: string) => world.runAt(t, instant, id)
    await world.addEvent('track')
    // 8:00 in Tokyo is 23:00 UTC of the day before: the digest of that hour has not been made yet.
    assert.equal(await runAt('2026-03-01T22:59:00Z'), 1)
    assert.equal(await runAt('2026-03-01T22:59:30Z'), 0)
    await world.addEvent('collect')
    await world.addEvent('audit')
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

  test('goes once on days of 23 or 25 hours, also at an hour that is missing or comes twice', async (t) => {
    await world.addChannel({ address: 'https://example.com', digest: 'daily', hour: 2 })
    await world.addRule()
    await world.sql`update project set timezone = 'Europe/Berlin'`
    const times: string[] = []
    for (const instant of [
      ...['2026-03-29T00:59Z', '2026-03-29T01:00Z', '2026-03-29T23:59Z', '2026-03-30T00:00Z'],
      ...[
        '2026-10-24T00:00Z',
        '2026-10-24T23:59Z',
        '2026-10-25T00:00Z',
        '2026-10-25T01:00Z',
        '2026-10-26T01:00Z',
      ],
    ]) {
      await world.moveTo(t, instant, async (moved) => {
        if ((await world.gather({ db: moved })).length > 0) times.push(instant)
      })
      await world.sql`update alert_message set state = 'delivered', ended_at = clock_timestamp()`
    }
    assert.deepEqual(times, [
      '2026-03-29T00:59Z',
      '2026-03-29T01:00Z',
      '2026-03-30T00:00Z',
      '2026-10-24T00:00Z',
      '2026-10-25T00:00Z',
      '2026-10-26T01:00Z',
    ])
  })

  test('of a week goes on Mondays, and none of a project without rules to the channel', async () => {
    await world.addChannel({ address: 'https://example.com', digest: 'weekly', hour: 6 })
    await world.gather()
    assert.equal((await world.sql`select from alert_message`).length, 0)
    await world.addRule()
    await world.gather()
    const [message] = await world.sql`
      select to_char(digest_at at time zone 'Asia/Tokyo', 'Dy HH24:MI') as at from alert_message`
    assert.equal(message?.at, 'Mon 06:00')
  })
})

test('what a rule without a channel finds is kept, and never sent when it gets one', async () => {
  await world.addRule({ channel: null })
  await world.addEvent('track')
  await world.gather()
  await world.addChannel({ address: 'https://example.com' })
  await world.sql`update alert_rule set channel = 'ops'`
  await world.gather()
  assert.equal((await world.sql`select from alert_message`).length, 0)
  const [event] = await world.sql`select state from alert_history`
  assert.equal(event?.state, 'channel')
})
