import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { askService, runCommand, startCommand } from '../support/command.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/embedded.ts'

const LOGIN = 'somebody@example.com'
const PASSWORD = 'hush-Kd83-quiet'
const KEYWORDS = ['yoga', 'c++', '100% free', 'naïve', '日本語', 'calm']

let sandbox: Sandbox
before(async () => {
  sandbox = await startSandbox({ readyMs: 0, readyListsPerMinute: 1000, login: LOGIN, password: PASSWORD })
})
after(() => sandbox.close())

/** What a person sets who has both. The password is a secret also where the server does not ask for one. */
function settings(database: TestDatabase, changes: Record<string, string> = {}) {
  const url = new URL(database.url)
  url.password ||= 'hush-db-72'
  const account = { APP_DATA_URL: sandbox.url, APP_DATA_LOGIN: LOGIN, APP_DATA_PASSWORD: PASSWORD }
  return { env: { DATABASE_URL: url.href, ...account, ...changes } }
}

const books = () => askService(sandbox.url, { login: LOGIN, password: PASSWORD })

async function watchKeywords(database: TestDatabase) {
  await database.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select 'fitness', 'ios_store', keyword, 2840, 'en' from unnest(${KEYWORDS}::text[]) keyword`
  await database.sql`insert into app_watch (project, store, app_id) values ('fitness', 'ios_store', '1480010017')`
}

async function withDatabase(work: (database: TestDatabase) => Promise<void>, make = createTestDatabase) {
  const database = await make()
  try {
    await work(database)
  } finally {
    await database.drop()
  }
}

/** A service that passes a request on to the sandbox when the test says so. */
async function startProxy(handle: (incoming: IncomingMessage, pass: () => void) => void) {
  const server = createServer((incoming, answer) => {
    handle(incoming, () => {
      const { method = 'GET', url = '/', headers } = incoming
      const forwarded = request(new URL(url, sandbox.url), { method, headers }, (response) => {
        answer.writeHead(response.statusCode ?? 500, response.headers)
        response.pipe(answer)
      })
      incoming.pipe(forwarded)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const isPost = ({ url }: IncomingMessage) => url?.endsWith('/task_post') === true

describe('with an own database and account', () => {
  test('a database without tables makes plan and status say what to do', (t) =>
    withDatabase(async (database) => {
      for (const command of ['plan', 'status']) {
        const { code, stderr } = await runCommand(t, [command], settings(database))
        assert.equal(code, 2)
        assert.match(
          stderr,
          /^The database of DATABASE_URL has no tables .* `storerank migrate` or `storerank run` first\.\n$/,
        )
      }
    }, createEmptyDatabase))

  test('a run on a database with nothing in it makes the tables, watches nothing and buys nothing', (t) =>
    withDatabase(async (database) => {
      const bought = await books()
      const { code, stdout, stderr } = await runCommand(t, ['run'], settings(database))
      assert.equal(code, 0, stderr)
      assert.match(stdout, /Bought nothing: nothing is watched\./)
      assert.doesNotMatch(stdout, /EMBEDDED|SANDBOX|psql/)
      const rows =
        await database.sql`select 1 from keyword_watch union all select 1 from app_watch union all select 1 from project`
      assert.equal(rows.length, 0)
      assert.deepEqual(await books(), bought)
    }, createEmptyDatabase))

  test('what plan announces is what the run is charged, to the micro-dollar', (t) =>
    withDatabase(async (database) => {
      await watchKeywords(database)
      const plan = JSON.parse((await runCommand(t, ['plan', '--json'], settings(database))).stdout)
      assert.ok(plan.plannedMicros > 0)
      const { code, stdout, stderr } = await runCommand(
        t,
        ['run'],
        settings(database, { LOG_LEVEL: 'trace' }),
      )
      assert.equal(code, 0, stderr)
      const [charged] = await database.sql`
        select sum(amount_micros)::int as micros, count(distinct service_id)::int as tasks from charge where kind = 'charge'`
      assert.deepEqual(charged, { micros: plan.plannedMicros, tasks: plan.planned })
      for (const secret of [PASSWORD, 'hush-db-72', btoa(`${LOGIN}:${PASSWORD}`)]) {
        assert.ok(!(stdout + stderr).includes(secret), 'no output has a password')
      }
    }))

  test('a wrong password is one sentence, and nothing is posted', (t) =>
    withDatabase(async (database) => {
      await watchKeywords(database)
      const { code, stdout, stderr } = await runCommand(
        t,
        ['run'],
        settings(database, { APP_DATA_PASSWORD: 'wrong-hush', LOG_LEVEL: 'error' }),
      )
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, /^[^\n]*APP_DATA_LOGIN and APP_DATA_PASSWORD[^\n]*\n$/)
      assert.ok(!stderr.includes('wrong-hush'))
      assert.equal((await database.sql`select from task`).length, 0)
    }))

  test('a service that is not there is one sentence', (t) =>
    withDatabase(async (database) => {
      const { code, stderr } = await runCommand(
        t,
        ['run'],
        settings(database, { APP_DATA_URL: 'http://127.0.0.1:1', LOG_LEVEL: 'error' }),
      )
      assert.equal(code, 1)
      assert.match(
        stderr,
        /^[^\n]*ECONNREFUSED[^\n]* Check the address of the service \(APP_DATA_URL\)[^\n]*\n$/,
      )
    }))

  test('a job that only looks spends nothing, whatever waits in the queue', (t) =>
    withDatabase(async (database) => {
      await watchKeywords(database)
      const nobody = { APP_DATA_URL: 'http://127.0.0.1:1' }
      await runCommand(t, ['run', 'track', '--wait', '1s'], settings(database, nobody))
      const waiting = await database.sql`select from pgboss.job where name = 'post' and state < 'completed'`
      assert.equal(waiting.length, 1)
      const looked = await runCommand(t, ['run', 'account', 'housekeeping'], settings(database))
      assert.equal(looked.code, 0, looked.stderr)
      const tasks = await database.sql`select distinct state from task`
      assert.deepEqual([...tasks], [{ state: 'planned' }])
    }))

  test('named jobs run once, say what they did, and leave with 75 while another runner has one', (t) =>
    withDatabase(async (database) => {
      await watchKeywords(database)
      const tracked = await runCommand(t, ['run', 'track', 'collect'], settings(database))
      assert.equal(tracked.code, 0, tracked.stderr)
      assert.match(tracked.stdout, /^track: \{.*"planned":6.*\}\ncollect: \{.*\}\n$/)
      const collected = await runCommand(t, ['run', 'collect'], settings(database))
      assert.equal(collected.code, 0)
      const open = await database.sql`select from task where state <> 'collected'`
      assert.equal(open.length, 0)

      await database.sql.begin(async (tx) => {
        await tx`select pg_advisory_xact_lock(hashtext('storerank job'), hashtext('track'))`
        const { code, stderr } = await runCommand(
          t,
          ['run', 'track'],
          settings(database, { LOG_LEVEL: 'error' }),
        )
        assert.deepEqual([code, stderr], [75, 'Another runner has the job track; nothing was done here.\n'])
      })
    }))
})

describe('SIGTERM', () => {
  test('while a post is on its way waits for the answer and settles it', (t) =>
    withDatabase(async (database) => {
      await watchKeywords(database)
      let held: (() => void) | undefined
      const proxy = await startProxy((incoming, pass) => {
        if (isPost(incoming)) held = pass
        else pass()
      })
      try {
        const run = startCommand(t, ['run'], settings(database, { APP_DATA_URL: proxy.url }))
        await until('a post is on its way', () => held !== undefined)
        const processes = readdirSync('/proc')
          .filter((name) => /^\d+$/.test(name))
          .map((pid) => readIfThere(`/proc/${pid}/cmdline`))
        assert.ok(processes.some((line) => line.includes('storerank.js')))
        assert.ok(!processes.some((line) => line.includes(PASSWORD) || line.includes('hush-db')))

        run.child.kill('SIGTERM')
        await run.says('stopping in order')
        // A slow service: the answer comes long after a command without a grace time would have gone.
        setTimeout(() => held?.(), 2_000)
        const { code, stderr } = await run.ended
        assert.equal(code, 143)
        assert.match(
          stderr,
          /\nStopped\. What was sent is settled; the next run goes on where this one ended\.\n$/,
        )
        const states = await database.sql`select state, count(*)::int from task group by 1`
        assert.deepEqual([...states], [{ state: 'posted', count: KEYWORDS.length }])
      } finally {
        proxy.close()
      }
      const { code } = await runCommand(t, ['run'], settings(database))
      assert.equal(code, 0)
      const states = await database.sql`select state, attempt, count(*)::int from task group by 1, 2`
      assert.deepEqual([...states], [{ state: 'collected', attempt: 1, count: KEYWORDS.length }])
    }))

  test('while a post is never answered leaves it unknown, and says so', (t) =>
    withDatabase(async (database) => {
      await watchKeywords(database)
      const dead: IncomingMessage[] = []
      const proxy = await startProxy((incoming, pass) => {
        if (isPost(incoming)) dead.push(incoming.resume())
        else pass()
      })
      try {
        const run = startCommand(t, ['run'], settings(database, { APP_DATA_URL: proxy.url }))
        await until('a post is on its way', () => dead.length > 0)
        run.child.kill('SIGTERM')
        await run.says('stopping in order')
        for (const incoming of dead) incoming.socket.destroy()
        const { stderr } = await run.ended
        assert.match(stderr, /\nStopped\. 1 posts have no answer: they are unknown/)
        const posts = await database.sql`select state from post`
        assert.deepEqual([...posts], [{ state: 'unknown' }])
      } finally {
        proxy.close()
      }
    }))
})

test('a run that is killed in the middle is finished by the next one, and nothing is bought twice', (t) =>
  withDatabase(async (database) => {
    await watchKeywords(database)
    const before = await books()
    const proxy = await startProxy((incoming, pass) => {
      // Only what is posted and settled is asked for: the tasks are paid, and nothing is collected.
      if (incoming.url?.endsWith('/tasks_ready')) killed.child.kill('SIGKILL')
      else pass()
    })
    const killed = startCommand(t, ['run'], settings(database, { APP_DATA_URL: proxy.url }))
    assert.equal((await killed.ended).code, null)
    proxy.close()

    assert.equal((await runCommand(t, ['run'], settings(database))).code, 0)
    const tasks = await database.sql`select state, attempt, count(*)::int from task group by 1, 2`
    assert.deepEqual([...tasks], [{ state: 'collected', attempt: 1, count: KEYWORDS.length }])
    assert.equal((await books()).tasks, before.tasks + KEYWORDS.length)
  }))

test('start catches up, and SIGTERM ends it in order with 0', (t) =>
  withDatabase(async (database) => {
    await watchKeywords(database)
    const runner = startCommand(t, ['start'], settings(database))
    await until('what is due is measured', async () => {
      const rows = await database.sql`select from task where state = 'posted'`
      return rows.length === KEYWORDS.length
    })
    const listed = await runCommand(
      t,
      ['sql', 'select count(*)::int as tasks from task', '--json'],
      settings(database),
    )
    assert.deepEqual(JSON.parse(listed.stdout), [{ tasks: KEYWORDS.length }])
    runner.child.kill('SIGTERM')
    const { code, stderr } = await runner.ended
    assert.equal(code, 0, stderr)
    assert.equal(JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '').msg, 'stopped')
    const left =
      await database.sql`select from pg_stat_activity where datname = current_database() and application_name like 'storerank%'`
    assert.equal(left.length, 0)
  }))

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
