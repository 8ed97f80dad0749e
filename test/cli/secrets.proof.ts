/**
 * What storerank is told in confidence (the passwords of service and database, and the end of the address for
 * deliveries) is looked for wherever it writes: outputs, logs at their most talkative, the process list, and
 * every column of every table, in runs that go well and in runs that fail.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, type TestContext, test } from 'node:test'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { type Ended, runCommand, startCommand } from '../support/command.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/embedded.ts'
import { settingsOf } from '../support/sandbox-process.ts'

const LOGIN = 'somebody@example.com'
/** The letters in the middle are looked for; the signs around them look different in each way of writing. */
const CORE = 'Kd83hushQuiet'
const DATABASE_CORE = 'Wq52hushStill'
const PASSWORD = `a "${CORE}"/é+%?`
const DATABASE_PASSWORD = `b "${DATABASE_CORE}"/@:%?`
const POSTBACK_SECRET = 'Zr97hushSilent-0123456789'
const FORMS = [
  CORE,
  DATABASE_CORE,
  POSTBACK_SECRET,
  ...[`${LOGIN}:${PASSWORD}`, PASSWORD, DATABASE_PASSWORD].map((text) =>
    Buffer.from(text).toString('base64'),
  ),
  ...[CORE, DATABASE_CORE].map((text) => Buffer.from(text).toString('hex')),
]

let sandbox: Sandbox
let database: TestDatabase
const role = `runner_${randomBytes(6).toString('hex')}`

before(async () => {
  sandbox = await startSandbox({ readyMs: 0, readyListsPerMinute: 1000, login: LOGIN, password: PASSWORD })
  database = await createTestDatabase()
  const password = DATABASE_PASSWORD.replaceAll("'", "''")
  await database.sql.unsafe(`create role ${role} superuser login password '${password}'`)
  await database.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    values ('fitness', 'ios_store', 'yoga', 2840, 'en'), ('fitness', 'android_store', 'yoga', 2840, 'en')`
  await database.sql`insert into app_watch (project, store, app_id)
    values ('fitness', 'ios_store', '1480010017')`
})
after(async () => {
  await sandbox.close()
  await database.sql.unsafe(`reassign owned by ${role} to current_user; drop role ${role}`)
  await database.drop()
})

function settings(changes: Record<string, string> = {}) {
  const url = Object.assign(new URL(database.url), {
    username: role,
    password: encodeURIComponent(DATABASE_PASSWORD),
  })
  return {
    env: {
      ...settingsOf(url.href, sandbox.url, { login: LOGIN, password: PASSWORD }),
      POSTBACK_URL: `http://127.0.0.1:1/hooks/${POSTBACK_SECRET}`,
      LOG_LEVEL: 'trace',
      ...changes,
    },
  }
}

function assertSilent(what: string, text: string): void {
  for (const form of FORMS) assert.ok(!text.includes(form), `${what} has a secret:\n${text}`)
}

const assertOutputSilent = (what: string, { stdout, stderr }: Ended) => assertSilent(what, stdout + stderr)

