import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { runCommand } from '../support/command.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
before(async () => {
  database = await createTestDatabase()
})
after(() => database.drop())

async function ask(t: TestContext, query: string, format: string): Promise<string> {
  const env = { DATABASE_URL: database.url, TZ: 'Asia/Kolkata' }
  const { code, stdout, stderr } = await runCommand(t, ['sql', query, format], { env })
  assert.equal(code, 0, stderr)
  return stdout
}

test('values are printed as the database writes them, whatever the time zone of the person', async (t) => {
  const query = `select 9007199254740993::bigint as big, 7::bigint as small, date '2026-01-01' as day,
    timestamp '2026-01-01 10:00' as local, timestamptz '2026-01-01 10:00+00' as at, interval '6 hours' as every, 1 as a, 2 as a`
  assert.deepEqual(JSON.parse(await ask(t, query, '--json')), [
    {
      big: '9007199254740993',
      small: 7,
      day: '2026-01-01',
      local: '2026-01-01 10:00:00',
      at: '2026-01-01 10:00:00+00',
      every: '06:00:00',
      a: 1,
      a_2: 2,
    },
  ])
  assert.equal(
    await ask(t, `select date '2026-01-01' as day, null as nothing, 'a,b' as text`, '--csv'),
    'day,nothing,text\n2026-01-01,,"a,b"\n',
  )
})

test('a query without SQL is a mistake in the usage', async (t) => {
  const { code, stderr } = await runCommand(t, ['sql', ' '], { env: { DATABASE_URL: database.url } })
  assert.equal(code, 2)
  assert.match(stderr, /There is no SQL in the query/)
})

/** Writes at the end which modules were loaded; by file, because a module of CommonJS may be loaded by several names. */
const COUNTING = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  const loaded = new Set()
  registerHooks({ load: (url, context, next) => (loaded.add(url), next(url, context)) })
  process.on('exit', () => process._rawDebug(JSON.stringify([...loaded])))`)}`

test('a query loads neither service, queue, sandbox nor what draws, and few modules in all', async (t) => {
  const env = { DATABASE_URL: database.url, NODE_OPTIONS: `--import=${COUNTING}` }
  const { code, stderr } = await runCommand(t, ['sql', 'select 1'], { env })
  assert.equal(code, 0, stderr)
  const modules: string[] = JSON.parse(stderr)
  const foreign = modules.filter((url) =>
    /\/node_modules\/(undici|pg|pg-boss|fastify|hono|ora|pino-pretty|csv-parse|d3-[a-z]+|drizzle-orm|node-cron)\//.test(
      url,
    ),
  )
  assert.deepEqual(foreign, [])
  assert.ok(modules.length > 50 && modules.length < 250, `${modules.length} modules`)
})
