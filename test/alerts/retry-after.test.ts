/** How long a receiver asks to be left alone: seconds, or a date by its own clock. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRetryAfterMs } from '../../src/alerts/retry-after.ts'

const NOW = Date.parse('2026-03-01T06:00:00Z')

test('seconds and dates are read, a date by the clock of the receiver; all else is left out', () => {
  const cases: [Record<string, string>, number | null][] = [
    [{}, null],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '120' }, 120_000],
    [{ 'retry-after': 'Sun, 01 Mar 2026 07:00:00 GMT' }, 3_600_000],
    [{ 'retry-after': 'Sun, 01 Mar 2026 07:00:00 GMT', date: 'Sun, 01 Mar 2026 06:50:00 GMT' }, 600_000],
    [{ 'retry-after': 'Sun, 01 Mar 2026 05:00:00 GMT' }, 0],
    [{ 'retry-after': 'Sun, 41 Mar 2026 05:00:00 GMT' }, null],
    ...['-5', '1.5', '1e3', 'soon', '2026-03-02', '99999999999999'].map(
      (text): [Record<string, string>, null] => [{ 'retry-after': text }, null],
    ),
  ]
  for (const [headers, ms] of cases) assert.equal(readRetryAfterMs(headers, NOW), ms, JSON.stringify(headers))
})
