/**
 * Every error that leaves a client names its party, the reason and what to do: database, service, webhook,
 * Slack, mail server, heartbeat, file system. None blames another party, none shows a secret, and none asks
 * to be reported.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { TLSSocket } from 'node:tls'
import { pino } from 'pino'
import type { Channel } from '../src/alerts/channel.ts'
import { send } from '../src/alerts/send.ts'
import { describeFailure } from '../src/cli/failure.ts'
import { openDatabase } from '../src/db/database.ts'
import { saysOutage } from '../src/db/outage.ts'
import { ConfigurationError, UnavailableError } from '../src/errors.ts'
import { sendHeartbeat } from '../src/monitor/heartbeat.ts'
import { openQueue } from '../src/queue/queue.ts'
import { Secret } from '../src/secret.ts'
import { describeTrouble, describeUnreachable } from '../src/trouble.ts'
import { openClient } from './service/wire-server.ts'
import { CERTIFICATE, KEY } from './support/certificate.ts'
import { makeCommandHome, runCommand } from './support/command.ts'
import { CHANNEL, MESSAGE, NO_ALERT_SETTINGS } from './support/message.ts'

const PATH = '/services/a-secret-of-the-path'
const LOGIN = 'me:the-password'
const SIGNING = `whsec_${randomBytes(24).toString('base64')}`
const { signal } = new AbortController()

async function listen(t: TestContext, server: Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => server.close())
  return `localhost:${(server.address() as AddressInfo).port}`
}

/** Where to call, which cannot be reached for one reason each. */
const TROUBLES: Readonly<
  Record<string, readonly [find: (t: TestContext) => Promise<string>, says: RegExp, tls?: true]>
