import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Database } from '../src/db/database.ts'
import type { TransactionOptions } from '../src/db/transaction.ts'
import { withLedgerLock } from '../src/ledger/lock.ts'
import { TIMINGS, type Timings } from '../src/timings.ts'
import { TIMINGS as OF_THE_HARNESS } from './crash/timings.ts'

const both: readonly (readonly [string, Timings])[] = [
  ['the product', TIMINGS],
  ['the crash harness', OF_THE_HARNESS],
]
for (const [whose, timings] of both) {
  describe(`the times of ${whose}`, () => {
    test('let a call end before its transaction, its runner and its job are given up', () => {
      const { callTimeoutMs, longestPermitMs, idleInTransactionMs, frozenAfterMs, graceMs, leaseMs } = timings
      assert.ok(callTimeoutMs < idleInTransactionMs && idleInTransactionMs < frozenAfterMs)
      assert.ok(longestPermitMs + callTimeoutMs < graceMs)
      assert.ok(callTimeoutMs < leaseMs)
    })

    test('let who waits for the ledger give up before its holder is ended', () => {
      assert.ok(timings.ledgerLockMs < timings.ledgerHoldMs)
    })

    test('give a job up only after several signs of life were missed', () => {
      assert.ok(3 * timings.signOfLifeMs < timings.frozenAfterMs)
    })
  })
}

test('a transaction with the lock of the ledger waits and lasts no longer than they say', async () => {
  const begin = async (_work: unknown, options: TransactionOptions) => options
  const given = await withLedgerLock({ begin } as unknown as Database, 'Planning', async () => {})
  assert.deepEqual(given, {
    name: 'Planning',
    lockTimeoutMs: TIMINGS.ledgerLockMs,
    limitMs: TIMINGS.ledgerHoldMs,
  })
})

test('no time and no size of the crash harness is greater than that of the product', () => {
  const flat = ({ opening, ...others }: Timings) => ({ ...others, ...opening })
  for (const [name, value] of Object.entries(flat(OF_THE_HARNESS))) {
    assert.ok(value > 0 && value <= flat(TIMINGS)[name as keyof ReturnType<typeof flat>], name)
  }
})
