/**
 * HTTPS_PROXY carries what goes to the service, to receivers and to the heartbeat's other side: nothing on
 * loopback, nothing that NO_PROXY names, and no receiver that may not be called without it.
 */
import assert from 'node:assert/strict'
import dns from 'node:dns'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import { type AddressInfo, connect } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import tls from 'node:tls'
import { pino } from 'pino'
import { send } from '../src/alerts/send.ts'
import { readConfig } from '../src/config.ts'
import { sendHeartbeat } from '../src/monitor/heartbeat.ts'
import { type ProxySettings, proxyOf } from '../src/proxy.ts'
import { Secret } from '../src/secret.ts'
import { envelope, openClient, taskWith } from './service/wire-server.ts'
import { ELSEWHERE } from './support/certificate.ts'
import { CHANNEL, MESSAGE, NO_ALERT_SETTINGS } from './support/message.ts'

/** What the proxy was asked for, and what then arrived. */
const asked: string[] = []
const arrived: string[] = []
let status = 200
const elsewhere = createTlsServer(ELSEWHERE, (request, response) => {
  const { method = '', url: path = '', headers, socket } = request
  arrived.push(`${method} ${headers.host}${path}`)
  request.resume().on('end', () => {
    if (!path.startsWith('/v3/')) {
      response.end('taken')
      return
    }
    const answer = envelope([taskWith([{ api: 'app_data', status: 'ok', endpoints: null }])])
    answer({ method, path, headers, body: '' }, response, socket)
  })
})
const proxy = createServer().on('connect', (request, socket, head) => {
  asked.push(`${request.url} ${request.headers['proxy-authorization'] ?? ''}`.trim())
  socket.on('error', () => {})
  if (status !== 200) return socket.end(`HTTP/1.1 ${status} No\r\n\r\n`)
  const { port } = elsewhere.address() as AddressInfo
  const other = connect(port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connected\r\n\r\n')
    other.write(head)
    socket.pipe(other).pipe(socket)
  })
  return other.on('error', () => socket.destroy())
})
let settings: ProxySettings
const usual = tls.getCACertificates('default')

before(async () => {
  tls.setDefaultCACertificates([...usual, ELSEWHERE.cert])
  for (const server of [elsewhere, proxy])
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = proxy.address() as AddressInfo
  settings = { url: new Secret(`http://me:hush@127.0.0.1:${port}`), bypass: '' }
})
beforeEach(() => {
  status = 200
  asked.length = 0
  arrived.length = 0
})
after(() => {
  tls.setDefaultCACertificates(usual)
  for (const server of [elsewhere, proxy]) server.close().closeAllConnections()
})

const LOGIN = `Basic ${btoa('me:hush')}`

describe('the service is called through it', () => {
  const task = { tag: 'a.1', subject: 'x', locationCode: 1, languageCode: 'en', priority: 1 } as const

  test('for free calls and for posts', async (t) => {
    const client = openClient(t, 'https://service.example.com', { proxy: settings })
    assert.equal((await client.getStatus()).length, 1)
    await client.postTasks('ios_store', 'app_info', [task], { deadlineMs: performance.now() + 60_000 })
    assert.equal(asked[0], `service.example.com:443 ${LOGIN}`)
    assert.deepEqual(
      arrived.map((line) => line.split(' ')[0]),
      ['GET', 'POST'],
    )
  })

  test('and a post whose time is over when it has connected is not sent', async (t) => {
    const client = openClient(t, 'https://service.example.com', { proxy: settings })
    const outcome = await client.postTasks('ios_store', 'app_info', [task], {
      deadlineMs: performance.now() - 1,
    })
    assert.equal(outcome.kind, 'not_sent')
    assert.deepEqual(arrived, [])
  })

  test('and what the proxy refuses is told of it', async (t) => {
    const client = (proxy: ProxySettings) => openClient(t, 'https://service.example.com', { proxy })
    status = 407
    await assert.rejects(client(settings).getStatus(), /the proxy of HTTPS_PROXY refused it with HTTP 407/)
    const nowhere = { url: new Secret('http://127.0.0.1:1'), bypass: '' }
    await assert.rejects(
      client(nowhere).getStatus(),
      /of the proxy of HTTPS_PROXY, nothing listens there \(ECONNREFUSED\)/,
    )
  })
})

