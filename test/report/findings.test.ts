import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  BEYOND,
  bestOf,
  changeBetween,
  changeOver,
  compareRivals,
  distribute,
  findCrossings,
  findMovers,
  tallyChanges,
  UNMEASURED,
} from '../../src/report/findings.ts'
import {
  depthWithout,
  GAP_POINTS,
  GAPS,
  gapOf,
  isMeasured,
  isRanked,
  NOTHING_DUE,
  notInTop,
  type Point,
  type Report,
} from '../../src/report/model.ts'
import { headlineOf, summarise } from '../../src/report/summary.ts'
import { makeReport } from '../support/report.ts'

const OUT = notInTop(100)

/** A report of keywords on which an own app has the first points and a competitor, if there are any, the second. */
function reportOf(...lists: readonly (readonly [own: readonly Point[], rival?: readonly Point[]])[]): Report {
  const whole = makeReport({ seed: 1, keywords: 20, days: lists[0]?.[0].length ?? 1 })
  const at = (points: readonly Point[], back: number) => points.at(-1 - back) ?? NOTHING_DUE
  const series = lists.flatMap(([own, rival], list) =>
    [own, ...(rival === undefined ? [] : [rival])].map((points, nth) => ({
      list,
      app: nth === 0 ? 0 : 2,
      points,
      past: [at(points, 1), at(points, 7), at(points, 30)] as const,
    })),
  )
  return { ...whole, series }
}

describe('a point', () => {
  const point = fc.oneof(
    fc.integer({ min: 1, max: 700 }),
    fc.integer({ min: 1, max: 700 }).map(notInTop),
    fc.constantFrom(...GAPS).map((gap) => GAP_POINTS[gap]),
    fc.constant(NOTHING_DUE),
  )

  test('is exactly one of a rank, a depth in vain, a gap, and nothing due', () => {
    fc.assert(
      fc.property(point, (value) => {
        const kinds = [
          isRanked(value),
          depthWithout(value) !== null,
          gapOf(value) !== null,
          value === NOTHING_DUE,
        ]
        assert.equal(kinds.filter(Boolean).length, 1)
        assert.equal(isMeasured(value), isRanked(value) || depthWithout(value) !== null)
      }),
    )
  })

  test('changes the other way round when time does, and never where one end was not measured', () => {
    const opposite = {
      up: 'down',
      down: 'up',
      entered: 'left',
      left: 'entered',
      same: 'same',
      absent: 'absent',
      unknown: 'unknown',
    }
    fc.assert(
      fc.property(point, point, (before, after) => {
        const change = changeBetween(before, after)
        const back = changeBetween(after, before)
        assert.equal(back.kind, opposite[change.kind])
        assert.equal(back.places, change.places)
        if (!isMeasured(before) || !isMeasured(after)) assert.equal(change.kind, 'unknown')
      }),
    )
  })
})

describe('a change', () => {
  test('counts places, and against the depth the fewest that there can have been', () => {
    assert.deepEqual(changeBetween(14, 3), { kind: 'up', places: 11 })
    assert.deepEqual(changeBetween(3, OUT), { kind: 'left', places: 98 })
    assert.deepEqual(changeBetween(OUT, 100), { kind: 'entered', places: 1 })
    assert.deepEqual(changeBetween(OUT, OUT), { kind: 'absent', places: 0 })
  })

  test('is unknown where another depth was looked at that does not reach the rank', () => {
    assert.equal(changeBetween(notInTop(50), 80).kind, 'unknown')
    assert.equal(changeBetween(80, notInTop(50)).kind, 'unknown')
  })
})

test('the tally tells what was not measured from what fell, by reason', () => {
  const report = reportOf(
    [[5, 3]],
    [[5, 9]],
    [[5, 5]],
    [[5, GAP_POINTS.budget]],
    [[5, GAP_POINTS.budget]],
    [[GAP_POINTS.failed, 4]],
    [[OUT, OUT]],
    [[7, OUT]],
    [[7, NOTHING_DUE]],
  )
  const { unmeasured, ...counts } = tallyChanges(report, 1)
  assert.deepEqual(counts, { up: 1, down: 2, same: 1, absent: 1, incomparable: 1 })
  assert.deepEqual([unmeasured.budget, unmeasured.failed], [2, 0])
  assert.equal(
    headlineOf(report),
    '1 up, 2 down, 1 unchanged, 1 not in the top on both days, 1 without a rank to compare with, 2 not measured: budget',
  )
})

test('movers are the furthest first, and of the same way the nearest to the first place', () => {
  const report = reportOf([[20, 10]], [[80, 70]], [[4, OUT]], [[50, 58]], [[6, 6]], [[9, GAP_POINTS.missed]])
  const { up, down } = findMovers(report, 1)
  assert.deepEqual(
    up.map(({ series }) => series.list),
    [0, 1],
  )
  assert.deepEqual(
    down.map(({ series, change }) => [series.list, change.kind]),
    [
      [2, 'left'],
      [3, 'down'],
    ],
  )
})

test('the top ten is entered and left by ranks alone: a gap is neither', () => {
  const report = reportOf(
    [[11, 10]],
    [[OUT, 4]],
    [[10, 11]],
    [[2, OUT]],
    [[3, GAP_POINTS.failed]],
    [[GAP_POINTS.failed, 3]],
    [[9, 2]],
  )
  const { entered, left } = findCrossings(report, 1, 10)
  assert.deepEqual(
    entered.map(({ series }) => series.list),
    [1, 0],
  )
  assert.deepEqual(
    left.map(({ series }) => series.list),
    [3, 2],
  )
})

