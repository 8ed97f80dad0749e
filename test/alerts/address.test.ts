/** Nothing is sent into the operator's own network, whatever a row or a name server says. */
import assert from 'node:assert/strict'
import type { lookup } from 'node:dns'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { checkAddress, isPublicAddress } from '../../src/alerts/address.ts'

const answers = (...addresses: string[]) =>
  ((_name: string, _options: unknown, callback: (error: null, found: object[]) => void) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )) as unknown as typeof lookup

const look = (url: string, resolve: typeof lookup, allowed: string[] = []) =>
  promisify(
    checkAddress(url, allowed, resolve).lookup as never as (
      n: string,
      o: object,
      c: (e: Error | null, a: unknown) => void,
    ) => void,
  )(new URL(url).hostname, { all: true })

describe('an address', () => {
  test('of a private, link-local or special network is none of the internet', () => {
    const internal =
      '0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 ' +
      '192.168.1.1 198.18.0.1 224.0.0.1 255.255.255.255 ' +
      '192.88.99.1 :: ::1 fc00::1 fd12::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 2001:db8::1 2001:20::1 name'
    assert.deepEqual(internal.split(' ').filter(isPublicAddress), [])
    const open = ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450:4001::1']
    assert.deepEqual(open.filter(isPublicAddress), open)
  })

  test('that leads to an IPv4 address is judged by it: mapped, NAT64, 6to4 and Teredo', () => {
    for (const [text, isPublic] of [
      ['::ffff:8.8.8.8', true],
      ['::ffff:10.0.0.1', false],
      ['::ffff:a00:1', false],
      ['64:ff9b::8.8.8.8', true],
      ['64:ff9b::7f00:1', false],
      ['64:ff9b::169.254.169.254', false],
      ['64:ff9b:1::8.8.8.8', true],
      ['64:ff9b:1:fffe::808:808', true],
      ['64:ff9b:1:fffe::192.168.0.1', false],
      // As networks may write 10.0.0.1 and 10.0.0.8 further to the front.
      ['64:ff9b:1:a00:0:100::', false],
      ['64:ff9b:1:0:a:0:800:0', false],
      ['2002:808:808::1', true],
      ['2002:c0a8:101::1', false],
      // Servers 8.8.8.8 and 10.0.0.1; clients 8.8.4.4 and 10.0.0.1.
      ['2001:0:808:808:0:1:f7f7:fbfb', true],
      ['2001:0:808:808:0:1:f5ff:fffe', false],
      ['2001:0:a00:1:0:1:f7f7:fbfb', false],
    ] as const)
      assert.equal(isPublicAddress(text), isPublic, text)
  })

  test('is https, or http on loopback, without a login', () => {
    for (const url of ['http://example.com/', 'ftp://example.com', 'https://a:b@example.com', 'nonsense']) {
      assert.throws(() => checkAddress(url, []), { code: 'configuration' }, url)
    }
    checkAddress('https://example.com/x', [])
    checkAddress('http://127.0.0.1:8080/', ['127.0.0.1'])
  })

  test('that is written as a number or in another form is the same address', () => {
    for (const host of [
      '10.0.0.1',
      '0x0a.1',
      '167772161',
      '[fe80::1]',
      '[::ffff:10.0.0.1]',
      '169.254.169.254',
      '10.0.0.1.',
    ]) {
      assert.throws(() => checkAddress(`https://${host}/`, []), /private or link-local/, host)
    }
    checkAddress('https://10.0.0.1/', ['10.0.0.1'])
  })
})

describe('a name', () => {
  test('is connected to at the address that was checked, refused if any of them is internal', async () => {
    assert.deepEqual(await look('https://hooks.example.com/', answers('8.8.8.8')), [
      { address: '8.8.8.8', family: 4 },
    ])
    for (const found of [['10.0.0.1'], ['8.8.8.8', '127.0.0.1'], ['::1'], ['fe80::1']]) {
      await assert.rejects(look('https://hooks.example.com/', answers(...found)), /private or link-local/)
    }
    await assert.rejects(look('https://hooks.example.com/', answers()), /no address/)
  })

  test('on loopback needs the permission that private networks need', async () => {
    for (const url of ['http://127.0.0.1:8080/', 'http://localhost/', 'http://[::1]/', 'https://127.8.0.1/'])
      assert.throws(() => checkAddress(url, ['other']), /on loopback.*PRIVATE_ALERT_HOSTS/, url)
    checkAddress('http://[::1]/', ['::1'])
    await assert.rejects(look('https://hooks.example.com/', answers('127.0.0.1')), /on loopback/)
  })

  test('that the operator allows may be internal; localhost may be nothing but loopback', async () => {
    const inside = await look('https://chat.internal/', answers('10.0.0.1'), ['chat.internal'])
    assert.deepEqual(inside, [{ address: '10.0.0.1', family: 4 }])
    await assert.rejects(
      look('https://chat.internal/', answers('10.0.0.1'), ['other.internal']),
      /PRIVATE_ALERT_HOSTS/,
    )
    await assert.rejects(
      look('http://localhost/', answers('10.0.0.1'), ['localhost']),
      /private or link-local/,
    )
  })
})
