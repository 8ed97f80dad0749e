import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JOBS } from '../../jobs/index.ts'
import { JOB_NAMES } from '../../src/cli/command.ts'

test('the names that `run` takes are those of jobs/', () => {
  assert.deepEqual(
    JOBS.map((job) => job.name),
    JOB_NAMES,
  )
})