> = {
  'nothing listens': [
    async (t) => {
      const server = createServer()
      const host = await listen(t, server)
      await new Promise((done) => server.close(done))
      return host
    },
    /nothing listens there \([^)]*ECONNREFUSED/,
  ],
  'no name server knows its host': [
    async () => 'nowhere.invalid:8443',
    /no name server (knows its host|answers) \([^)]*(ENOTFOUND|EAI_AGAIN)/,
  ],
  'it drops the connection': [
    (t) =>
      listen(
        t,
        createServer((socket) => socket.destroy()),
      ),
    /closed the connection before it answered|ends it without an answer/,
  ],
  'its certificate is not trusted': [
    (t) => {
      const server = createTlsServer({ key: KEY, cert: CERTIFICATE })
      return listen(t, server)
    },
    /certificate is not trusted( \(|: self-signed|\. Name)/,
    true,
  ],
}

const sendAs = (fields: Partial<Channel>, secret: string, smtp = '') =>
  send(
    { ...CHANNEL, ...fields },
    MESSAGE,
    {
      ...NO_ALERT_SETTINGS,
      privateHosts: ['localhost'],
      secrets: new Map([['ALERT_OPS', new Secret(secret)]]),
      smtpUrl: new Secret(smtp),
      smtpFrom: 'ranks@example.com',
    },
    signal,
  )

/** Each calls a host and fails: the party that is to be blamed, and what it throws. */
type Call = (t: TestContext, host: string, isTls: boolean) => Promise<unknown>
const http = (host: string, isTls: boolean) =>
  `${isTls || host.startsWith('nowhere') ? 'https' : 'http'}://${host}`
const OF_DATABASE = /^The database('s certificate is not trusted| cannot be reached): .* DATABASE_URL/
const databaseAt = (host: string, isTls: boolean) =>
  `postgres://${LOGIN}@${host}/x${isTls ? '?sslmode=verify-full' : ''}`
const CLIENTS: Readonly<Record<string, readonly [party: RegExp, call: Call]>> = {
  'the database': [
    OF_DATABASE,
    (t, host, isTls) => {
      const db = openDatabase(databaseAt(host, isTls))
      t.after(() => db.close())
      return db.sql`select 1`
    },
  ],
  'the queue in the database': [
    OF_DATABASE,
    (_, host, isTls) => openQueue(databaseAt(host, isTls), pino({ level: 'silent' })),
  ],
  'the service': [
    /^GET .* This is the service of APP_DATA_URL\. [A-Z]/,
    (t, host, isTls) => openClient(t, http(host, isTls)).getStatus(),
  ],
  'a webhook': [
    /^The receiver could not be reached: /,
    (_, host, isTls) => sendAs({ address: `${http(host, isTls)}${PATH}` }, SIGNING),
  ],
  Slack: [
    /^The receiver could not be reached: /,
    (_, host, isTls) => sendAs({ kind: 'slack' }, `${http(host, isTls)}${PATH}`),
  ],
  'the mail server': [
    /^The mail server of SMTP_URL could not be reached: /,
    (_, host, isTls) => {
      const url = `${isTls ? 'smtps' : 'smtp'}://${LOGIN}@${host}`
      return sendAs({ kind: 'email', address: 'ann@example.com', secretVariable: null }, '', url)
    },
  ],
  'the heartbeat': [
    /^The receiver of HEARTBEAT_URL could not be reached: /,
    async (_, host, isTls) => {
      const reasons: string[] = []
      const log = pino({}, { write: (line) => reasons.push(JSON.parse(line).reason) })
      await sendHeartbeat(new Secret(`${http(host, isTls)}${PATH}`), log)
      throw new UnavailableError(reasons.join())
    },
  ],
}

/** What a command would print. */
const told = (error: unknown) => describeFailure(describeTrouble(error) ?? error, false)

for (const [client, [party, call]] of Object.entries(CLIENTS)) {
  describe(`${client} is told with the reason and a remedy when`, () => {
    for (const [trouble, [find, says, isTls = false]] of Object.entries(TROUBLES)) {
      test(trouble, async (t) => {
        const host = await (isTls && party.source.includes('DATABASE_URL') ? startTlsPostgres(t) : find(t))
        const error = await call(t, host, isTls).then(
          () => assert.fail('it was reached'),
          (thrown) => thrown,
        )
        const sentence = told(error)
        assert.match(sentence, party)
        assert.match(sentence, says)
        assert.match(sentence, /[.:] [A-Z][^.]*(\.[^ ][^.]*)*\.$/, 'it ends in what to do')
        assert.doesNotMatch(sentence, /a-secret|the-password|whsec_|did not expect|undefined|\[object/)
      })
    }
  })
}

/** Takes the request for TLS, as a server of Postgres does, and shows a certificate that signs itself. */
function startTlsPostgres(t: TestContext): Promise<string> {
  const server = createServer((socket) => {
    socket
      .on('error', () => {})
      .once('data', () => {
        socket.write('S')
        new TLSSocket(socket, { isServer: true, key: KEY, cert: CERTIFICATE }).on('error', () => {})
      })
  })
  return listen(t, server)
}

describe('a command says whose fault it is', () => {
  const CASES: readonly (readonly [
    args: readonly string[],
    env: Record<string, string>,
    code: number,
    says: RegExp,
  ])[] = [
    [
      ['status'],
      { DATABASE_URL: 'postgres://me@/x?host=/nowhere/sockets' },
      1,
      /^The database cannot be reached: there is no such file or folder \(connect ENOENT \/nowhere\//,
    ],
    [
      ['import', '-'],
      { TMPDIR: '/nowhere/tmp' },
      2,
      /^The folder of temporary files cannot be used for \/nowhere\/tmp\/\S+: there is no such .* Set TMPDIR/,
    ],
    [
      ['import', '/nowhere.csv'],
      {},
      2,
      /^\/nowhere\.csv cannot be read: there is no such file or folder \(ENOENT/,
    ],
    [['status', '--settings', '/tmp'], {}, 2, /^\/tmp cannot be read: it is a folder \(EISDIR\)\.$/],
  ]
  for (const [args, env, code, says] of CASES)
    test(args.join(' '), async (t) => {
      const home = await makeCommandHome(t)
      const ended = await runCommand(t, [...args], { env: { ...env, STORERANK_HOME: home } })
      assert.match(ended.stderr.trim(), says)
      assert.equal(ended.code, code)
      assert.doesNotMatch(ended.stderr, /did not expect/)
    })
})

describe('an error is told by its code, however deep it is', () => {
  const coded = (code: string, more: object = {}) =>
    Object.assign(new Error('what happened'), { code, ...more })

  test('of a party that does not answer, or is nowhere', () => {
    for (const [error, says] of [
      [new DOMException('The operation was aborted', 'TimeoutError'), /did not answer in time\. Check/],
      [coded('UND_ERR_CONNECT_TIMEOUT'), /did not answer in time \(UND_ERR_CONNECT_TIMEOUT\)/],
      [
        new TypeError('fetch failed', { cause: coded('ENETUNREACH') }),
        /no network leads there \(ENETUNREACH\)/,
      ],
      [new AggregateError([coded('EHOSTUNREACH'), coded('ECONNREFUSED')]), /\(ECONNREFUSED\)/],
      [coded('EPROTO'), /does not speak TLS there/],
      [new Error('something new.'), /could not be reached: something new\. See its own log\.$/],
      ['text', /no reason is known/],
    ] as const)
      assert.match(describeUnreachable('The receiver', error), says)
  })

  test('of a file system', () => {
    for (const [code, says] of [
      ['EACCES', /this user may not do that \(EACCES\)\. Give the user/],
      ['EROFS', /read-only/],
      ['ENOSPC', /there is no room left/],
      ['EMFILE', /too many files are open/],
    ] as const) {
      const trouble = describeTrouble(
        new Error('outer', { cause: coded(code, { syscall: 'open', path: '/a' }) }),
      )
      assert.ok(trouble instanceof ConfigurationError, code)
      assert.match(trouble.message, /^The machine that runs storerank refuses open of \/a: /)
      assert.match(trouble.message, says)
    }
  })

  test('and a sentence stays as it is, unless the database is below it', () => {
    const file = coded('EACCES', { syscall: 'open', path: '/a' })
    assert.equal(describeTrouble(new ConfigurationError('REPORT_DIR cannot be made.', { cause: file })), null)
    const lost = new UnavailableError('The post could not be claimed.', { cause: coded('ECONNRESET') })
    assert.match(describeTrouble(lost)?.message ?? '', /^The database cannot be reached/)
    const ended = describeTrouble(new Error('Connection terminated unexpectedly'))
    assert.match(ended?.message ?? '', /reached: it closed the connection before it answered/)
  })

  test('a socket that is not there is an outage, as a server that starts again has none', () => {
    assert.ok(saysOutage(coded('ENOENT', { syscall: 'connect' })))
    assert.ok(!saysOutage(coded('ENOENT', { syscall: 'open' })))
  })
})
