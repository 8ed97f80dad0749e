/**
 * grafana/login.sql and deploy/monitor.sql, run by psql as an operator runs them: the owner of the database,
 * who is no superuser.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { type TestContext, test } from 'node:test'
import postgres from 'postgres'
import { PLANNING_SETTINGS } from '../../src/db/connection.ts'
import { startPostgres } from '../crash/servers.ts'
import { callCommand } from '../support/command.ts'
import { FOLDER_OF_DEBIAN, findInstalled } from '../support/installed.ts'

const PASSWORD = "twelve or more: it's $1"
const programs = findInstalled('psql')
const skip = programs === undefined && `no psql in ${FOLDER_OF_DEBIAN}`

/** A database that its owner has migrated, and what runs a script as the owner. */
async function openOwned(t: TestContext, script: string) {
  const server = await startPostgres()
  t.after(() => server.stop())
  const admin = postgres(server.url, { max: 1 })
  await admin`create role owner login createrole password 'owner'`
  await admin`create database owned owner owner`
  await admin.end()
  const urlOf = (username: string, password: string) =>
    Object.assign(new URL(server.url), { username, password, pathname: '/owned' }).href
  const url = urlOf('owner', 'owner')
  const run = (env: Readonly<Record<string, string>>) =>
    spawnSync(
      join(programs ?? '', 'psql'),
      ['--no-psqlrc', '--file', join(import.meta.dirname, '../..', script), url],
      { encoding: 'utf8', env: { PATH: process.env.PATH, ...env } },
    )
  const twelve = 'twelve letters'
  const early = run({ GRAFANA_DATABASE_PASSWORD: twelve, MONITOR_DATABASE_PASSWORD: twelve })
  assert.match(early.stderr, /The role storerank_reader is missing: storerank migrate makes it/)
  const { code, stderr } = await callCommand(['migrate'], { env: { DATABASE_URL: url } })
  assert.equal(code, 0, stderr)
  /** @param passwords are taken, one after the other, and the one before them is refused */
  const make = (variable: string, passwords: readonly string[]) => {
    const refused = run({ [variable]: 'short' })
    assert.notEqual(refused.status, 0)
    assert.match(refused.stderr, new RegExp(`Set ${variable} to a password of 12 `))
    for (const password of passwords) {
      const { status, stdout, stderr } = run({ [variable]: password })
      assert.equal(status, 0, stderr)
      assert.ok(!`${stdout}${stderr}`.includes(password))
    }
  }
  return { url, urlOf, make }
}

test('grafana/login.sql makes a login that reads the views and nothing else, and may be run again', {
  skip,
}, async (t) => {
  const { urlOf, make } = await openOwned(t, 'grafana/login.sql')
  make('GRAFANA_DATABASE_PASSWORD', ['the first password', PASSWORD])
  const { hostname, port } = new URL(urlOf('', ''))
  const grafana = postgres({
    ...{ host: hostname, port: Number(port), database: 'owned', max: 1 },
    ...{ user: 'grafana', password: PASSWORD },
  })
  t.after(() => grafana.end())
  assert.equal((await grafana`select count from open_work where kind = 'planned'`)[0]?.count, '0')
  const [settings] = await grafana`
    select current_setting('jit') as jit, current_setting('constraint_exclusion') as constraint_exclusion`
  assert.deepEqual(settings, PLANNING_SETTINGS)
  await assert.rejects(grafana`select from task`, { code: '42501' })
  await assert.rejects(grafana`create temp table mine (a int)`, { code: '25006' })
})

test('deploy/monitor.sql makes a login for status --check, which changes nothing', { skip }, async (t) => {
  const { url, urlOf, make } = await openOwned(t, 'deploy/monitor.sql')
  const password = 'letters0and1digits'
  make('MONITOR_DATABASE_PASSWORD', [password, password])
  const owner = { env: { DATABASE_URL: url } }
  const monitor = { env: { DATABASE_URL: urlOf('storerank_monitor', password) } }
  const sql = postgres(url, { max: 1 })
  t.after(() => sql.end())
  await sql`insert into keyword_watch (project, store, keyword, location_code, language_code)
    values ('p', 'ios_store', 'yoga', 2840, 'en')`
  const idle = await callCommand(['status', '--check'], monitor)
  assert.deepEqual([idle.code, idle.stderr], [1, ''])
  assert.match(idle.stdout, /^no_run: Nothing was ever planned/)
  assert.equal((await callCommand(['run'], owner)).code, 0)
  const well = await callCommand(['status', '--check', '--json'], monitor)
  assert.deepEqual([well.code, well.stderr, JSON.parse(well.stdout)], [0, '', { troubles: [] }])
  for (const args of [['run'], ['sql', 'delete from keyword_watch'], ['sql', 'select from page']])
    assert.notEqual((await callCommand(args, monitor)).code, 0, args.join(' '))
})
