/** Rules on ranks: told once, and only when both ends were measured. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { createAlertList } from '../support/alerts.ts'
import { lasting } from '../support/lasting.ts'

const list = lasting(createAlertList)
beforeEach(async () => {
  await list.clear()
  await list.setNow('2026-03-01 06:00+00')
})

const slotOf = (day: number, hour = 0) =>
  `2026-03-${String(day).padStart(2, '0')} ${String(hour).padStart(2, '0')}:00+00`

/** `ranks[i]` is what is at rank i + 1; the places between are apps of nobody. */
const withRanks = (ranks: Record<string, number>, depth = 100): string[] => {
  const places = Array.from({ length: depth }, (_, n) => String(500_000 + n))
  for (const [app, rank] of Object.entries(ranks)) places[rank - 1] = app
  return places
}

/** The own app 1001 at a rank each day from 1 March on; null: a gap, 0: not within depth. */
const measureDays = async (ranks: readonly (number | null)[], from = 1) => {
  for (const [n, rank] of ranks.entries()) {
    await list.setNow(`2026-03-${String(from + n).padStart(2, '0')} 06:00+00`)
    if (rank === null) await list.leaveGap('yoga', slotOf(from + n), 'failed', 'no result')
    else await list.capture('yoga', slotOf(from + n), withRanks(rank === 0 ? {} : { 1001: rank }))
  }
}

type Rule = Parameters<typeof list.addRule>[0]

const watchOne = async () => {
  await list.addKeyword()
  await list.addApp()
}

/** What is told of the own app by rules, of its ranks from 1 March on. */
const CASES: Readonly<Record<string, readonly [rules: Rule[], ranks: (number | null)[], told: string[]]>> = {
  'a rank that moved is told from the threshold of its band on, once': [
    [{ kind: 'rank_moved', threshold: 2, threshold_11_to_30: 5, threshold_beyond: 20 }],
    [4, 5, 7, 11, 12, 16, 22, 40, 59, 35],
    ['03-03 5→7', '03-04 7→11', '03-07 16→22', '03-08 22→40', '03-10 59→35'],
  ],
  'a rank that moved is not told when either end was not measured': [
    [{ kind: 'rank_moved', threshold: 1 }],
    [4, null, 40, null, 4],
    [],
  ],
  'a rank that moved is told up and down, by the direction of the rule': [
    [
      { kind: 'rank_moved', name: 'falls', threshold: 3, direction: 'down' },
      { kind: 'rank_moved', name: 'rises', threshold: 3, direction: 'up' },
    ],
    [10, 20, 10],
    ['falls 03-02 10→20', 'rises 03-03 20→10'],
  ],
  'a rank that moved against 7 days before is told once, and not again on each of the days after': [
    [{ kind: 'rank_moved', threshold: 5, compared_with: '7 days' }],
    [3, 3, 3, 3, 3, 3, 3, 3, 20, 20, 20, 20, 20, 20, 20, 20, 20],
    ['03-09 3→20'],
  ],
  'a rank that moved against the best of the window is told until there is a new best': [
    [{ kind: 'rank_moved', threshold: 5, compared_with: 'best', window_days: 10 }],
    [7, 4, 6, 9, 12, 14, 3, 10],
    ['03-04 4→9', '03-08 3→10'],
  ],
  'a rank that moved against a fixed base is told once until it was within reach again': [
    [{ kind: 'rank_moved', threshold: 5, compared_with: 'base', base: 3 }],
    [3, 9, 12, null, 4, 20],
    ['03-02 3→9', '03-06 3→20'],
  ],
  'the top N is entered and left': [
    [
      { kind: 'top_crossed', top: 10 },
      { kind: 'top_crossed', name: 'left', top: 10, direction: 'down' },
    ],
    [12, 10, 11, 0, 9, 0, null, 3],
    ['left 03-03 10→11', 'left 03-06 9→-', '03-02 12→10', '03-03 10→11', '03-05 -→9', '03-06 9→-'],
  ],
  'a keyword that is not measured for N days is told once, and again after it was measured': [
    [{ kind: 'not_measured', threshold: 2 }],
    [3, null, null, null, null, 4, null, null],
    ['03-03 -→-', '03-08 -→-'],
  ],
  'a keyword that is never measured is told N days after it began to be followed': [
    [{ kind: 'not_measured', threshold: 3 }],
    [null, null, null, null],
    ['03-03 -→-'],
  ],
}

