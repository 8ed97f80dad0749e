/** What proves that the proof proves something: each guard taken out shows in the table, where it must. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runCrash } from './harness.ts'
import { FAULTS } from './report.ts'
import { SCENARIOS } from './scenarios.ts'

// Most of a story is waiting, so two at once do not disturb each other.
describe('npm run crash', { concurrency: 2 }, () => {
  for (const [name, { damage }] of Object.entries(SCENARIOS)) {
    test(`finds it when the guard ${name} is gone: ${FAULTS[damage]}`, async () => {
      // A race without its guard: on a busy machine it may be won for once, and is then run again.
      let run = await runCrash('--guard-off', name)
      for (let again = 0; again < 2 && run.count(FAULTS[damage]) === 0; again += 1) {
        run = await runCrash('--guard-off', name)
      }
      assert.equal(run.exitCode, 1, run.output)
      assert.ok(run.count(FAULTS[damage]) > 0, run.output)
    })

    test(`finds nothing in the same story with the guard ${name}`, async () => {
      const run = await runCrash('--scenario', name)
      assert.equal(run.exitCode, 0, run.output)
    })
  }
})
