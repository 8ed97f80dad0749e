import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatPoint, GAP_POINTS, notInTop } from '../../src/report/points.js'
import type { Move } from '../../src/report/read-changes.ts'
import { describeMoves, drawSparkline, formatChange } from '../../src/report/summary.ts'
import { formatUsd } from '../../src/text/money.ts'
import { formatDifference, formatPercent } from '../../src/text/words.ts'

test('a point reads as a rank, as how deep it was looked for, or as the reason of a gap', () => {
  assert.deepEqual([12, notInTop(100), GAP_POINTS.budget, GAP_POINTS.html_only, 0].map(formatPoint), [
    '12',
    '> 100',
    'budget',
    'page only',
    '–',
  ])
})

test('a change has a sign, and a word where its size is not known', () => {
  const moves = [
    [2, 'up'],
    [-2, 'down'],
    [0, 'same'],
    [100, 'entered'],
    [-98, 'left'],
    [null, 'not_in_top'],
    [null, null],
  ] as const
  const told = (signs?: readonly [string, string]) =>
    moves.map(([change, movement]) => formatChange({ change, movement }, signs))
  assert.deepEqual(told(), ['+2', '−2', '=', 'in', 'out', '=', '–'])
  assert.deepEqual(told(['▲ ', '▼ ']), ['▲ 2', '▼ 2', '=', 'in', 'out', '=', '–'])
})

test('moves are counted, and what was not measured is told from what fell, by reason', () => {
  const move = (movement: Move['movement'], after: number): Move => ({
    ...{ list: 0, app: 0, before: 5, after, movement },
    ...{ change: null, crossed: null, instead: [] },
  })
  assert.equal(
    describeMoves([
      ...[move('up', 3), move('down', 9), move('left', notInTop(100)), move('same', 5)],
      ...[move('not_in_top', notInTop(100)), move(null, 4)],
      ...[move(null, GAP_POINTS.budget), move(null, GAP_POINTS.budget)],
    ]),
    '1 up, 2 down, 1 unchanged, 1 not ranked on either day, 1 without a rank to compare with, 2 not ' +
      'measured: budget',
  )
  assert.equal(describeMoves([move('same', 5)]), '0 up, 0 down, 1 unchanged')
  const gaps = [...Array(1200).fill(GAP_POINTS.budget), GAP_POINTS.failed]
  assert.equal(
    describeMoves(gaps.map((gap) => move(null, gap))),
    '0 up, 0 down, 1,201 not measured: 1,200 budget, 1 failed',
  )
})

test('money is exact in a table, and to the cent in a sentence', () => {
  assert.deepEqual(
    [1200, 5_000_000, -500_000, 1_234_567].map((micros) => formatUsd(micros)),
    ['$0.0012', '$5.00', '-$0.50', '$1.234567'],
  )
  assert.deepEqual(
    [1200, 99_999, 1_198_200, 103_111_200].map((micros) => formatUsd(micros, 'rounded')),
    ['$0.0012', '$0.099999', '$1.20', '$103.11'],
  )
})

test('percents and their differences have one decimal, and none is made up', () => {
  assert.deepEqual([23.44, 0, null, undefined].map(formatPercent), ['23.4 %', '0.0 %', '–', '–'])
  assert.deepEqual([1.25, -0.34, 0.04, -0.04].map(formatDifference), ['+1.3', '−0.3', '±0.0', '±0.0'])
})

test('a sparkline reaches from the lowest to the highest, is blank in a gap, and has the last values', () => {
  assert.equal(drawSparkline([1, 2, null, 8], 10), '▁▂ █')
  assert.equal(drawSparkline([9, 1, 8], 2), '▁█')
  assert.equal(drawSparkline([5, 5, 5], 10), '▅▅▅')
  assert.equal(drawSparkline([null, null], 10), '  ')
})