for (const [title, [rules, ranks, told]] of Object.entries(CASES)) {
  test(title, async () => {
    await watchOne()
    for (const rule of rules) await list.addRule(rule)
    await measureDays(ranks)
    const found = (await list.look()).map((line) =>
      line.replace(/ yoga( 1001)?/, '').replace(/^[a-z]+_[a-z]+ /, ''),
    )
    assert.deepEqual(found, told)
    assert.deepEqual(await list.look(), [], 'once')
  })
}

describe('a rank that moved', () => {
  test('is told of a fall out of the depth as far as the depth reaches, and not beyond it', async () => {
    await watchOne()
    await list.addRule({ kind: 'rank_moved', threshold: 30 })
    await measureDays([80, 0, 60])
    assert.deepEqual(await list.look(), ['rank_moved 03-03 yoga 1001 -→60'])
    await list.setNow('2026-03-04 06:00+00')
    await list.capture('yoga', slotOf(4), withRanks({}, 30), { depth: 30 })
    assert.deepEqual(await list.look(), [])
  })

  test('is not told of an app that may be among what could not be read', async () => {
    await watchOne()
    await list.addRule({ kind: 'rank_moved', threshold: 1 })
    await measureDays([4])
    await list.setNow('2026-03-02 06:00+00')
    await list.capture('yoga', slotOf(2), withRanks({}), { reason: '1 item could not be read' })
    assert.deepEqual(await list.look(), [])
  })

  test('of an hourly keyword is told once a move, and not each hour for a day', async () => {
    await list.addKeyword({ every: '6 hours' })
    await list.addApp()
    await list.addRule({ kind: 'rank_moved', threshold: 5 })
    for (let n = 0; n < 12; n += 1) {
      await list.capture(
        'yoga',
        slotOf(1 + Math.floor(n / 4), (n % 4) * 6),
        withRanks({ 1001: n < 6 ? 2 : 30 }),
      )
    }
    await list.setNow('2026-03-03 20:00+00')
    assert.deepEqual(await list.look(), ['rank_moved 03-02 yoga 1001 2→30'])
  })

  test('only in what the rule means: store, app, keyword, tag', async () => {
    await list.addKeyword({ tags: ['core'] })
    await list.addKeyword({ keyword: 'calm' })
    await list.addApp()
    await list.addApp({ app_id: '1002', role: 'competitor' })
    const rule = { kind: 'rank_moved', threshold: 5 }
    await list.addRule({ ...rule, name: 'tag', tag: 'core' })
    await list.addRule({ ...rule, name: 'keyword', keyword: 'calm' })
    await list.addRule({ ...rule, name: 'store', store: 'android_store' })
    await list.addRule({ ...rule, name: 'app', app_id: '1002', keyword: 'calm' })
    await list.addRule({ ...rule, name: 'any', role: 'any', tag: 'core' })
    await list.addRule({ ...rule, name: 'off', enabled: false })
    for (const keyword of ['yoga', 'calm']) {
      await list.capture(keyword, slotOf(1), withRanks({ 1001: 1, 1002: 2 }))
      await list.capture(keyword, slotOf(2), withRanks({ 1001: 11, 1002: 12 }))
    }
    assert.deepEqual(await list.look(), [
      'any 03-02 yoga 1001 1→11',
      'any 03-02 yoga 1002 2→12',
      'app 03-02 calm 1002 2→12',
      'keyword 03-02 calm 1001 1→11',
      'tag 03-02 yoga 1001 1→11',
    ])
  })

  /** The result of 2 March, in the place of its gap. */
  const storeLate = () => list.sql`
    select store_rankings(array[r.target_id], array[r.slot], array[r.slot], array[100]::smallint[],
      array[null]::bigint[],
      array[(o.app_ids[30:] || o.app_ids[:29])::text], array[null::text], array[null::text])
    from ranking r join ranking o on o.slot = ${slotOf(1)} where r.slot = ${slotOf(2)}`

  test('that comes late is told once, of its own slot', async () => {
    await watchOne()
    await list.addRule({ kind: 'rank_moved', threshold: 5 })
    await measureDays([3, null, 4])
    assert.deepEqual(await list.look(), [])
    await storeLate()
    assert.deepEqual(await list.look(), ['rank_moved 03-02 yoga 1001 3→74'])
    assert.deepEqual(await list.look(), [])
  })

  test('that was stored after its gap, and before the rules were looked at, is told once', async () => {
    await watchOne()
    await list.addRule({ kind: 'rank_moved', threshold: 5 })
    await list.addRule({ kind: 'visibility_moved', threshold: 5 })
    await measureDays([3, null])
    await storeLate()
    assert.deepEqual(await list.look(), [
      'rank_moved 03-02 yoga 1001 3→74',
      'visibility_moved 03-02 1001 33.3333→1.3514',
    ])
  })
})

