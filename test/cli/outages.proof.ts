/**
 * What an operator sees of `storerank start` when something is taken away, and that all goes well again by
 * itself.
 */
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { pino } from 'pino'
import { openDatabase } from '../../src/db/database.ts'
import { enqueueRun } from '../../src/queue/job.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { startPostgres } from '../crash/servers.ts'
import { readProblemsPanel } from '../grafana/problems-panel.ts'
import { callCommand, startCommand } from '../support/command.ts'
import { settingsOf } from '../support/sandbox-process.ts'
import { until } from '../support/world.ts'

const LIMIT_MS = 150_000

test('what is taken away is told where an operator looks, and all is well when it is back', async (t) => {
  const server = await startPostgres()
  t.after(() => server.stop())
  const options = { readyMs: 0, readyListsPerMinute: 1000, idListsPerMinute: 1000 }
  let sandbox = await startSandbox(options)
  t.after(() => sandbox.close())
  const port = await findPort()
  const env = { ...settingsOf(server.url, sandbox.url), OPERATIONS_LISTEN: String(port) }
  const db = openDatabase(server.url, { name: 'test' })
  t.after(() => db.close())
  assert.equal((await callCommand(['migrate'], { env })).code, 0)
  let watched = 0
  /** Something to buy. */
  const watch = async () => {
    watched += 1
    await db.sql`
      insert into keyword_watch (project, store, keyword, location_code, language_code)
      values ('p', 'ios_store', ${`yoga ${watched}`}, 2840, 'en')`
  }
  await watch()
  const runner = startCommand(t, ['start'], { env })
  await until('start runs', async () => runner.stderr().includes('job scheduled'), LIMIT_MS)
  const queue = await openQueue(server.url, pino({ level: 'silent' }))
  t.after(() => queue.stop(0))

  const ask = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    return { status: response.status, text: await response.text() }
  }
  const wake = async (...jobs: string[]) => {
    for (const job of jobs) await enqueueRun(db, queue, job, new Date(), true)
  }
  const check = () => callCommand(['status', '--check'], { env })
  /** Each row as text: what it is about, its kind and its sentence. */
  const readPanel = async () =>
    (await readProblemsPanel(server.url)).map(({ about, kind, message }) => `${about} ${kind}: ${message}`)
  /**
   * Jobs are woken as the schedule would, until an operator is told; `rows` are on the dashboard, which needs
   * a database that can be reached.
   */
  const seen = (what: RegExp, metric: RegExp, rows: readonly RegExp[], jobs: string[] = []) =>
    until(
      `${what} is told`,
      async () => {
        await wake(...jobs).catch(() => {})
        const told = await check()
        if (!what.test(told.stdout + told.stderr) || !metric.test((await ask('/metrics')).text)) return false
        if (rows.length === 0) return true
        const panel = await readPanel()
        return rows.every((row) => panel.some((line) => row.test(line)))
      },
      LIMIT_MS,
    )
  const isWell = async () => {
    await wake('track', 'collect', 'reconcile', 'account', 'status').catch(() => {})
    const { code } = await check()
    const [row] = await db.sql<
      { captures: number }[]
    >`select count(*) as captures from ranking where gap is null`
    const { text } = await ask('/metrics')
    return (
      code === 0 &&
      row?.captures === watched &&
      (await ask('/readyz')).status === 200 &&
      !(await readPanel()).some((line) => /^(open work|job|account) /.test(line)) &&
      !/^storerank_troubles\{.*\} [1-9]/m.test(text)
    )
  }
  const wellAgain = (after: string) =>
    until(`all is well after ${after}`, () => isWell().catch(() => false), LIMIT_MS)
  await wellAgain('the start')

  await server.stopFor(async () => {
    await seen(
      /unknown: The database cannot be reached.*Check that the server runs/s,
      /^storerank_database_up 0$/m,
      [],
    )
    assert.equal((await ask('/readyz')).status, 503)
  })
  await wellAgain('the database was away')

  await db.sql.unsafe(`alter role current_user set temp_file_limit = 0`)
  await db.sql`select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()
    and application_name like 'storerank%'`
  await seen(
    /^no_room: The database server cannot write: .*Make room on its disk/,
    /^storerank_troubles\{kind="no_room"\} 1$/m,
    [/^open work no_room: The database server cannot write: .*Make room on its disk/],
  )
  await db.sql.unsafe(`alter role current_user reset temp_file_limit`)
  await db.sql`select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()
    and application_name like 'storerank%'`
  await wellAgain('the disk was full')

  const { port: servicePort } = new URL(sandbox.url)
  await sandbox.close()
  await watch()
  await seen(
    /^job_failed: The last run of the job \w+, at .*, failed: /m,
    /^storerank_troubles\{kind="job_failed"\} [1-9]/m,
    [/^job failed: .*\.$/],
    ['track', 'collect', 'account'],
  )
  sandbox = await startSandbox({ ...options, port: Number(servicePort) })
  await wellAgain('the service was gone')

  const restart = async (balanceUsd: number) => {
    await sandbox.close()
    sandbox = await startSandbox({ ...options, port: Number(servicePort), balanceUsd })
  }
  await restart(0)
  await watch()
  await seen(
    /^budget: The budget does not reach 1 slots that are due: .*\nbalance: What is left of the account's/m,
    /^storerank_troubles\{kind="balance"\} 1$/m,
    [
      /^open work budget_cut: The budget does not reach 1 slots that are due: raise it/,
      /^account balance: What is left of the account's balance .*: add money to the account\.$/,
    ],
    ['account', 'track'],
  )
  await restart(1_000)
  await wellAgain('the money was gone')

  runner.child.kill('SIGTERM')
  assert.equal((await runner.ended).code, 0)
})

async function findPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
