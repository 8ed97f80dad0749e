import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeWork } from '../../src/cli/run-report.ts'

test('a line of a runner says what was done, and for whom', () => {
  const none = { stored: 0, posted: 0, projects: 0, micros: 0 }
  assert.equal(
    describeWork({ ...none, stored: 312, projects: 4, micros: 310_000 }),
    'stored 312 results of 4 projects, $0.31',
  )
  assert.equal(
    describeWork({ stored: 1, posted: 1, projects: 1, micros: 1200 }),
    'stored 1 result, posted 1 measurement of 1 project, $0.0012',
  )
  assert.equal(describeWork({ ...none, stored: 5 }), 'stored 5 results')
})
