import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderPage } from '../../src/report/page/page.ts'
import type { Report } from '../../src/report/read.ts'
import { compareOver, summarise } from '../../src/report/summary.ts'
import { chooseSections } from '../../src/sections.ts'
import { makeBareReports } from '../support/bare-reports.ts'
import { createReport } from '../support/report.ts'

const MEGABYTE = 1_000_000

/** So many times as many keywords, whose courses begin on other days, so that none is like another. */
function multiply(report: Report, times: number): Report {
  const { lists, series, comparisons, holders, strengths } = report
  const copies = [...Array(times).keys()]
  const copy = <One extends { readonly list: number }>(of: readonly One[]) =>
    copies.flatMap((n) => of.map((one) => ({ ...one, list: one.list + n * lists.length })))
  return {
    ...report,
    lists: copies.flatMap((n) => lists.map((list) => ({ ...list, name: `${list.name} ${n}` }))),
    series: copy(series).map((one) => {
      const from = (one.list * 7) % one.points.length
      return { ...one, points: [...one.points.slice(from), ...one.points.slice(0, from)] }
    }),
    holders: copies.flatMap((n) =>
      holders.map((of, list) =>
        of.map((one) => ({
          ...one,
          name: `${one.name} ${n % 3}`,
          votes: (list * 7919 + n * 104_729) % 1_000_000,
        })),
      ),
    ),
    strengths: copies.flatMap(() => strengths),
    paid: copies.flatMap((n) =>
      holders.map((of, list) => of.slice(0, (list + n) % 3).map(({ name }) => name)),
    ),
    comparisons: comparisons.map((each) => ({ ...each, moves: copy(each.moves) })),
  }
}

test('1,000 keywords on 90 days take less than 2 MB, and nothing is fetched', async () => {
  const page = renderPage(multiply(await createReport({ seed: 7, keywords: 200, days: 90 }), 5))
  assert.ok(Buffer.byteLength(page) < 2 * MEGABYTE, `${Buffer.byteLength(page)} bytes`)
  assert.deepEqual(page.match(/<(link|iframe|object)\b|@import|url\(|\bsrc="(?!data:).{0,40}/g), null)
})

test('a project that cannot have ranks of own apps is told what it lacks', async () => {
  const bare = makeBareReports(await createReport({ seed: 7, keywords: 20, days: 10 }))
  const firstOf = (name: string) => summarise(bare[name] ?? assert.fail(name))[0]?.text
  assert.equal(
    firstOf('nothing is watched'),
    'There is nothing to rank: watch a keyword or a chart, and an app.',
  )
  assert.equal(
    firstOf('an app alone is watched'),
    'No keyword and no chart is watched in the store of an own app.',
  )
  assert.match(firstOf('no own app is watched') ?? '', /^No own app is watched.*role = 'own' in app_watch\.$/)
  assert.match(firstOf('no competitor is watched') ?? '', /\d+ up, \d+ down/)
  for (const [name, report] of Object.entries(bare)) {
    const page = renderPage(report)
    const hasRanks = name === 'no competitor is watched'
    assert.equal(page.includes('0 up, 0 down'), false, name)
    assert.equal(page.includes('id="distribution"'), hasRanks, name)
  }
})

test('has the sections that are asked for, and says nothing of the others', async () => {
  const report = await createReport({ seed: 7, keywords: 20, days: 10 })
  const page = renderPage(report, { shown: chooseSections(undefined, ['money', 'gaps']) })
  assert.doesNotMatch(page, /id="money"|id="gaps"|href="#money"|Spent|<dt>Gaps/)
  assert.match(page, /id="keywords"/)
  const short = renderPage(report, { shown: chooseSections(['summary', 'movers']) })
  assert.deepEqual(short.match(/<section id="\w+"/g), ['<section id="summary"', '<section id="movers"'])
  assert.doesNotMatch(short, /href="#k\d/)
})

test('what moved is one list up and one down, with what it did over other days', async () => {
  const report = await createReport({ seed: 7, keywords: 40, days: 40 })
  const section = /<section id="movers"[\s\S]*?<\/section>/.exec(renderPage(report))?.[0] ?? ''
  assert.deepEqual(section.match(/<h3>\w+ /g), ['<h3>Up ', '<h3>Down '])
  const { entered, left } = compareOver(report, 7)
  assert.ok(entered.length + left.length > 0)
  assert.equal(section.match(/<i>(into|out of) the top 10<\/i>/g)?.length, entered.length + left.length)
  const comparisons = report.comparisons.map((each) => ({
    ...each,
    moves: each.moves.map((move) => ({ ...move, instead: ['Larkify'] })),
  }))
  assert.match(renderPage({ ...report, comparisons }), /<i>out of the top 10<\/i>: Larkify came in/)
  assert.match(section, /<small>[^<]*1 day [+−=]\d* · 30 days [+−=]\d*<\/small>/)
  // Of a project that is younger than a week, against the day before.
  const short = renderPage(await createReport({ seed: 7, keywords: 40, days: 5 }))
  const against = /Own apps on the last day against (.*) before/.exec(short)?.[1]
  assert.equal(against, '1 day')
})

test('begins with what a person says, and has the colour that they choose', async () => {
  const report = await createReport({ seed: 7, keywords: 20, days: 10 })
  const intro =
    '# March <b>\n\nGood **month**, [more](https://example.com/a).\n\n- one\n- two\n\n[x](javascript:1)'
  const page = renderPage(report, { intro, accent: '#8a1c5a' })
  assert.match(page, /<h2>March &lt;b&gt;<\/h2>/)
  assert.match(
    page,
    /Good <strong>month<\/strong>, <a href="https:\/\/example\.com\/a" rel="noreferrer">more<\/a>/,
  )
  assert.match(page, /<ul><li>one<\/li><li>two<\/li><\/ul>/)
  assert.match(page, /<p>\[x\]\(javascript:1\)<\/p>/)
  assert.match(page, /--accent: light-dark\(#8a1c5a,/)
})

test('shows where a product of both stores stands in each', async () => {
  const report = await createReport({ seed: 7, keywords: 20, days: 10 })
  const title = '<h3>In both stores</h3>'
  assert.ok(!renderPage(report).includes(title))
  const product = { product: 'Lark & Co', keyword: 'yoga', place: 'US', ios: 3, android: null }
  const page = renderPage({ ...report, products: [product] })
  const row = page.slice(page.indexOf(title)).match(/<tbody><tr>[\s\S]*?<\/tr>/)?.[0] ?? ''
  const cells = [...row.matchAll(/>([^<\s][^<]*)</g)].map(([, text]) => text)
  assert.deepEqual(cells, ['yoga', 'US', 'Lark &amp; Co', '3', 'not in top'])
})

test('is full on the first day: who holds the first places, and no line of one day', async () => {
  const report = await createReport({ seed: 9, keywords: 30, days: 1 })
  const page = renderPage(report)
  assert.doesNotMatch(page, /<figure class="figure" id="visibility/)
  assert.match(page, /<figure class="figure" id="(share-of-voice|distribution)/)
  const [first] = report.holders.flatMap((holders) => holders.slice(0, 1))
  assert.ok(first !== undefined)
  const places = page.slice(page.indexOf('The first 3 on the last day')).split('</table>')[0] ?? ''
  assert.ok((places.match(/<tr>/g)?.length ?? 0) > 10)
  assert.match(places, /<b><bdi>/, 'own and followed apps stand out')
})
