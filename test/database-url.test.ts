import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import os, { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type DatabaseAddress, parseDatabaseUrl } from '../src/database-url.ts'
import { makeEmptyHome } from './support/embedded.ts'

const me = userInfo().username

describe('DATABASE_URL is read as libpq reads it', () => {
  const meanings: [url: string, Partial<DatabaseAddress>][] = [
    ['postgres://db/ranks', { host: 'db', port: 5432, user: me, password: '', database: 'ranks', tls: null }],
    [
      'postgresql://u:p%40ss%2F@db:6000/my%20ranks',
      { port: 6000, user: 'u', password: 'p@ss/', database: 'my ranks' },
    ],
    ['postgres://u@db', { database: 'u' }],
    ['postgres://db/.', { database: '.' }],
    ['postgres://db/%2E%2E', { database: '..' }],
    ['postgres://db/a/../b', { database: 'a/../b' }],
    ['postgres://[::1]:6000/ranks', { host: '::1', port: 6000 }],
    ['postgres:///ranks', { host: 'localhost', database: 'ranks' }],
    ['postgres://', { host: 'localhost', user: me, database: me }],
    // Sockets: as a parameter, as a host with its slashes encoded, with and without a login and a port.
    [
      'postgres:///ranks?host=/var/run/postgresql',
      { host: '/var/run/postgresql', port: 5432, database: 'ranks' },
    ],
    ['postgres://u:p@/ranks?host=/tmp&port=6000', { host: '/tmp', port: 6000, user: 'u', password: 'p' }],
    ['postgres://db/ranks?host=%2Ftmp', { host: '/tmp' }],
    ['postgres://u@%2Fvar%2Frun:6000/ranks', { host: '/var/run', port: 6000, user: 'u', database: 'ranks' }],
    ['postgres://u@:6000/ranks', { host: 'localhost', port: 6000 }],
    // Parameters go before what the URL says elsewhere; a plus is a plus.
    [
      'postgres://a:b@c:1/d?user=e&password=f%2B+&host=g&port=2&dbname=h',
      { host: 'g', port: 2, user: 'e', password: 'f++', database: 'h' },
    ],
    ['postgres://db/ranks?connect_timeout=7', { connectTimeoutS: 7 }],
  ]
  for (const [url, expected] of meanings) {
    test(url, () => {
      const address = parseDatabaseUrl(url)
      assert.deepEqual({ ...address, ...expected }, address)
    })
  }

  test('whatever characters user, password and database have', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }),
        fc.string(),
        fc.string({ minLength: 1 }),
        (user, password, database) => {
          const [u, p, d] = [user, password, database].map((text) => encodeURIComponent(text.toWellFormed()))
          for (const url of [
            `postgres://${u}:${p}@db/${d}`,
            `postgres://db?user=${u}&password=${p}&dbname=${d}`,
          ]) {
            const address = parseDatabaseUrl(url)
            assert.deepEqual(
              [address.user, address.password, address.database],
              [user, password, database].map((text) => text.toWellFormed()),
            )
          }
        },
      ),
    )
  })

  test('with TLS, the certificate and its name are checked, whatever sslmode calls it', async (t) => {
    for (const mode of ['require', 'verify-ca', 'verify-full']) {
      const { tls } = parseDatabaseUrl(`postgres://db/ranks?sslmode=${mode}&sslrootcert=system`)
      assert.deepEqual(tls, { host: 'db', rejectUnauthorized: true })
    }
    const file = join(dirname(await makeEmptyHome(t)), 'ca.pem')
    await writeFile(file, 'an authority')
    const { tls } = parseDatabaseUrl(`postgres://db/ranks?sslmode=verify-full&sslrootcert=${file}`)
    assert.deepEqual(tls, { host: 'db', rejectUnauthorized: true, ca: 'an authority' })
    // As with libpq.
    assert.equal(parseDatabaseUrl('postgres:///ranks?host=/tmp&sslmode=verify-full').tls, null)
    assert.equal(parseDatabaseUrl('postgres://db/ranks?sslmode=disable').tls, null)
  })
})

describe('DATABASE_URL is refused', () => {
  const refusals: [url: string, sentence: RegExp][] = [
    ['mysql://db/ranks', /^must be a URL such as postgres:/],
    ['db/ranks', /^must be a URL such as/],
    ['postgres://u:p%@db/ranks', /a % in them as %25$/],
    ['postgres://u:p#w@db/ranks', /^must be a URL such as/],
    ['postgres://u:12#w@db/ranks', /^must be a URL such as/],
    ['postgres://a,b/ranks', /^must name one host/],
    ['postgres://a/ranks?host=b,c', /^must name one host/],
    [
      'postgres://db/ranks?hots=/tmp',
      /^must have no parameters but host, port, .*: hots is none of them\. Did you mean host\?$/,
    ],
    ['postgres://db/ranks?ssl_mode=require', /Did you mean sslmode\?$/],
    ['postgres://db/ranks?options=-c%20x', /: options is none of them\.$/],
    ['postgres://db/ranks?sslmode=prefer', /^must have an sslmode of disable, require/],
    [
      'postgres://db/ranks?sslmode=verify-full&sslrootcert=/not/there',
      /^must have an sslrootcert that can be read: .* \(ENOENT\)$/,
    ],
    ['postgres://db:0/ranks', /^must have a port that is a whole number from 1 to 65535$/],
    ['postgres://db/ranks?port=x', /^must have a port/],
    ['postgres://db/ranks?connect_timeout=-1', /^must have a connect_timeout/],
    // The password of u is 12?hush.
    ['postgres://u:12?hush=x@db/ranks', /^must have no parameters but [^:]*$/],
  ]
  for (const [url, sentence] of refusals) {
    test(url, () => {
      assert.throws(() => parseDatabaseUrl(url), { name: 'ConfigurationError', message: sentence })
    })
  }
})

test('a user that has a number alone has to be named', (t) => {
  t.mock.method(os, 'userInfo', () => {
    throw Object.assign(new Error('uv_os_get_passwd returned ENOENT'), { code: 'ERR_SYSTEM_ERROR' })
  })
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  assert.throws(() => parseDatabaseUrl('postgres://db/ranks'), {
    name: 'ConfigurationError',
    message: 'must name its user: the user of this process has a number, and no name',
  })
  assert.equal(parseDatabaseUrl('postgres://me@db/ranks').user, 'me')
})
