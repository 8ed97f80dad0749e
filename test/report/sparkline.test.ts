import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawSparkline } from '../../src/report/sparkline.ts'

test('a sparkline reaches from the lowest to the highest, is blank in a gap, and has the last values', () => {
  assert.equal(drawSparkline([1, 2, null, 8], 10), '▁▂ █')
  assert.equal(drawSparkline([9, 1, 8], 2), '▁█')
  assert.equal(drawSparkline([5, 5, 5], 10), '▅▅▅')
  assert.equal(drawSparkline([null, null], 10), '  ')
})
