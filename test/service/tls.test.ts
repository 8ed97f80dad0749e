/** The service is who its certificate says, or it hears nothing of us. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { CERTIFICATE, KEY } from '../support/certificate.ts'
import { runCommand } from '../support/command.ts'
import { makeEmptyHome } from '../support/embedded.ts'
import { envelope, openClient, taskWith } from './wire-server.ts'

/** A service on https whose certificate nobody vouches for; counts what it is asked. */
async function startImpostor(t: TestContext) {
  let asked = 0
  const answer = envelope([taskWith([{ api: 'app_data', status: 'ok', endpoints: null }])])
  const server = createServer({ key: KEY, cert: CERTIFICATE }, (request, response) => {
    asked += 1
    const { method = '', url: path = '', headers, socket } = request
    answer({ method, path, headers, body: '' }, response, socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked }
}

test('a certificate that signs itself is refused, and neither login nor task is sent', async (t) => {
  const impostor = await startImpostor(t)
  const client = openClient(t, impostor.url)
  await assert.rejects(client.getStatus(), {
    code: 'unavailable',
    message: /certificate is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
  })
  const task = { tag: 'a.1', subject: 'x', locationCode: 1, languageCode: 'en', priority: 1 } as const
  const send = { deadlineMs: performance.now() + 60_000 }
  const outcome = await client.postTasks('ios_store', 'app_info', [task], send)
  assert.equal(outcome.kind, 'not_sent')
  assert.match(outcome.reason, /certificate is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)/)
  assert.equal(impostor.asked(), 0)
})

test('no setting of Node turns that off, and one that names the certificate lets it in', async (t) => {
  const impostor = await startImpostor(t)
  const account = { APP_DATA_URL: impostor.url, APP_DATA_LOGIN: 'me', APP_DATA_PASSWORD: 'secret' }
  const careless = { env: { ...account, NODE_TLS_REJECT_UNAUTHORIZED: '0' } }
  const refused = await runCommand(t, ['api', 'appendix/status'], careless)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /certificate is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)/)
  assert.equal(impostor.asked(), 0)

  const file = join(dirname(await makeEmptyHome(t)), 'certificate.pem')
  await writeFile(file, CERTIFICATE)
  const trusting = { env: { ...account, NODE_EXTRA_CA_CERTS: file } }
  const told = await runCommand(t, ['api', 'appendix/status'], trusting)
  assert.equal(told.code, 0, told.stderr)
  assert.equal(impostor.asked(), 1)
})
