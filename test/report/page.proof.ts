/** The page in a real browser, as a customer opens it: from the disk, with nothing beside it. */

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { renderPage } from '../../src/report/page/page.ts'
import { formatPoint, gapOf } from '../../src/report/points.js'
import type { Report } from '../../src/report/read.ts'
import type { RankSeries } from '../../src/report/read-ranks.ts'
import { ownSeries } from '../../src/report/summary.ts'
import { asName } from '../../src/text/names.ts'
import { makeBareReports } from '../support/bare-reports.ts'
import { findBarriers, launchBrowser, noBrowser, type Visit, visit } from '../support/browser.ts'
import { createReport, HOSTILE_NAMES } from '../support/report.ts'

const DESK = { width: 1280, height: 900 }
const PHONE = { width: 375, height: 740 }

const latestOf = ({ points }: RankSeries) => points.at(-1) ?? 0

describe('the page', { skip: noBrowser }, () => {
  let report: Report
  let folder: string
  let file: string
  let browser: Browser
  before(async () => {
    report = await createReport({ seed: 7, keywords: 120, days: 60 })
    folder = await mkdtemp(join(tmpdir(), 'storerank-page-'))
    file = join(folder, 'report.html')
    await writeFile(file, renderPage(report, { title: 'Ranks of <Acme> & Co', logoUrl: LOGO }))
    browser = await launchBrowser()
  })
  after(async () => {
    await browser.close()
    await rm(folder, { recursive: true })
  })

  /** Opens it and waits for its script. */
  async function open(t: TestContext, options: BrowserContextOptions = {}): Promise<Visit> {
    const visited = await visit(t, browser, file, { viewport: DESK, ...options })
    await visited.page.locator('html.ready').waitFor()
    return visited
  }

  test('opens with its title and logo, without a complaint, and asks for nothing but itself', async (t) => {
    const { page, complaints } = await open(t)
    const logo = page.locator('img.logo')
    assert.equal(await page.locator('h1').textContent(), 'Ranks of <Acme> & Co')
    assert.equal(await logo.evaluate((img) => (img as HTMLImageElement).naturalWidth), 4)
    await page.locator('button.key').first().click()
    await page.locator('.panel svg.chart').waitFor()
    await page.mouse.wheel(0, 20_000)
    assert.deepEqual(complaints, [])
  })

  test('takes keywords, titles and reviews for text, whatever they hold', async (t) => {
    const { page, complaints } = await open(t)
    await page.locator('#show-all').click()
    const names = await page.locator('button.key').allTextContents()
    const hostile = HOSTILE_NAMES.map(asName)
    for (const name of hostile) assert.ok(names.includes(name), name)
    for (const name of hostile) {
      await page.locator('button.key').nth(names.indexOf(name)).click()
      const title = await page.locator('.panel h3').textContent()
      assert.ok(title?.startsWith(`Ranks on ${name} (`), title ?? '')
    }
    assert.match(await page.title(), /^Ranks of <Acme> & Co/)
    assert.equal(await page.locator('main img, main script, main b b').count(), 0)
    assert.deepEqual(complaints, [])
  })

  test('opens where there is little to show, and where every name is meant to break it', async (t) => {
    const named = {
      ...report,
      project: HOSTILE_NAMES[12] ?? '',
      apps: report.apps.map((app, n) => ({ ...app, name: HOSTILE_NAMES.at(-1 - n) ?? '' })),
    }
    const pages = { ...makeBareReports(report), 'names are meant to break it': named }
    for (const [name, each] of Object.entries(pages)) {
      const path = join(folder, 'other.html')
      await writeFile(path, renderPage(each))
      const { page, complaints } = await visit(t, browser, path, { viewport: PHONE })
      await page.locator('html.ready').waitFor()
      if (each.series.length > 0 && (await page.locator('button.key').count()) > 0) {
        await page.locator('button.key').first().click()
      }
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.ok(overflow <= 0, `${name}: ${overflow} px too wide`)
      assert.deepEqual(complaints, [], name)
    }
  })

  test('runs no script and no style but its own', async (t) => {
    const { page } = await open(t)
    const { stolen, color } = await page.evaluate(() => {
      for (const [tag, text] of [
        ['script', 'globalThis.stolen = true'],
        ['style', 'h1 { color: rgb(1, 2, 3) }'],
      ] as const)
        document.body.append(Object.assign(document.createElement(tag), { textContent: text }))
      const { color } = getComputedStyle(document.querySelector('h1') as Element)
      return { stolen: (globalThis as { stolen?: boolean }).stolen, color }
    })
    assert.equal(stolen, undefined)
    assert.notEqual(color, 'rgb(1, 2, 3)')
  })

  describe('the table of keywords', () => {
    const column = (page: Page, name: string) =>
      page.locator(`table.keywords > tbody > tr[id]:visible td.${name}`).allTextContents()

    test('begins with the best ranks, and shows fifty until it is asked for all', async (t) => {
      const { page } = await open(t)
      assert.equal((await column(page, 'latest')).length, 50)
      await page.locator('#show-all').click()
      const latest = await column(page, 'latest')
      const wanted = ownSeries(report).map((series) => formatPoint(latestOf(series)))
      assert.deepEqual(latest.toSorted(), wanted.toSorted())
      assert.deepEqual(
        numbers(latest),
        numbers(latest).toSorted((a, b) => a - b),
      )
      assert.match(latest.at(-1) ?? '', /budget/)
    })

    test('is sorted by click and by keyboard, with what has no value at the end', async (t) => {
      const { page } = await open(t)
      await page.locator('#show-all').click()
      const head = page.locator('th[data-key="d7"]')
      for (const [order, first] of [
        ['descending', /^(\+\d+|in)$/],
        ['ascending', /^(−\d+|out)$/],
      ] as const) {
        await head.locator('button').press('Enter')
        assert.equal(await head.getAttribute('aria-sort'), order)
        const changes = await column(page, 'd7')
        assert.match(changes[0] ?? '', first)
        assert.equal(changes.at(-1), '–')
      }
      await page.locator('th[data-key="name"] button').click()
      const names = await page.locator('tr[id]:visible button.key').allTextContents()
      assert.deepEqual(
        names,
        names.toSorted((a, b) => a.localeCompare(b)),
      )
      assert.equal(await page.locator('th[aria-sort]').count(), 1)
    })

    test('is filtered by words, place, tag and what became of a rank', async (t) => {
      const { page } = await open(t)
      await page.getByLabel('Search').fill('YOGA ')
      const names = await page.locator('tr[id]:visible button.key').allTextContents()
      assert.ok(names.length > 5)
      assert.ok(names.every((name) => /yoga/i.test(name)))
      assert.equal(await page.locator('#shown').textContent(), `${names.length} of 120 keywords`)
      await page.getByLabel('Search').fill('')
      await page.locator('select[name="state"]').selectOption('gap')
      const missing = ownSeries(report).filter((series) => gapOf(latestOf(series)) !== null)
      assert.deepEqual(
        await column(page, 'latest'),
        missing.map((series) => formatPoint(latestOf(series))),
      )
      await page.locator('select[name="state"]').selectOption('')
      await page.locator('select[name="tag"]').selectOption('brand')
      await page.locator('select[name="place"]').selectOption('iOS JP')
      const places = await page.locator('tr[id]:visible th small').allTextContents()
      assert.ok(places.length > 0)
      assert.ok(places.every((place) => place.startsWith('iOS JP') && place.includes('#brand')))
    })

    test('shows all of one country where that is chosen: who moved, who overtook, the matrix', async (t) => {
      const { page } = await open(t)
      await page.locator('select[name="place"]').selectOption('iOS JP')
      await page.locator('#matrix summary').click()
      const named = page.locator('[data-list]:visible')
      const lists = await named.evaluateAll((all) => all.map((one) => Number(one.dataset.list)))
      assert.ok(lists.length > 10)
      assert.deepEqual([...new Set(lists.map((list) => report.lists[list]?.place))], ['JP'])
      assert.ok(await page.locator('#scoped').isVisible())
      await page.locator('select[name="place"]').selectOption('')
      assert.ok((await named.count()) > lists.length)
      assert.equal(await page.locator('#scoped').isVisible(), false)
    })

    test('opens the chart of the keyword that a mover links to', async (t) => {
      const { page } = await open(t)
      const link = page.locator('#movers .moves a').first()
      await link.click()
      const title = await page.locator('.panel h3').textContent()
      const name = ((await link.textContent()) ?? '').replace(/ \(\w+\)$/, '')
      assert.ok(title?.includes(name))
      assert.ok((await page.locator('.panel .holders tbody tr').count()) > 0)
    })
  })

  describe('the chart of a keyword', () => {
    /** A keyword of the project whose series has what the test is about. */
    async function openKeyword(page: Page, row: number): Promise<void> {
      await page.evaluate((hash) => {
        location.hash = hash
      }, `k${row}`)
      await page.locator('.panel svg.chart').waitFor()
    }
    const rowWith = (holds: (points: readonly number[]) => boolean) =>
      report.series.findIndex(({ app, points }) => app === 0 && holds(points))

    test('has the better rank above the worse one, and its axis fits the ranks', async (t) => {
      const { page } = await open(t)
      const row = rowWith((points) => points.every((point) => point > -1000))
      await openKeyword(page, row)
      for (const app of report.apps.slice(2)) {
        const toggle = page.locator('.toggles button', { hasText: app.name })
        if (app.store === 'ios_store') await toggle.click()
      }
      const points = report.series[row]?.points ?? []
      const ys = await lineHeights(page, 'own0')
      const ranks = points.filter((point) => point > 0)
      const best = ys[ranks.indexOf(Math.min(...ranks))] ?? 0
      const worst = ys[ranks.indexOf(Math.max(...ranks))] ?? 0
      assert.ok(best < worst)
      const { top, bottom } = await plotOf(page)
      assert.ok(best - top < (bottom - top) / 4 && bottom - worst < (bottom - top) / 4, 'it fills the plot')
    })

    test('breaks the line at a gap, says why, and has what is not in the top on a rail', async (t) => {
      const { page } = await open(t)
      const row = rowWith(
        (points) => points.some((point) => point <= -1000) && points.some((point) => point > 0),
      )
      await openKeyword(page, row)
      const points = report.series[row]?.points ?? []
      const path = (await page.locator('.panel .plot path.line.own0').getAttribute('d')) ?? ''
      const runs = points.filter(
        (point, day) => point > 0 && (points[day - 1] ?? 0) <= 0 && (points[day + 1] ?? 0) > 0,
      )
      assert.ok((path.match(/M/g) ?? []).length >= runs.length, 'no line leads over a gap')
      assert.equal(
        await page.locator('.panel .band').count(),
        points.filter((point) => gapOf(point) !== null).length,
      )
      const reasons = await page.locator('.panel .legend li').allTextContents()
      assert.ok(reasons.includes('not measured: failed'), reasons.join())
      const { bottom } = await plotOf(page)
      const rail = (await page.locator('.panel path.absent.own0').getAttribute('d')) ?? ''
      const heights = [...rail.matchAll(/M[\d.]+,([\d.]+)/g)].map(([, y]) => Number(y))
      const step = Number(await page.locator('.panel svg.chart').getAttribute('data-step'))
      const length = [...rail.matchAll(/h([\d.]+)/g)].reduce((sum, [, width]) => sum + Number(width), 0)
      assert.equal(Math.round(length / step), points.filter((point) => point <= -1000).length)
      assert.ok(heights.every((y) => y > bottom))
      assert.ok((await page.locator('.panel .axis.value').allTextContents()).includes('> 100'))
    })

    test('marks releases and notes, has its numbers, and closes again', async (t) => {
      const { page } = await open(t)
      const row = rowWith(() => true)
      await openKeyword(page, row)
      const marks = await page.locator('.panel .marks li').allTextContents()
      assert.deepEqual(marks, [
        '120 Jan The store was down for hours',
        '227 Jan Ashlune 4.2.0',
        '35 Feb Spring campaign <b>begins</b>',
        '46 Feb Calmly 10.0 </script>',
      ])
      assert.deepEqual(await page.locator('.panel .mark-text').allTextContents(), ['1', '2', '3', '4'])
      await page.locator('.panel .numbers summary').click()
      assert.ok(await page.locator('.panel .numbers td').first().isVisible())
      const key = page.locator('button.key[aria-expanded="true"]')
      assert.equal(await key.count(), 1)
      await key.click()
      assert.equal(await page.locator('.panel').count(), 0)
    })
  })

  describe('a chart', () => {
    test('tells the values of the day at the pointer, those of its table', async (t) => {
      const { page } = await open(t)
      const plot = page.locator('#share-of-voice-ios_store .plot')
      await plot.scrollIntoViewIfNeeded()
      const box = await plot.boundingBox()
      assert.ok(box !== null)
      await page.mouse.move(box.x + box.width * 0.52, box.y + box.height / 2)
      const tip = plot.locator('.tip')
      const [day = '', ...values] = await tip.locator('b, i').allTextContents()
      const row = page.locator('#share-of-voice-ios_store .numbers tbody tr', {
        has: page.locator('th', { hasText: day }),
      })
      assert.deepEqual(values, await row.locator('td').allTextContents())
      assert.equal(await tip.evaluate((element) => getComputedStyle(element).visibility), 'visible')
      await page.mouse.move(0, 0)
      assert.equal(await tip.evaluate((element) => getComputedStyle(element).visibility), 'hidden')
    })

    test('is read by the keyboard, day by day', async (t) => {
      const { page } = await open(t)
      const range = page.locator('#distribution .reader')
      await range.focus()
      const last = await range.getAttribute('aria-valuetext')
      await page.keyboard.press('ArrowLeft')
      const before = await range.getAttribute('aria-valuetext')
      assert.match(last ?? '', /1 Mar 2026.*1st \d+/)
      assert.match(before ?? '', /28 Feb 2026/)
      assert.equal(await page.locator('#distribution .cross').count(), 1)
    })
  })

  test('is dark where a person wants it dark, and light on paper', async (t) => {
    const { page } = await open(t, { colorScheme: 'dark' })
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    assert.equal(await paper(), 'rgb(18, 22, 29)')
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    assert.equal(await paper(), 'rgb(255, 255, 255)')
  })

  test('fits a phone', async (t) => {
    const { page } = await open(t, { viewport: PHONE })
    await page.locator('button.key').first().click()
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(overflow <= 0, `${overflow} px too wide`)
    assert.equal(await page.locator('#distribution svg.chart:visible').count(), 1)
    assert.equal(await page.locator('th[data-key="d30"]').isVisible(), false)
    assert.equal(await page.locator('th[data-key="latest"]').isVisible(), true)
    // No column of words is so narrow that words break.
    for (const words of ['.keywords th[scope="row"]', '.duels th[scope="row"]', '.changes .what']) {
      const box = await page.locator(words).first().boundingBox()
      assert.ok((box?.width ?? 0) > 110, `${words} is ${box?.width} px wide`)
    }
  })

  test('prints what is shown, without what only a screen can use', async (t) => {
    const { page } = await open(t)
    await page.emulateMedia({ media: 'print' })
    for (const selector of ['nav', '#filters input', '#show-all']) {
      assert.equal(await page.locator(selector).isVisible(), false, selector)
    }
    assert.equal(await page.locator('#shown').isVisible(), true, 'how many of how many')
    assert.equal(await page.locator('#visibility-ios_store svg.chart:visible').count(), 1)
    const head = page.locator('th[data-key="latest"] button')
    assert.equal(await head.evaluate((button) => getComputedStyle(button).display), 'contents')
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')))
    assert.equal(await page.locator('tr[id]:visible svg.spark').count(), 50)
    const pdf = await page.pdf({ format: 'A4' })
    assert.equal(pdf.subarray(0, 5).toString(), '%PDF-')
  })

  test('reads without a script: words, charts, and every keyword', async (t) => {
    const { page } = await visit(t, browser, file, { viewport: DESK, javaScriptEnabled: false })
    assert.match((await page.locator('#summary').textContent()) ?? '', /\d+ up, \d+ down/)
    assert.ok((await page.locator('svg.chart:visible').count()) >= 5)
    assert.equal(await page.locator('table.keywords > tbody > tr:visible').count(), 120)
    assert.equal(await page.locator('#filters').isVisible(), false)
    assert.equal(await page.getByText('Choose one to see').isVisible(), false)
    assert.equal(await page.locator('td.trend').first().isVisible(), false)
  })

  for (const [name, options] of [
    ['on a desk', {}],
    ['in the dark', { colorScheme: 'dark' }],
    ['on a phone', { viewport: PHONE }],
  ] as const) {
    test(`is open to everybody ${name}: axe finds nothing`, async (t) => {
      const { page } = await open(t, options)
      await page.locator('button.key').first().click()
      await page.locator('.panel svg.chart').waitFor()
      assert.deepEqual(await findBarriers(page), [])
    })
  }
})

/** 4 by 4 pixels. */
const LOGO =
  'data:image/svg+xml;base64,' +
  Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"/>').toString('base64')

function numbers(texts: readonly string[]): number[] {
  return texts.filter((text) => /^\d+$/.test(text)).map(Number)
}

/** The heights of a line's points, in the order of its ranked days. */
async function lineHeights(page: Page, className: string): Promise<number[]> {
  const path = (await page.locator(`.panel .plot path.line.${className}`).getAttribute('d')) ?? ''
  return [...path.matchAll(/[ML][\d.]+,([\d.]+)/g)].map(([, y]) => Number(y))
}

async function plotOf(page: Page): Promise<{ top: number; bottom: number }> {
  return page.locator('.panel svg.chart').evaluate((chart) => {
    const { top, bottom } = (chart as unknown as HTMLElement).dataset
    return { top: Number(top), bottom: Number(bottom) }
  })
}