test('the distribution counts each day of each own rank once, but not where nothing was due', () => {
  const report = reportOf(
    [[1, 1]],
    [[2, 3]],
    [[10, 31]],
    [[100, 101]],
    [[OUT, GAP_POINTS.budget]],
    [[NOTHING_DUE, 5]],
  )
  const counts = distribute(report)
  assert.deepEqual(counts.slice(0, BEYOND), [
    [1, 1],
    [1, 1],
    [1, 1],
    [0, 0],
    [1, 1],
  ])
  assert.deepEqual(
    [counts[BEYOND], counts[UNMEASURED]],
    [
      [1, 1],
      [0, 1],
    ],
  )
})

test('a rival that has come past is named with the day on which it showed', () => {
  const gap = GAP_POINTS.failed
  const report = reportOf(
    [
      [5, 5, gap, 9, 9],
      [8, 8, gap, 7, 6],
    ],
    [
      [9, 9, 9, 9, 9],
      [5, 20, 5, 20, 20],
    ],
    [
      [1, 1, 1, 1, 1],
      [OUT, OUT, OUT, OUT, OUT],
    ],
    [
      [OUT, OUT, OUT, OUT, OUT],
      [OUT, OUT, OUT, OUT, OUT],
    ],
    [
      [3, 4, 3, 4, 3],
      [4, 3, 4, 3, 4],
    ],
  )
  const duel = compareRivals(report).find(({ own, rival }) => own === 0 && rival === 2)
  assert.deepEqual([duel?.ahead, duel?.behind], [3, 1])
  assert.deepEqual(duel?.lost, [{ list: 0, day: report.days[3], own: [5, 9], rival: [8, 7] }])
  assert.deepEqual(duel?.won, [{ list: 1, day: report.days[3], own: [9, 9], rival: [5, 20] }])
})

test('the best rank is one that was measured in these days', () => {
  const [first] = reportOf([[GAP_POINTS.budget, 7, OUT, 4, NOTHING_DUE]]).series
  assert.ok(first !== undefined)
  assert.equal(bestOf(first), 4)
  assert.equal(bestOf({ ...first, points: [OUT, GAP_POINTS.failed] }), null)
})

test('the summary says in words what moved, against whom, which day has a gap and why, and what it cost', () => {
  const findings = summarise(makeReport({ seed: 7, keywords: 120, days: 60 }))
  const told = Object.fromEntries(findings.map(({ about, text }) => [about, text]))
  assert.match(
    told['In 7 days'] ?? '',
    /\d+ up, \d+ down.*top 10.*Furthest up: .+ \(\w+\), .+ → .+\. Furthest down: /,
  )
  assert.match(
    told.Visibility ?? '',
    /Ashlune: Yoga for Everyone: [\d.]+ %, .+ with [\d.]+ % measured; its share of voice/,
  )
  assert.match(told.Competitors ?? '', /Posture Lab overtook Ashlune: Yoga for Everyone on \d+ keywords/)
  assert.match(
    told.Gaps ?? '',
    /On 20 Jan 2026 nothing was measured: failed\. 40102: No Search Results\. On 12 Feb 2026 only \d\d\.\d % was measured: budget\. The budget of the project was used up/,
  )
  assert.match(told.Money ?? '', /^Spent \$0\.\d+ on 1 Mar 2026 of \$1\.50 a day/)
})

test('the summary speaks of the days that it is asked for, and of no others', () => {
  const report = makeReport({ seed: 7, keywords: 120, days: 60 })
  const of = (span: number) => summarise(report, span).map(({ about }) => about)
  assert.deepEqual(of(1).slice(0, 2), ['In one day', 'Visibility'])
  assert.deepEqual(of(3).slice(0, 3), ['In one day', 'In 3 days', 'Visibility'])
  const [day] = summarise(report, 1)
  assert.match(day?.text ?? '', /^\d+ up, \d+ down.* Furthest up: /)
  const visibility = summarise(report, 1).find(({ about }) => about === 'Visibility')
  assert.match(visibility?.text ?? '', /points in one day, with/)
})

test('a change over days is between the first of them and the last', () => {
  const [series] = reportOf([[8, 7, 6, 9]]).series
  assert.ok(series !== undefined)
  assert.deepEqual(changeOver(series, 3), { kind: 'down', places: 1 })
})

test('a project without anything to rank is told so', () => {
  const report = { ...reportOf([[1]]), series: [] }
  assert.match(summarise(report)[0]?.text ?? '', /^No keyword and no chart is watched/)
})

test('a name cannot turn the words after it, and a number stays after a Hebrew one', () => {
  const report = makeReport({ seed: 7, keywords: 20, days: 10 })
  const told = (name: string) =>
    JSON.stringify(summarise({ ...report, apps: report.apps.map((app) => ({ ...app, name })) }))
  assert.match(told('yoga \u202egnp.exe'), /yoga gnp\.exe \(iOS\): [\d.]+ %/)
  assert.match(told('יוגה'), /יוגה \(iOS\)\u200e: [\d.]+ %/)
})
