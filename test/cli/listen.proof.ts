/** `storerank start --listen`, as a process. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, describe, type TestContext, test } from 'node:test'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { askService, runCommand, startCommand } from '../support/command.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/embedded.ts'
import { settingsOf } from '../support/sandbox-process.ts'
import { findFreePort } from '../support/test-server.ts'

const ACCOUNT = { login: 'somebody@example.com', password: 'hush-Kd83-quiet' }

describe('storerank start --listen', () => {
  let sandbox: Sandbox
  let database: TestDatabase
  before(async () => {
    sandbox = await startSandbox({ readyMs: 6_000, readyListsPerMinute: 1_000, ...ACCOUNT })
    database = await createTestDatabase()
  })
  after(async () => {
    await sandbox.close()
    await database.drop()
  })

  async function settingsFor(port: number) {
    const secret = randomBytes(24).toString('hex')
    const env = {
      ...settingsOf(database.url, sandbox.url, ACCOUNT),
      POSTBACK_URL: `http://127.0.0.1:${port}/${secret}`,
      LOG_LEVEL: 'trace',
    }
    return { secret, env }
  }

  async function start(t: TestContext) {
    const port = await findFreePort()
    const { env, secret } = await settingsFor(port)
    const command = startCommand(t, ['start', '--listen', String(port)], { env })
    await command.says('taking deliveries')
    return { ...command, env, secret, port }
  }

  const countTasks = async () => {
    const rows = await database.sql<{ state: string; tasks: number }[]>`
      select state, count(*)::int as tasks from task group by state`
    return Object.fromEntries(rows.map(({ state, tasks }) => [state, tasks]))
  }

  test('on a port that is taken ends with a sentence', async (t) => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    t.after(() => taken.close())
    const { port } = taken.address() as AddressInfo
    const { env } = await settingsFor(port)
    const { code, stderr } = await runCommand(t, ['start', '--listen', String(port)], {
      env: { ...env, LOG_LEVEL: 'error' },
    })
    // A unit starts it again until the other program has left.
    assert.equal(code, 1)
    assert.equal(
      stderr,
      `It is not possible to listen on 127.0.0.1:${port}: another program has that port ` +
        '(EADDRINUSE). Choose another address with --listen.\n',
    )
  })

  test('stores what is delivered; killed in the middle, a later run collects the rest', async (t) => {
    await database.sql`
      insert into keyword_watch (project, store, keyword, location_code, language_code)
      select 'fitness', 'ios_store', 'yoga ' || n, 2840, 'en' from generate_series(1, 300) n`
    const receiver = await start(t)
    await until('some have been delivered', async () => {
      const { planned = 0, posting = 0, collected = 0 } = await countTasks()
      return planned + posting === 0 && collected >= 20
    })
    receiver.child.kill('SIGKILL')
    await receiver.ended
    const { posted = 0 } = await countTasks()
    assert.ok(posted > 0, 'it was killed in the middle')
    const fetched = await database.sql`select from api_call where kind = 'task_get'`
    assert.equal(fetched.length, 0)

    const run = await runCommand(t, ['run', '--wait', '2m'], { env: receiver.env })
    assert.equal(run.code, 0, run.stderr)
    assert.deepEqual(await countTasks(), { collected: 300 })
    const rows = await database.sql`select from ranking where gap is null`
    const charges = await database.sql`select from charge where kind = 'charge'`
    assert.deepEqual([rows.length, charges.length], [300, 300])
    assert.equal((await askService(sandbox.url, ACCOUNT)).tasks, 300)

    const output = receiver.stdout() + receiver.stderr() + run.stdout + run.stderr
    assert.match(output, /"host":"127\.0\.0\.1","port":\d+,"msg":"taking deliveries/)
    assert.match(output, /"stored":\d+.*"msg":"deliveries stored"/)
    assert.ok(!output.includes(receiver.secret), 'no output holds the secret of POSTBACK_URL')
  })

  test('answers at SIGTERM what it has in hand, and ends', async (t) => {
    const { child, ended, port, secret, stderr } = await start(t)
    const [task] = await database.sql`
      update task set state = 'posted', ended_at = null where id = (select id from task limit 1)
      returning service_id as id, id || '.1' as tag`
    const session = await database.sql.reserve()
    await session`begin`
    await session`lock table ranking in exclusive mode`
    const body = JSON.stringify({
      status_code: 20000,
      tasks: [{ id: task?.id, status_code: 40102, result: null }],
    })
    const url = `http://127.0.0.1:${port}/${secret}?id=${task?.id}&tag=${task?.tag}`
    const answer = fetch(url, { method: 'POST', body })
    await until('the write waits for the lock', async () => {
      const waiting = await database.sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return waiting.length > 0
    })
    child.kill('SIGTERM')
    await until('it takes no connection', () =>
      fetch(`http://127.0.0.1:${port}`).then(
        () => false,
        () => true,
      ),
    )
    await session`commit`
    session.release()
    assert.equal((await answer).status, 200)
    const { code } = await ended
    assert.equal(code, 0, stderr())
    assert.deepEqual(await countTasks(), { collected: 300 })
  })
})
