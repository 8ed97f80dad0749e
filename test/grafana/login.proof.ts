/** grafana/login.sql, run by psql as an operator runs it. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import postgres from 'postgres'
import { PLANNING_SETTINGS } from '../../src/db/connection.ts'
import { createTestDatabase } from '../support/database.ts'

const SCRIPT = join(import.meta.dirname, '../../grafana/login.sql')
const FOLDER_OF_DEBIAN = '/usr/lib/postgresql'
const PASSWORD = "twelve or more: it's $1"
const psql = (existsSync(FOLDER_OF_DEBIAN) ? readdirSync(FOLDER_OF_DEBIAN) : [])
  .map((version) => join(FOLDER_OF_DEBIAN, version, 'bin/psql'))
  .find((program) => existsSync(program))

test('grafana/login.sql makes a login that reads the views and nothing else, and may be run again', {
  skip: psql === undefined && `no psql in ${FOLDER_OF_DEBIAN}`,
}, async (t) => {
  const database = await createTestDatabase()
  t.after(async () => {
    await database.sql`drop role if exists grafana`
    await database.drop()
  })
  const run = (password: string) =>
    spawnSync(psql ?? '', ['--no-psqlrc', '--file', SCRIPT, database.url], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, GRAFANA_DATABASE_PASSWORD: password },
    })

  const refused = run('short')
  assert.notEqual(refused.status, 0)
  assert.match(refused.stderr, /Set GRAFANA_DATABASE_PASSWORD to a password of 12 characters or more/)
  assert.equal((await database.sql`select from pg_roles where rolname = 'grafana'`).length, 0)

  for (const password of ['the first password', PASSWORD]) {
    const { status, stdout, stderr } = run(password)
    assert.equal(status, 0, stderr)
    assert.ok(!`${stdout}${stderr}`.includes(password))
  }
  const url = new URL(database.url)
  const grafana = postgres({
    host: url.hostname,
    port: Number(url.port),
    database: url.pathname.slice(1),
    user: 'grafana',
    password: PASSWORD,
    max: 1,
  })
  t.after(() => grafana.end())
  assert.equal((await grafana`select count from open_work where kind = 'planned'`)[0]?.count, '0')
  const [settings] = await grafana`
    select current_setting('jit') as jit, current_setting('constraint_exclusion') as constraint_exclusion`
  assert.deepEqual(settings, PLANNING_SETTINGS)
  await assert.rejects(grafana`select from task`, { code: '42501' })
  await assert.rejects(grafana`create temp table mine (a int)`, { code: '25006' })
})