/** Rows of any table of the database that hold a secret in any column, as `table: row`. */
async function searchDatabase(): Promise<string[]> {
  const tables = await database.sql<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind in ('r', 'm') and c.relnamespace <> 'pg_catalog'::regnamespace
      and c.relname !~ '^pg_toast'`
  assert.ok(
    ['task', 'api_call', 'pgboss.job_common'].every((name) => tables.some((table) => table.name === name)),
  )
  const found: string[] = []
  for (const { name } of tables) {
    const rows = await database.sql<{ row: string }[]>`
      select t::text as row from ${database.sql.unsafe(name)} t
      where exists (select from unnest(${FORMS}::text[]) form where position(form in t::text) > 0)`
    found.push(...rows.map(({ row }) => `${name}: ${row}`))
  }
  return found
}

/** A service whose connections break off in the middle of every answer but the first ones. */
async function startBreakingProxy(t: TestContext, wholeAnswers: number): Promise<string> {
  let answers = 0
  const server = createServer((incoming, answer) => {
    const { method = 'GET', url = '/', headers } = incoming
    const forwarded = request(new URL(url, sandbox.url), { method, headers }, (response) => {
      answers += 1
      answer.writeHead(response.statusCode ?? 500, response.headers)
      if (answers <= wholeAnswers) response.pipe(answer)
      else response.once('data', (part) => answer.write(part.subarray(0, 20), () => answer.destroy()))
    })
    incoming.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The command line of every process of this machine that can be seen. */
function listProcesses(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      } catch {
        return ''
      }
    })
}

describe('no secret is written', () => {
  test('by a run that fails, wherever and with whatever error', async (t) => {
    const fails = async (what: string, job: string[], changes: Record<string, string>) => {
      const ended = await runCommand(t, ['run', ...job, '--wait', '1s'], settings(changes))
      assert.notEqual(ended.code, 0, `${what}: ${ended.stderr}`)
      assertOutputSilent(what, ended)
    }
    const changed = (part: 'username' | 'port', value: string) => ({
      DATABASE_URL: Object.assign(new URL(settings().env.DATABASE_URL), { [part]: value }).href,
    })
    const account = `${LOGIN}:${CORE}`
    await Promise.all([
      fails('a refused login of the database', [], changed('username', 'nobody_of_that_name')),
      fails('a database that is not there', [], changed('port', '1')),
      fails('a database URL that is none', [], {
        DATABASE_URL: `postgres//me:${DATABASE_CORE}@localhost/db`,
      }),
      fails('a service URL with an account', [], { APP_DATA_URL: `https://${account}@service.example.com` }),
    ])
    await fails('a refused password of the service', [], { APP_DATA_PASSWORD: `${PASSWORD}!` })
    await fails('a service that is not there', ['account'], { APP_DATA_URL: 'http://127.0.0.1:1' })
    await fails('a service that breaks off', ['account'], { APP_DATA_URL: await startBreakingProxy(t, 0) })
  })

  test('by a run whose sessions the database cuts off', async (t) => {
    const run = startCommand(
      t,
      ['run', '--wait', '1s'],
      settings({ APP_DATA_URL: await startBreakingProxy(t, 30) }),
    )
    let cut = 0
    await until('the run has ended', async () => {
      const sessions = await database.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where usename = ${role} and exists (select from post) and (
          application_name = 'storerank queue' or query like '%id_list%' or query like '%fetching_until%')`
      cut += sessions.count
      return run.child.exitCode !== null
    })
    assert.ok(cut > 0)
    assertOutputSilent('the run', await run.ended)
  })

  test('by a run that goes well, nor shown in the list of processes meanwhile', async (t) => {
    const run = startCommand(t, ['run'], settings())
    let looked = 0
    await until('the run has ended', () => {
      const processes = listProcesses()
      if (processes.some((line) => line.includes('storerank.js\0run'))) looked += 1
      assertSilent('the list of processes', processes.join('\n'))
      return run.child.exitCode !== null
    })
    const ended = await run.ended
    assert.equal(ended.code, 0, ended.stderr)
    assert.ok(looked > 0, 'the run was in the list')
    assertOutputSilent('the run', ended)
    // Nobody listens where results are delivered: the service lists the failures, with the address.
    assertOutputSilent('the list of failures', await runCommand(t, ['run', 'failures'], settings()))
    assert.ok((await database.sql`select from service_failure where function = 'postback_url'`).count > 0)
  })

  test('by the commands that look', async (t) => {
    const commands = [
      ['status'],
      ['plan', '--json'],
      ['sql', 'select nothing'],
      ['api', 'appendix/user_data'],
    ]
    await Promise.all(
      commands.map(async (command) =>
        assertOutputSilent(command.join(' '), await runCommand(t, command, settings())),
      ),
    )
  })

  test('into the database: no column of any table has it, after all of this', async () => {
    assert.deepEqual(await searchDatabase(), [])
    await database.sql`update project set name = ${`they said ${CORE}`}`
    assert.ok((await searchDatabase()).length > 1, 'it would have been found')
  })
})
