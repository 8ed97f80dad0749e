import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Figures } from '../../src/monitor/figures.ts'
import { findTroubles } from '../../src/monitor/troubles.ts'

const AT = new Date('2026-03-10T12:00:00Z')
const before = (hours: number) => new Date(AT.getTime() - hours * 3_600_000)
const JOB = {
  job: 'track',
  state: 'done',
  at: before(0),
  error: null,
  lastSuccessAt: before(0),
  done: 1,
  failed: 0,
  missed: 0,
}

const WELL: Figures = {
  at: AT,
  open: [],
  work: {
    planned: 3,
    posting: 1,
    posted: 5,
    unplanned: 0,
    cut: 0,
    overdue: 0,
    overdueSince: null,
    oldestSlot: before(12),
    unknownPosts: 0,
    unknownSince: null,
    heldPosts: 0,
    heldBecause: null,
    refusedTasks: 0,
    refusedBecause: null,
    shortestEveryS: 86_400,
  },
  jobs: [JOB],
  money: [],
  budgets: [],
  balanceMicros: null,
  balanceAt: null,
  callsUsed: 0,
  callsAllowed: 2000,
  queue: [],
  service: [],
  outage: null,
  restoreHold: null,
  noRoom: null,
  untold: [],
  differences: 0,
  duplicateMicros: 0,
}

const kinds = (changes: Partial<Figures>, work: Partial<Figures['work']> = {}): string[] =>
  findTroubles({ ...WELL, ...changes, work: { ...WELL.work, ...work } }).map(({ kind }) => kind)

test('nothing is wrong while work is on its way', () => {
  assert.deepEqual(kinds({}), [])
})

test('each thing that a person should see to has a line, the most urgent first', () => {
  assert.deepEqual(kinds({ noRoom: 'No space left on device', jobs: [{ ...JOB, state: 'failed' }] }), [
    'no_room',
    'job_failed',
  ])
  assert.deepEqual(kinds({ restoreHold: 'Run `storerank recover`.' }, { heldPosts: 2, heldBecause: 'x' }), [
    'restored',
  ])
  assert.deepEqual(kinds({ untold: ['The channel "ops" was disabled.'] }), ['not_told'])
  assert.deepEqual(kinds({ outage: { since: before(1), checkedAt: AT } }), ['outage'])
  assert.deepEqual(kinds({}, { heldPosts: 2, heldBecause: 'The service refused the post (40210).' }), [
    'not_posted',
  ])
  assert.deepEqual(kinds({}, { refusedTasks: 2, refusedBecause: 'The service refused the task (40210).' }), [
    'not_posted',
  ])
  assert.deepEqual(kinds({ jobs: [{ ...JOB, state: 'failed', error: 'No.' }] }), ['job_failed'])
  assert.deepEqual(kinds({}, { unknownPosts: 1, unknownSince: before(0.5) }), [])
  assert.deepEqual(kinds({}, { unknownPosts: 1, unknownSince: before(2) }), ['unknown_posts'])
  assert.deepEqual(kinds({}, { overdue: 1, overdueSince: before(2) }), [])
  assert.deepEqual(kinds({}, { overdue: 1, overdueSince: before(7) }), ['overdue'])
  assert.deepEqual(kinds({}, { cut: 4 }), ['budget'])
  const balance = {
    budget: 'x',
    setBy: 'account',
    project: null,
    period: 'balance',
    limitMicros: 1,
    usedMicros: 1,
  } as const
  assert.deepEqual(kinds({ budgets: [{ ...balance, warning: null }] }), [])
  assert.deepEqual(kinds({ budgets: [{ ...balance, warning: 'Add money.' }] }), ['balance'])
  assert.deepEqual(kinds({ differences: 2 }), ['books'])
  assert.deepEqual(kinds({ duplicateMicros: 1200 }), ['books'])
})

test('a runner that is gone is noticed when slots pass, and not before', () => {
  const planned = (hours: number) => ({ jobs: [{ ...JOB, lastSuccessAt: before(hours) }] })
  assert.deepEqual(kinds(planned(24.5)), [])
  assert.deepEqual(kinds(planned(25.5)), ['no_run'])
  assert.deepEqual(kinds(planned(2.5), { shortestEveryS: 3_600 }), ['no_run'])
  assert.deepEqual(kinds({ jobs: [{ ...JOB, state: null, lastSuccessAt: null }] }), ['no_run'])
  assert.deepEqual(kinds(planned(1000), { shortestEveryS: null }), [])
})
