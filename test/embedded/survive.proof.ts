/**
 * What kills, crashes and strange accounts do to the embedded server. How it is attached and left is in
 * `attach.proof.ts`.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, realpath, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import postgres from 'postgres'
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

/**
 * Its role and password, by which it is known again: the server of another test may have taken its port
 * meanwhile.
 */
function loginOf(url: string): string {
  const { username, password } = new URL(url)
  return `${username}:${password}`
}

/** The session by which the only process is present. */
const PRESENT = `select min(pid) as present from pg_locks where locktype = 'advisory' and granted`
/** One that crashes takes all sessions along, and the server begins anew with another. */
const CHECKPOINTER = `select pid from pg_stat_activity where backend_type = 'checkpointer'`

/** Kills a session's process. The server is told of it a moment later. */
async function crashSession(url: string): Promise<void> {
  const victim = postgres(url, { max: 1, fetch_types: false })
  const [row] = await victim`select pg_backend_pid() as pid`
  process.kill(row?.pid, 'SIGKILL')
  await victim.end({ timeout: 0 })
}

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

  test('a lock file whose process number now belongs to another process, or to a dead one that nobody ' +
    'collects', {
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

  test('the crash of one session: who was there is there again, with the server', async (t) => {
    const home = await makeHome(t)
    const server = await attach(t, home)
    const { present } = await query(server.url, PRESENT)
    await crashSession(server.url)
    await until('the server has recovered and the presence is back', async () => {
      const now = await query(server.url, PRESENT).catch(() => ({ present }))
      return now.present !== null && now.present !== present
    })

    const second = await attach(t, home)
    await second.dispose()
    assert.equal(await answers(server.url), true)
  })

  test('the crash of one session, after which a process leaves before the others are back', async (t) => {
    const home = await makeHome(t)
    const server = await attach(t, home)
    const frozen = await startUser(home)
    await server.dispose()
    frozen.child.kill('SIGSTOP')
    const checkpointer = await query(server.url, CHECKPOINTER)
    await crashSession(server.url)
    await until('the server has recovered', async () => {
      const now = await query(server.url, CHECKPOINTER).catch(() => checkpointer)
      return now.pid !== checkpointer.pid
    })

    const leaver = await attach(t, home)
    const left = leaver.dispose()
    frozen.child.kill('SIGCONT')
    await left
    assert.equal(await answers(server.url), true)
    await frozen.leave()
    assert.equal(await answers(server.url), false)
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
    assert.equal(loginOf((await attach(t, home)).url), loginOf(user.url))
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
    await again.leave()
    assert.deepEqual([loginOf(again.url), again.started], [loginOf(user.url), true])
  })
})
