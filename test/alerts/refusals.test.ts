/**
 * Each error that leaves a sender names the party, the reason that it gave, and what to do; no secret, and
 * never the database.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { pino } from 'pino'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import type { Channel } from '../../src/alerts/channel.ts'
import { send } from '../../src/alerts/send.ts'
import { sendHeartbeat } from '../../src/monitor/heartbeat.ts'
import { Secret } from '../../src/secret.ts'
import { describeTrouble } from '../../src/trouble.ts'
import { column } from '../support/database.ts'
import { receive } from '../support/deliveries.ts'
import { CHANNEL, MESSAGE, NO_ALERT_SETTINGS } from '../support/message.ts'
import { startReceiver } from '../support/receivers.ts'

const PATH = '/services/T0000000/B0000000/a-secret-of-the-path'
const PASSWORD = 'the-password-of-the-mail'
const SECRET = `whsec_${randomBytes(24).toString('base64')}`

/** What a sender throws, as a channel of each kind that goes by HTTP, by the address. */
async function refusedAt(address: string): Promise<Error> {
  const { signal } = new AbortController()
  const allowed = { ...NO_ALERT_SETTINGS, privateHosts: ['127.0.0.1', 'localhost'] }
  const webhook = { ...allowed, secrets: new Map([['ALERT_OPS', new Secret(SECRET)]]) }
  const slack = { ...allowed, secrets: new Map([['ALERT_OPS', new Secret(address)]]) }
  const errors = await Promise.all([
    send({ ...CHANNEL, address }, MESSAGE, webhook, signal).catch((error) => error),
    send({ ...CHANNEL, kind: 'slack' }, MESSAGE, slack, signal).catch((error) => error),
  ])
  // Whether a socket ends or is reset is chance.
  const [first, second] = errors.map(({ message }) => message.replace(/ \([A-Z_]+\)/, ''))
  assert.equal(first, second)
  return errors[0]
}

function assertTold(error: Error, party: string, says: RegExp): void {
  const { message } = error
  assert.ok(message.startsWith(`${party} `), message)
  assert.match(message, says)
  assert.match(message, /[.] [A-Z][^.]*\.$/, 'it ends in what to do')
  assert.doesNotMatch(message, /a-secret|T0000000|whsec_|the-password|undefined|\[object/)
  assert.equal(describeTrouble(error), null, 'it is no trouble of the database')
}

describe('a receiver', () => {
  const ANSWERS: readonly (readonly [status: number, body: string, says: RegExp])[] = [
    [400, 'invalid_blocks', /HTTP 400: "invalid_blocks"\. Check that it takes what is sent to it\.$/],
    [404, 'no_service', /HTTP 404: "no_service"\. Check its address\.$/],
    [403, '', /HTTP 403\. Check its address and its secret\.$/],
    [
      404,
      JSON.stringify({
        code: 404,
        message: 'The webhook is not registered.',
        hint: 'The workflow must be active.',
      }),
      /"The webhook is not registered\.; The workflow must be active"/,
    ],
    [422, JSON.stringify({ error: { message: 'embeds[0] is empty' } }), /: "embeds\[0\] is empty"/],
    [422, JSON.stringify({ code: 50035 }), /: "\{"code":50035\}"/],
    [
      502,
      '<html><style>a{}</style><h1>Bad\n Gateway</h1>nginx</html>',
      /: "Bad Gateway nginx"\. See its own log\.$/,
    ],
    [404, `Cannot POST ${PATH}`, /: "Cannot POST \[secret\]"/],
    [404, `No token ${PATH.split('/').at(-1)}\u001b[31m`, /: "No token \[secret\]␛\[31m"/],
    [500, 'x'.repeat(100_000), /: "x{300}…"/],
    [307, '', /HTTP 307\. Write the address to which it leads: no redirect is followed\.$/],
    [410, 'archived', /HTTP 410 \(Gone\): it wants no more messages\. It says "archived"\.$/],
    [429, 'slow down', /HTTP 429: "slow down"\. It takes more later\.$/],
  ]

  test('that answers with a status is told with what it says', async (t) => {
    let answer: RequestListener = () => {}
    const { url } = await receive(t, (request, response) => answer(request, response))
    for (const [status, body, says] of ANSWERS) {
      answer = (_, response) => response.writeHead(status).end(body)
      assertTold(await refusedAt(new URL(PATH, url).href), 'The receiver', says)
    }
  })
})

describe('a mail server', () => {
  const startMail = async (t: { after(run: () => void): void }, options: SMTPServerOptions) => {
    const server = new SMTPServer({ authOptional: true, hideSTARTTLS: true, logger: false, ...options })
    server.on('error', () => {})
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    t.after(() => server.close())
    return (server.server.address() as AddressInfo).port
  }
  const refusedBy = async (port: number, login = '') => {
    const smtpUrl = new Secret(`smtp://${login}127.0.0.1:${port}`)
    const settings = { ...NO_ALERT_SETTINGS, smtpUrl, smtpFrom: 'ranks@example.com' }
    const channel: Channel = { ...CHANNEL, kind: 'email', address: 'ann@example.com', secretVariable: null }
    return send(channel, MESSAGE, settings, new AbortController().signal).catch((error) => error)
  }
  const replying = (code: number, text: string) => Object.assign(new Error(text), { responseCode: code })

  test('is told with what it replied to the login, to the addresses and to the message', async (t) => {
    const login = await startMail(t, {
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (_auth, _session, done) =>
        done(replying(535, `5.7.139 SmtpClientAuthentication is disabled for the Tenant (${PASSWORD})`)),
    })
    assertTold(
      await refusedBy(login, `me:${PASSWORD}@`),
      'The mail server of SMTP_URL',
      /message: ".*SmtpClientAuthentication is disabled for the Tenant \(\[secret\]\)"\. Check the login/,
    )
    const addresses = await startMail(t, {
      onRcptTo: (_address, _session, done) => done(replying(550, 'no such person')),
    })
    assertTold(
      await refusedBy(addresses),
      'The mail server of SMTP_URL',
      /"550 no such person"\. Check SMTP_FROM and the addresses of the channel\.$/,
    )
    for (const [code, remedy] of [
      [451, 'It may take it later.'],
      [554, 'Ask those who run the mail server.'],
    ] as const) {
      const port = await startMail(t, {
        onData: (stream, _session, done) => {
          stream.resume().on('end', () => done(replying(code, 'policy of the house')))
        },
      })
      const error = await refusedBy(port)
      assertTold(error, 'The mail server of SMTP_URL', /"\d+ policy of the house"/)
      assert.ok(error.message.endsWith(remedy), error.message)
    }
  })
})

test('a heartbeat that is refused is logged with what its receiver says, without its address', async () => {
  const lines: { reason: string; httpStatus?: number }[] = []
  const log = pino({}, { write: (line) => lines.push(JSON.parse(line)) })
  const { url, close } = await startReceiver((_, response) =>
    response.writeHead(404).end(`The workflow at ${PATH} must be active`),
  )
  const address = new Secret(new URL(PATH, url).href)
  await sendHeartbeat(address, log)
  await close()
  await sendHeartbeat(address, log)
  assert.deepEqual(column(lines, 'reason'), [
    'The receiver of HEARTBEAT_URL answered HTTP 404: "The workflow at [secret] must be active". ' +
      'Check its address.',
    'The receiver of HEARTBEAT_URL could not be reached: nothing listens there (ECONNREFUSED). Check ' +
      'that it runs, and the port.',
  ])
})
