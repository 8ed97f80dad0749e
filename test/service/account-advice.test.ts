import assert from 'node:assert/strict'
import { test } from 'node:test'
import { envelope, openClient, plainBody, startWireServer } from './wire-server.ts'

const refusals = [
  ['a wrong password', plainBody(401, ''), /\(40100\).* Check APP_DATA_LOGIN and APP_DATA_PASSWORD\.$/],
  ['40100', envelope(null, { status_code: 40100 }), /Check APP_DATA_LOGIN and APP_DATA_PASSWORD\.$/],
  [
    'an account that is not verified',
    envelope(null, { status_code: 40104 }),
    /The account is not verified yet: .*\.$/,
  ],
  [
    'an address that is not allowed',
    envelope(null, { status_code: 40207 }),
    /does not allow calls from the address of this machine: .*\.$/,
  ],
  [
    'another state of the account',
    envelope(null, { status_code: 40201 }),
    /Look at the state of the account with the service\.$/,
  ],
  [
    'an unknown code of the whole call',
    envelope(null, { status_code: 40199 }),
    /Look at the state of the account with the service\.$/,
  ],
  [
    'an account without this part of the service',
    envelope(null, { status_code: 40204 }),
    /The account may not use the App Data API: order it with the service\.$/,
  ],
  ['no money', plainBody(402, ''), /\(40200\).* Check the balance and the cost limits of the account\.$/],
  [
    'a cost limit',
    envelope(null, { status_code: 40203 }),
    /Check the balance and the cost limits of the account\.$/,
  ],
] as const

for (const [name, answer, message] of refusals) {
  test(`a refusal for ${name} names the call, and what to do`, async (t) => {
    const server = await startWireServer(t, answer)
    const error = await openClient(t, server.baseUrl)
      .getUserData()
      .catch((cause: unknown) => cause)
    assert.ok(error instanceof Error)
    assert.match(error.message, /^GET \/v3\/appendix\/user_data failed: /)
    assert.match(error.message, message)
    assert.equal(error.message.includes('PASSWORD'), message.source.includes('PASSWORD'))
  })
}
