import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Figures, findTroubles } from '../../src/monitor/figures.ts'

const AT = new Date('2026-03-10T12:00:00Z')
const before = (hours: number) => new Date(AT.getTime() - hours * 3_600_000)
const TRACK = {
  job: 'track',
  state: 'done',
  at: before(0),
  error: null,
  lastSuccessAt: before(0),
  done: 1,
  failed: 0,
  missed: 0,
}
const BALANCE = {
  budget: 'x',
  setBy: 'account',
  project: null,
  scope: 0,
  period: 'balance',
  limitMicros: 1,
  usedMicros: 1,
} as const

const none = (kind: string) => ({ kind, count: 0, since: null, message: null })
const KINDS = [
  ...['unplanned', 'planned', 'posting', 'posted', 'budget_cut', 'overdue', 'unknown_post', 'held_post'],
  ...['refused_task', 'restored', 'no_run', 'no_room', 'read_only', 'clock'],
]

const WELL = {
  at: AT,
  work: Object.fromEntries(KINDS.map((kind) => [kind, none(kind)])) as Figures['work'],
  planning: null,
  jobs: [TRACK],
  money: [],
  budgets: [],
  account: { balanceMicros: null, callsUsed: 0, callsAllowed: 2000 },
  queue: [],
  service: [],
  outage: null,
  restoreHold: null,
  noRoom: null,
  readOnly: null,
  clock: null,
  lostTables: null,
  otherWriters: null,
  undelivered: [],
  books: { differences: 0, duplicateMicros: 0 },
}

type Changes = Partial<Omit<Figures, 'work'>> & { readonly work?: Partial<Figures['work']> }
const open = (kind: string, count: number, since: Date | null, message: string | null = null): Changes => ({
  work: { [kind]: { kind, count, since, message } },
})
const planned = (lastSuccessAt: Date | null, more: object = {}): Changes => ({
  jobs: [{ ...TRACK, lastSuccessAt, ...more }],
})

/** Those that `told.test.ts` does not live through, and where a kind begins. */
const CASES: readonly (readonly [what: string, changes: Changes, kinds: readonly string[]])[] = [
  ['work on its way is no trouble', open('posted', 5, before(12)), []],
  [
    'the most urgent first',
    { noRoom: 'No space left on device', ...planned(before(0), { state: 'failed' }) },
    ['no_room', 'job_failed'],
  ],
  [
    'a restore, which explains why posts are held',
    { restoreHold: 'Run `storerank recover`.', ...open('held_post', 2, AT, '2 posts are not sent. x') },
    ['restored'],
  ],
  ['triggers that are off', { lostTables: 'Triggers are disabled.' }, ['lost_tables']],
  ['rights of others', { otherWriters: 'Others gave rights.' }, ['other_writers']],
  ['posts that are held', open('held_post', 2, AT, '2 posts are not sent.'), ['not_posted']],
  ['a job that failed', planned(before(0), { state: 'failed', error: 'No.' }), ['job_failed']],
  ['an answer lost half an hour ago', open('unknown_post', 1, before(0.5)), []],
  ['two hours ago', open('unknown_post', 1, before(2)), ['unknown_posts']],
  ['a result overdue for two hours', open('overdue', 1, before(2)), []],
  ['for seven', open('overdue', 1, before(7)), ['overdue']],
  [
    'a budget that does not reach',
    open('budget_cut', 4, AT, 'The budget does not reach 4 slots.'),
    ['budget'],
  ],
  ['a balance that is enough', { budgets: [{ ...BALANCE, warning: null }] }, []],
  ['one that is not', { budgets: [{ ...BALANCE, warning: 'Add money.' }] }, ['balance']],
  ['a charge too many', { books: { differences: 0, duplicateMicros: 1200 } }, ['books']],
  ['a plan that is due later', { planning: { dueBy: AT, late: null } }, []],
]

for (const [what, { work, ...changes }, kinds] of CASES) {
  test(`what is wrong: ${what}`, () => {
    const figures: Figures = { ...WELL, ...changes, work: { ...WELL.work, ...work } }
    assert.deepEqual(
      findTroubles(figures).map(({ kind }) => kind),
      kinds,
    )
  })
}
