import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { buildCatalogue } from '../../src/sandbox/catalogue.ts'
import { tokenize } from '../../src/sandbox/keyword.ts'
import { STORES } from '../../src/sandbox/offers.ts'
import { rankSearch } from '../../src/sandbox/ranking.ts'
import { ANCHORS } from '../../src/sandbox/words.ts'
import { DAY_MS, fileOf, type Json, measure, openSandbox, organicIds } from './caller.ts'

const topOf = (result: Json, count: number): string[] => organicIds(result).slice(0, count)
const shared = (left: readonly string[], right: readonly string[]): number =>
  left.filter((id) => right.includes(id)).length

describe('rankings', () => {
  test('a search for yoga finds apps about yoga, in both stores', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    for (const store of STORES) {
      const { items } = await measure(caller, { keyword: 'yoga' }, { store })
      const titles: string[] = items.slice(0, 10).map((item: Json) => item.title)
      assert.ok(titles.filter((title) => /yoga/i.test(title)).length >= 8, titles.join(', '))
    }
  })

  test('a search of 100 apps is as large as a real one', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    for (const store of STORES) {
      const bytes = JSON.stringify(await measure(caller, { keyword: 'yoga', depth: 100 }, { store })).length
      assert.ok(bytes > 45_000 && bytes < 95_000, `${bytes} bytes`)
    }
  })

  test('the same seed gives the same answer, another seed another one', async (t) => {
    const callers = await Promise.all([1, 1, 2].map((seed) => openSandbox(t, { readyMs: 0, seed })))
    const [one, same, other] = await Promise.all(
      callers.map((caller) => measure(caller, { keyword: 'puzzle' })),
    )
    assert.deepEqual(one, same)
    assert.ok(shared(organicIds(one), organicIds(other)) < 20)
  })

  test('a ranking stands still within a day and drifts by a few places to the next', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    const days: string[][] = []
    for (let day = 0; day < 30; day += 1) {
      const morning = organicIds(await measure(caller, { keyword: 'fitness' }))
      caller.clock.nowMs += DAY_MS / 4
      assert.deepEqual(organicIds(await measure(caller, { keyword: 'fitness' })), morning)
      caller.clock.nowMs += (DAY_MS * 3) / 4
      days.push(morning)
    }
    for (const [index, today] of days.slice(1).entries()) {
      const before = days[index] ?? []
      assert.notDeepEqual(today, before)
      assert.ok(shared(today, before) >= 85, 'most apps stay')
      const moves = today
        .filter((id) => before.includes(id))
        .map((id) => Math.abs(today.indexOf(id) - before.indexOf(id)))
      assert.ok(moves.reduce((sum, move) => sum + move, 0) / moves.length < 6)
    }
    assert.ok(shared(days[0] ?? [], days[29] ?? []) < 100, 'apps appear and disappear')
  })

  test('different places give different but related rankings', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    const here = topOf(await measure(caller, { keyword: 'photo editor' }), 50)
    const there = topOf(await measure(caller, { keyword: 'photo editor', location_code: 2276 }), 50)
    assert.notDeepEqual(here, there)
    assert.ok(shared(here, there) >= 25)
  })

  test('keywords in other scripts, with accents and as emoji are understood', () => {
    assert.deepEqual(tokenize('Méditations for the C++ 3+ Kids'), ['meditation', 'c++', '3+', 'kid'])
    assert.deepEqual(tokenize('日本語 🧘‍♀️ ﾖｶﾞ'), ['日本語', '🧘', '♀', 'ヨガ'])
    const catalogue = buildCatalogue('ios_store', 1)
    const view = { locationCode: 2840, languageCode: 'en', day: 20_000 }
    const best = (keyword: string) => {
      const ranked = rankSearch(catalogue, keyword, view, 1)
      return ranked.slice(0, 10).filter((app) => app.topic?.heads.some((head) => keyword.includes(head)))
        .length
    }
    for (const keyword of ['🧘', '日本語', '日本語学習', 'ヨガ', '家計簿アプリ'])
      assert.ok(best(keyword) >= 8, keyword)
  })

  test('the flagship apps rank within their band for each of their words, by any seed and day', () => {
    const stores = [1, 2].flatMap((seed) =>
      STORES.map((store) => ({ store, seed, catalogue: buildCatalogue(store, seed) })),
    )
    const view = { locationCode: 2276, languageCode: 'de', day: 20_742 }
    const searches = ANCHORS.flatMap((anchor) => anchor.words.map((keyword) => ({ anchor, keyword })))
    for (const { store, seed, catalogue } of stores) {
      for (const { anchor, keyword } of searches) {
        const ranked = rankSearch(catalogue, keyword, view, seed)
        const place = 1 + ranked.findIndex((app) => app.id === anchor.ids[store])
        const { best, worst } = anchor
        // A neighbour on the same place moves it down.
        assert.ok(place >= best && place <= worst + 3, `${anchor.title} at ${place} for ${keyword}`)
      }
    }
  })

  test('ids have the form of their store and are unique among thousands of apps', () => {
    for (const store of STORES) {
      const apps = buildCatalogue(store, 5).apps
      assert.ok(apps.length > 5000)
      assert.equal(new Set(apps.map((app) => app.id)).size, apps.length)
      const form = store === 'ios_store' ? /^\d{9,10}$/ : /^com\.[a-z]+\.[a-z]+\d*$/
      for (const app of apps) assert.match(app.id, form)
    }
  })

  test('a catalogue adds real apps to the ios_store, found by title and ordered by votes', async (t) => {
    const catalogFile = await fileOf(t, 'apps.csv')
    writeFileSync(
      catalogFile,
      'app_id,title,genre,rating,ratings_count,price_usd\n' +
        '300000001,"Quibblefax, the app",Photo & Video,3.5,12,0.0\n300000002,Quibblefax ' +
        'Deluxe,Games,4.5,2000000,1.99\n',
    )
    const caller = await openSandbox(t, { readyMs: 0, catalogFile })
    const result = await measure(caller, { keyword: 'quibblefax' })
    assert.deepEqual(organicIds(result), ['300000002', '300000001'])
    const page = await measure(caller, { app_id: '300000001' }, { name: 'app_info' })
    assert.equal(page.items[0].main_category, 'photo_and_video')
    writeFileSync(catalogFile, 'app_id,title,genre,rating,ratings_count,price_usd\nx,Y,Games,3,1,0\n')
    await assert.rejects(openSandbox(t, { catalogFile }), /record 1: column app_id/)
  })
})
