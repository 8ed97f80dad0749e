/** The proof in small; 1,000 kills are for `npm run crash`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCrash } from './harness.ts'
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

test('a wrong option is answered with the usage', async () => {
  const { exitCode, output } = await runCrash('--kills', 'many')
  assert.equal(exitCode, 2)
  assert.match(output, /^usage: npm run crash/)
})