describe('the top N', () => {
  test('is not left because it was looked at less deep', async () => {
    await watchOne()
    await list.addRule({ kind: 'top_crossed', top: 50 })
    await measureDays([40])
    await list.setNow('2026-03-02 06:00+00')
    await list.capture('yoga', slotOf(2), withRanks({}, 30), { depth: 30 })
    assert.deepEqual(await list.look(), [])
  })
})

describe('a competitor', () => {
  test('that overtook us is told, with its ranks', async () => {
    await watchOne()
    await list.addApp({ app_id: '1002', role: 'competitor' })
    await list.addApp({ app_id: '1003', role: 'competitor' })
    await list.addRule({ kind: 'overtaken' })
    await list.addRule({ kind: 'overtaken', name: 'in the top 5', top: 5 })
    await list.capture('yoga', slotOf(1), withRanks({ 1001: 8, 1002: 12, 1003: 3 }))
    await list.capture('yoga', slotOf(2), withRanks({ 1001: 9, 1002: 7, 1003: 2 }))
    await list.capture('yoga', slotOf(3), withRanks({ 1002: 4 }))
    assert.deepEqual(await list.look(), ['overtaken 03-02 yoga 1001 behind 1002 8→9'])
    const [event] = await list.sql`select detail from alert_event`
    assert.deepEqual(event?.detail, { rival_before: 12, rival_after: 7 })
  })

  test('is told of once against seven days before, whichever way our own app moves after it', async () => {
    await watchOne()
    await list.addApp({ app_id: '1002', role: 'competitor' })
    await list.addRule({ kind: 'overtaken', compared_with: '7 days' })
    for (const day of [1, 2, 3]) await list.capture('yoga', slotOf(day), withRanks({ 1001: 5, 1002: 8 }))
    for (const [day, own, rival] of [
      [8, 6, 5],
      [9, 5, 4],
    ] as const) {
      await list.setNow(`2026-03-0${day} 06:00+00`)
      await list.capture('yoga', slotOf(day), withRanks({ 1001: own, 1002: rival }))
    }
    assert.deepEqual(await list.look(), ['overtaken 03-08 yoga 1001 behind 1002 5→6'])
  })
})

test('a project without rules has nothing to look at; a rule sees nothing from before it', async () => {
  await watchOne()
  await measureDays([3, 50])
  const [due] = await list.sql`select count(*) as due from alert_due`
  assert.deepEqual(due, { due: 0 })
  await list.addRule({ kind: 'rank_moved', threshold: 1 })
  assert.deepEqual(await list.look(), [])
})
