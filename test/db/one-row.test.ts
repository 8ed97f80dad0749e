import assert from 'node:assert/strict'
import { test } from 'node:test'
import { oneRow } from '../../src/db/one-row.ts'

test('the one row of a statement is taken, and its lack is an error', () => {
  assert.deepEqual(oneRow([{ count: 0 }]), { count: 0 })
  assert.throws(() => oneRow([]), /always returns a row returned none/)
})
