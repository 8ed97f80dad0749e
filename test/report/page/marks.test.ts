/**
 * Releases and notes beside the days of a chart: each has a number above its day and its text below, however
 * many there are.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { NUMBER_HEIGHT, numberMarks, placeMarks } from '../../../src/report/page/captions.js'
import type { Mark } from '../../../src/report/page/drawing.ts'
import { renderPage } from '../../../src/report/page/page.ts'
import { createReport } from '../../support/report.ts'

const mark = (day: number, text: string, className = 'own0'): Mark => ({ day, text, className, app: 0 })

test('the marks of a day share a number, in the order of days, in the colour of the app', () => {
  const marks = [
    mark(7, 'Mine 2.0'),
    mark(3, 'campaign', 'note'),
    mark(7, 'crashes', 'note'),
    mark(9, 'Mine 2.1'),
    mark(9, 'Theirs 5', 'rival0'),
    mark(12, 'x'.repeat(500)),
  ]
  assert.deepEqual(numberMarks(marks.slice(0, 5)), [
    { number: 1, day: 3, className: 'note', texts: ['campaign'] },
    { number: 2, day: 7, className: 'own0', texts: ['Mine 2.0', 'crashes'] },
    { number: 3, day: 9, className: 'note', texts: ['Mine 2.1', 'Theirs 5'] },
  ])
  assert.equal(numberMarks(marks).at(-1)?.texts[0]?.length, 160)
})

test('no number runs into another one', () => {
  const days = fc.uniqueArray(fc.nat({ max: 730 }), { maxLength: 300 })
  fc.assert(
    fc.property(days, fc.double({ min: 0.4, max: 40, noNaN: true }), (days, step) => {
      const placed = placeMarks(
        days.map((day) => mark(day, `on ${day}`)),
        (day) => day * step,
      )
      assert.equal(placed.length, days.length)
      for (const row of Map.groupBy(placed, (one) => one.row).values()) {
        const ends = row.map(({ x, width }) => x + width / 2)
        assert.ok(row.slice(1).every(({ x, width }, n) => x - width / 2 >= (ends[n] ?? 0)))
      }
      assert.ok(placed.every(({ width }) => width >= NUMBER_HEIGHT))
    }),
  )
})

test('each number of a chart is in the list below it, also with a release every day', async () => {
  const report = await createReport({ seed: 7, keywords: 10, days: 90 })
  const changes = report.days.map((day, n) => ({
    day,
    app: n % 4,
    place: 'US',
    field: 'version',
    before: `${n}`,
    after: `${n + 1}.0 </script>`,
  }))
  const page = renderPage({ ...report, changes }).split('<script')[0] ?? ''
  const figures = page.split('<figure').filter((figure) => figure.includes('class="mark-text"'))
  assert.ok(figures.length >= 4)
  for (const figure of figures) {
    const listed = [...figure.matchAll(/<b class="number \w+"><i>(\d+)<\/i>/g)].map(([, number]) => number)
    const drawn = figure
      .split('<svg class="chart"')
      .slice(1)
      .map((chart) => [...chart.matchAll(/class="mark-text"[^>]*>(\d+)</g)].map(([, number]) => number))
    assert.ok(listed.length > 20)
    assert.deepEqual(drawn, [listed, listed])
    assert.match(figure, /<div class="scroll few" tabindex="0" role="region"/)
  }
})
