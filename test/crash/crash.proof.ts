/** The proof in small; 1,000 kills are for `npm run crash`. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmod, glob, mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '../support/embedded.ts'
import { runCrash, startCrash } from './harness.ts'
import { FAULTS } from './report.ts'

test('25 kills, freezes and cuts leave clean books', async () => {
  const run = await runCrash('--kills', '25', '--tasks', '100')
  assert.equal(run.exitCode, 0, run.output)
  assert.ok(run.count('blows') >= 25, run.output)
  assert.ok(run.count('tasks paid for') > 0, run.output)
  for (const row of Object.values(FAULTS)) assert.equal(run.count(row), 0, run.output)
})

test('the same, in short, against the service as it is sold', async () => {
  const size = ['--kills', '6', '--tasks', '20', '--keywords', '40', '--runners', '2']
  const run = await runCrash('--as-sold', ...size)
  assert.equal(run.exitCode, 0, run.output)
  assert.match(run.output, /the service as it is sold/)
  assert.ok(run.count('tasks paid for') > 0, run.output)
  for (const row of Object.values(FAULTS)) assert.equal(run.count(row), 0, run.output)
})

test('ended by a signal, to it and to its group, it leaves neither a server nor a folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'storerank-crash-signal-'))
  await chmod(folder, 0o755)
  const child = startCrash(['--tasks', '1000'], { TMPDIR: folder, NODE_COMPILE_CACHE: join(folder, 'cache') })
  await until('its Postgres runs', async () => {
    for await (const _ of glob(join(folder, '**/postmaster.pid'))) return true
    return false
  })
  child.kill('SIGTERM')
  child.kill('SIGTERM')
  await once(child, 'exit')
  assert.deepEqual(await readdir(folder), ['cache'])
})

test('a wrong option is answered with the usage', async () => {
  const { exitCode, output } = await runCrash('--kills', 'many')
  assert.equal(exitCode, 2)
  assert.match(output, /^usage: npm run crash/)
})
