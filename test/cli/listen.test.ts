import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseListenAddress } from '../../src/listen-address.ts'
import { callCommand } from '../support/command.ts'

describe('--listen', () => {
  const addresses: [text: string, address: ReturnType<typeof parseListenAddress>][] = [
    ['8070', { host: '127.0.0.1', port: 8070 }],
    ['0', { host: '127.0.0.1', port: 0 }],
    ['0.0.0.0:80', { host: '0.0.0.0', port: 80 }],
    ['ranks-1.local:8070', { host: 'ranks-1.local', port: 8070 }],
    ['[::]:8070', { host: '::', port: 8070 }],
    ['::1:8070', null],
    ['65536', null],
    ['localhost', null],
    ['8070 ', null],
    ['http://localhost:8070', null],
    ['', null],
  ]
  for (const [text, address] of addresses) {
    const told = address === null ? 'refused' : `${address.host} ${address.port}`
    test(`${JSON.stringify(text)} is ${told}`, () => {
      assert.deepEqual(parseListenAddress(text), address)
    })
  }

  test('without POSTBACK_URL is refused in a sentence, before anything is opened', async () => {
    const env = { DATABASE_URL: 'postgres://127.0.0.1:1/ranks' }
    const { code, stdout, stderr } = await callCommand(['start', '--listen', '8070'], { env })
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /^--listen needs POSTBACK_URL[^\n]*\.\n$/)
  })
})
