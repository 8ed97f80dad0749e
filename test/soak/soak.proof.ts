/**
 * `npm run soak` in two minutes: ten days of few tasks, with all troubles but the upgrade, for which a runner
 * may take a minute. What a task costs is compared in the long form alone.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { findExcesses, type Life } from './checks.ts'
import { defaultLogFile, liveLong } from './life.ts'
import type { DayReport } from './measure.ts'

const TASKS = 60

test('nothing piles up from day to day, and everything goes when it is too old', async (t) => {
  const life = await liveLong({
    days: 10,
    tasks: TASKS,
    upgradeOn: 0,
    logFile: defaultLogFile(),
    onDay: () => {},
    signal: t.signal,
  })
  assert.deepEqual(
    life.days.map(({ tasks }) => tasks),
    Array(10).fill(TASKS),
  )
  assert.deepEqual(
    life.told.map(({ kind }) => kind),
    ['no_run', 'restored', 'no_room', 'read_only'],
  )
  assert.deepEqual(findExcesses(life), [])
})

test('a signal while the servers start ends it in order: no process and no folder is left', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'storerank-ended-soak-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  // When root runs the test, another account runs the server.
  chmodSync(folder, 0o755)
  const soak = spawn(process.execPath, [join(import.meta.dirname, 'soak.ts'), '--days', '2'], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
    signal: t.signal,
  })
  const ended = once(soak, 'close')
  soak.stdout.once('data', () => soak.kill('SIGTERM'))
  const said = await text(soak.stdout)
  assert.deepEqual(await ended, [0, null])
  assert.match(said, /Ended by a signal after 0 of 2 days/)
  // The log of the runners stays; a server that ran on would have its folder.
  assert.deepEqual(
    readdirSync(folder).filter((name) => !name.endsWith('.log')),
    [],
  )
})

const HELD = {
  heapBytes: 40_000_000,
  rssBytes: 300_000_000,
  resources: { Timeout: 3 },
  listeners: 5,
  warnings: [],
}
const day = (number: number, changes: Partial<DayReport> = {}): DayReport => ({
  day: number,
  tasks: 1_000,
  cpuMs: 10,
  yardstickMs: 20,
  statements: 3,
  buffers: 100,
  connections: 8,
  runners: { first: HELD },
  trouble: '',
  ...changes,
})

test('what piles up is found', () => {
  const find = (last: Partial<DayReport>, rest: Partial<Life> = {}) =>
    findExcesses({
      days: [day(1), day(2), day(3, last)],
      ...{ tasks: 1_000, aged: [], bloat: [], differences: 0, boughtTwice: 0, told: [] },
      ...rest,
    }).join()
  const held = (changes: object) => ({ runners: { first: { ...HELD, ...changes } } })
  assert.equal(find({}), '')
  assert.match(find(held({ heapBytes: 45_000_000 })), /first holds 42\.9 MiB, and held 38\.1/)
  assert.equal(find({ ...held({ heapBytes: 45_000_000 }), trouble: 'the disk is full' }), '')
  assert.match(find(held({ resources: { Timeout: 20 } })), /20 × Timeout, and had 3/)
  assert.match(find(held({ resources: { FSReqCallback: 8 } })), /8 × FSReqCallback, and had 0/)
  assert.match(find(held({ listeners: 6 })), /6 listeners, and had 5/)
  assert.match(find(held({ warnings: ['MaxListenersExceededWarning: x'] })), /first was warned/)
  assert.match(find({ connections: 41 }), /41 connections, and 40 are the most/)
  assert.match(find({ statements: 4 }), /A task costs 4\.000 statements in the end, and 3\.000/)
  assert.match(
    find({ cpuMs: 14 }),
    /A task costs 0\.700 of the CPU of a yardstick in the end, and 0\.500 in the beginning/,
  )
  // A slower machine is no dearer task.
  assert.equal(find({ cpuMs: 14, yardstickMs: 26 }), '')
  assert.match(find({ yardstickMs: 14 }), /0\.714 of the CPU of a yardstick/)
  assert.match(find({ tasks: 999 }), /Day 3: 999 of 1000 measurements are there/)
  assert.match(find({}, { boughtTwice: 1 }), /1 measurements were paid for twice/)
  const late = { event: 'the copy', kind: 'restored', afterMs: 600_000 }
  assert.match(find({}, { told: [late] }), /Of the copy restored was told after 600 s/)
  assert.match(find({}, { differences: 2 }), /differ from the charges in 2 places/)
  assert.match(find({}, { aged: [{ table: 'task', rows: 1, bytes: 0 }] }), /task has 1 rows that are older/)
  assert.match(
    find({}, { bloat: [{ table: 'task', rows: 1, bytes: 3e7, freshBytes: 1e7 }] }),
    /task has 28\.6 MiB, and 9\.5 freshly written/,
  )
  assert.match(
    find({}, { bloat: [{ table: 'post', rows: 1, bytes: 5e6, freshBytes: 1e6 }] }),
    /post has 4\.8 MiB/,
  )
  assert.equal(find({}, { bloat: [{ table: 'ledger', rows: 1, bytes: 9e5, freshBytes: 1e5 }] }), '')
})