test('the heartbeat is called through it', async () => {
  const lines: string[] = []
  const log = pino({}, { write: (line) => lines.push(line) })
  await sendHeartbeat(new Secret('https://hooks.example.com/beat'), log, settings)
  assert.deepEqual(
    [asked, arrived, lines],
    [[`hooks.example.com:443 ${LOGIN}`], ['GET hooks.example.com/beat'], []],
  )
})

describe('a receiver of alerts', () => {
  const tell = (url: string, privateHosts: string[] = []) => {
    const channel = { ...CHANNEL, name: 'chat', kind: 'slack', secretVariable: 'ALERT_CHAT' } as const
    const secrets = new Map([['ALERT_CHAT', new Secret(url)]])
    const all = { ...NO_ALERT_SETTINGS, secrets, privateHosts, proxy: settings }
    return send(channel, MESSAGE, all, new AbortController().signal)
  }
  const namesLeadTo = (
    t: { mock: typeof import('node:test').mock; after(run: () => void): void },
    address: string,
  ) => {
    t.mock.method(dns, 'lookup', (_name: string, _options: object, done: (...found: unknown[]) => void) =>
      done(null, [{ address, family: 4 }]),
    )
    syncBuiltinESMExports()
    t.after(() => {
      t.mock.restoreAll()
      syncBuiltinESMExports()
    })
  }

  test('is judged here, and the proxy is asked for the address that was judged', async (t) => {
    namesLeadTo(t as never, '8.8.8.8')
    await tell('https://hooks.example.com/in')
    assert.deepEqual([asked, arrived], [[`8.8.8.8:443 ${LOGIN}`], ['POST hooks.example.com/in']])
  })

  test('of a private network is refused, whatever the proxy could reach', async (t) => {
    namesLeadTo(t as never, '10.0.0.1')
    for (const url of ['https://hooks.example.com/in', 'https://10.0.0.1/in'])
      await assert.rejects(tell(url), /private or link-local network/, url)
    assert.deepEqual(asked, [])
  })

  test('that the operator allows is asked for by its name, which the proxy may know alone', async () => {
    await tell('https://hooks.example.com/in', ['hooks.example.com'])
    assert.deepEqual([asked, arrived], [[`hooks.example.com:443 ${LOGIN}`], ['POST hooks.example.com/in']])
  })
})

test('loopback and what NO_PROXY names are called straight', () => {
  const bypass = 'internal.example.com, .corp.example,*.wild.example 10.0.0.1 other.example:8443'
  const through = (url: string) => proxyOf(new URL(url), { ...settings, bypass }) !== null
  for (const [url, isProxied] of [
    ['https://service.example.com', true],
    ['http://service.example.com', false],
    ['https://localhost:1', false],
    ['https://127.9.9.9', false],
    ['https://[::1]', false],
    ['https://internal.example.com', false],
    ['https://notinternal.example.com', true],
    ['https://a.internal.example.com.', false],
    ['https://a.corp.example', false],
    ['https://b.wild.example', false],
    ['https://10.0.0.1', false],
    ['https://other.example', true],
    ['https://other.example:8443', false],
  ] as const)
    assert.equal(through(url), isProxied, url)
  assert.equal(proxyOf(new URL('https://a.example'), { ...settings, bypass: '*' }), null)
})

test('the setting is read in small letters too, and refused where it is no proxy', () => {
  const { proxy: read, notes } = readConfig({
    https_proxy: 'http://proxy.internal:3128',
    no_proxy: '.internal',
  })
  assert.deepEqual([read.url?.reveal(), read.bypass, notes], ['http://proxy.internal:3128', '.internal', []])
  assert.throws(
    () => readConfig({ HTTPS_PROXY: 'socks5://me:hush@p' }),
    /^ConfigurationError: HTTPS_PROXY must [^@]*$/,
  )
})
