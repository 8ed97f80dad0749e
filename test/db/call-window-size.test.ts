import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { takePermits } from '../../src/db/call-window.ts'
import { openTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

const db = lasting(openTestDatabase)
const LIMITS = { callsPerMinute: 1_000_000, maxConcurrentRequests: 30, runner: 'test' }
const CALLS = Array.from({ length: 24 }, () => ({ kind: 'task_get' as const, path: '/v3' }))

describe('a turn at the call window', () => {
  test('reads little more after hours in which a held snapshot kept all from being vacuumed', async () => {
    await db.begin(
      async (tx) => {
        await tx`select count(*) from api_call`
        await takeTurns(20)
        const early = await countPages()
        await takeTurns(400)
        const late = await countPages()
        assert.ok(late < early + 100, `a turn read ${early} pages, and reads ${late}`)
      },
      { isReadOnlySnapshot: true },
    )
  })
})

/** Each ends the calls of the turn before. */
async function takeTurns(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    const { callIds } = await takePermits(db.sql, CALLS, await listInFlight(), LIMITS)
    assert.equal(callIds.length, CALLS.length)
  }
}

async function listInFlight() {
  const calls = await db.sql<{ callId: number }[]>`
    select id as "callId" from api_call where ended_at is null order by id desc limit ${CALLS.length}`
  return calls.map(({ callId }) => ({ callId, httpStatus: 200 }))
}

/** The pages that one turn reads, which ends no call. */
async function countPages(): Promise<number> {
  const [explained] = await db.sql<{ 'QUERY PLAN': { Plan: Record<string, number> }[] }[]>`
    explain (analyze, buffers, timing off, format json)
    select * from take_call_permits('{task_get}', '{/v3}', 'test', null, 1000000, 30, 25000)`
  const plan = explained?.['QUERY PLAN'][0]?.Plan
  return (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0)
}
