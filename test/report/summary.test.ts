import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { Report } from '../../src/report/read.ts'
import type { Difference } from '../../src/report/read-changes.ts'
import { describeBasis, headlineOf, listParts, shownChange, summarise } from '../../src/report/summary.ts'
import { formatDifference } from '../../src/text/words.ts'
import { createReport } from '../support/report.ts'

describe('a summary', () => {
  let report: Report
  before(async () => {
    report = await createReport({ seed: 7, keywords: 120, days: 60 })
  })

  test('says in words what moved, against whom, which day has a gap and why, and what it cost', () => {
    const told = Object.fromEntries(summarise(report).map(({ about, text }) => [about, text]))
    assert.match(
      told['In 7 days'] ?? '',
      /\d+ up, \d+ down.*top 10.*Furthest up: .+ \(.+\), .+ → .+\. Furthest down: /,
    )
    assert.match(
      told.Visibility ?? '',
      /Everyone: [\d.]+ %.*; its share of voice [\d.]+ %\. [+−][\d.]+ points in 7 days.*: .+ \([\w ]+\) [+−]/,
    )
    assert.match(
      told.Competitors ?? '',
      /overtook Ashlune: Yoga for Everyone on \d+ keywords? since 30 Jan 2026/,
    )
    assert.match(told.Gaps ?? '', /On 20 Jan 2026 nothing was measured: failed\. 40102: No Search Results\./)
    assert.match(
      told.Gaps ?? '',
      /On 12 Feb 2026 only \d\d\.\d % was measured: budget\. The budget of the project was used up/,
    )
    assert.match(told.Money ?? '', /^Spent \$0\.\d+ on 1 Mar 2026 of \$1\.50 a day/)
    assert.match(headlineOf(report), /^\d+ up, \d+ down/)
  })

  test('speaks of the days that it is asked for, and of no others', () => {
    const of = (span: number) => summarise(report, span).map(({ about }) => about)
    assert.deepEqual(of(1).slice(0, 2), ['In one day', 'Visibility'])
    assert.deepEqual(of(30).slice(0, 3), ['In one day', 'In 30 days', 'Visibility'])
    const [day] = summarise(report, 1)
    assert.match(day?.text ?? '', /^\d+ up, \d+ down.* Furthest up: /)
    const visibility = summarise(report, 1).find(({ about }) => about === 'Visibility')
    assert.match(visibility?.text ?? '', /points in one day/)
  })

  test('counts as many into the top 10 and out of it as its number there has changed', () => {
    for (const { changes, entered, left } of report.comparisons) {
      const isKeyword = ({ list }: { list: number }) => report.lists[list]?.kind === 'keyword'
      const own = changes.filter(({ app }) => report.apps[app]?.role === 'own')
      const change = own.reduce((sum, { top }) => sum + (top?.change ?? Number.NaN), 0)
      assert.equal(entered.filter(isKeyword).length - left.filter(isKeyword).length, change)
    }
  })

  test('has names that cannot turn the words after them, and a number that stays after a Hebrew one', () => {
    const told = (name: string) =>
      JSON.stringify(summarise({ ...report, apps: report.apps.map((app) => ({ ...app, name })) }))
    assert.match(told('yoga \u202egnp.exe'), /yoga gnp\.exe \(iOS\): [\d.]+ %/)
    assert.match(told('יוגה'), /יוגה \(iOS\)\u200e: [\d.]+ %/)
  })

  test('names the keywords of a change so that what is shown adds up to it', () => {
    const points = fc.double({ min: -20, max: 20, noNaN: true })
    fc.assert(
      fc.property(fc.array(points, { minLength: 1, maxLength: 5 }), points, (shown, rest) => {
        const change = shown.reduce((sum, part) => sum + part, rest)
        const difference: Difference = {
          ...{ before: 0, after: change, change },
          parts: shown.map((points) => ({ list: 0, points })),
        }
        const told = listParts(report, difference)
        if (told.length === 0) return
        assert.equal(
          formatDifference(told.reduce((sum, { points }) => sum + points, 0)),
          formatDifference(shownChange(difference)),
        )
      }),
    )
  })

  test('says what was compared where that is not all that the last day shows', () => {
    const difference = { before: 5.8, after: 5.4, change: -0.4, parts: [] }
    const of = (compared: number, now: number) => describeBasis({ compared, due: 7 }, difference, now)
    assert.equal(of(6, 8.7), '5.8 % to 5.4 % on the 6 of 7 keywords measured on both days')
    assert.equal(of(7, 8.7), '5.8 % to 5.4 % on the 7 keywords measured on both days')
    assert.equal(of(7, 5.4), '')
  })
})
