import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { Fetched } from '../../src/collect/fetch.ts'
import { appsOf, toNumbers, toRanking } from '../../src/history/encode.ts'
import type { Store } from '../../src/service/functions.ts'
import { parseSearchResult } from '../../src/service/search-result.ts'
import { createWatchlist, type Watchlist } from '../support/watchlist.ts'

type Ranking = Extract<Fetched, { kind: 'ranking' }>
interface Place {
  readonly appId: string
  readonly rank: number
  readonly absolute: number
}

function search(places: readonly Place[]): Ranking {
  const items = places.map(({ appId, rank, absolute }) => ({
    type: 'ios_store_search_organic',
    app_id: appId,
    rank_group: rank,
    rank_absolute: absolute,
  }))
  return {
    kind: 'ranking',
    item: {
      serviceId: 'a',
      path: null,
      kind: 'advanced',
      html: false,
      htmlPath: null,
      store: 'ios_store',
      function: 'app_searches',
      depth: 700,
    },
    statusCode: 20000,
    resultsReturned: 700,
    html: null,
    incomplete: null,
    problem: null,
    search: parseSearchResult({ items }),
  }
}

/** Ids as the dictionary would give them: 1001 is 1, and so on. */
const idsOf = (places: readonly Place[]) => {
  const ids = new Map(places.map(({ appId }) => [appId, Number(appId) - 1000]))
  return (store: Store, appId: string) => (store === 'ios_store' ? ids.get(appId) : undefined)
}

describe('a search result in the history', () => {
  const encode = (places: readonly Place[]) => toRanking(search(places), idsOf(places))

  test('is one array of apps by rank', () => {
    const { appIds, absolute } = encode([
      { appId: '1002', rank: 2, absolute: 2 },
      { appId: '1001', rank: 1, absolute: 1 },
    ])
    assert.deepEqual([appIds, absolute], [[1, 2], null])
  })

  test('has a 0 where no app has the rank', () => {
    const { appIds, absolute } = encode([{ appId: '1001', rank: 3, absolute: 3 }])
    assert.deepEqual([appIds, absolute], [[0, 0, 1], null])
  })

  test('keeps absolute ranks when one of them differs, as advertisements shift them', () => {
    const { appIds, absolute } = encode([
      { appId: '1001', rank: 1, absolute: 2 },
      { appId: '1002', rank: 2, absolute: 3 },
    ])
    assert.deepEqual(
      [appIds, absolute],
      [
        [1, 2],
        [2, 3],
      ],
    )
  })

  test('is an empty array when the store found nothing', () => {
    const nothing = toRanking({ ...search([]), search: null, statusCode: 40102 }, () => undefined)
    assert.deepEqual([nothing.appIds, nothing.absolute, nothing.resultsCount], [[], null, 0])
  })

  test('speaks of every app that it ranks or advertises, with its numbers', () => {
    const found = search([{ appId: '1001', rank: 1, absolute: 2 }])
    const unsaid = { votes: null, rating: null, priceMicros: null, currency: null }
    const app = { appId: '1001', title: null, developer: null, icon: null, url: null, numbers: unsaid }
    const paid = { place: 1, app: { ...app, appId: '1002' } }
    assert.ok(found.search)
    const said = {
      ...found.search,
      paid: [paid],
      locationCode: 2840,
      datetime: new Date('2026-09-01T23:59Z'),
    }
    const ids = idsOf([1001, 1002].map((id) => ({ appId: String(id), rank: 1, absolute: 1 })))
    const advertised = { ...found, search: said }
    assert.deepEqual(appsOf(advertised), { store: 'ios_store', apps: [app, paid.app] })
    assert.deepEqual(toRanking(advertised, ids).paid, [{ id: 2, place: 1 }])
    const numbers = { locationCode: 2840, day: '2026-09-01', numbers: unsaid }
    assert.deepEqual(toNumbers(advertised, ids), [
      { id: 1, ...numbers },
      { id: 2, ...numbers },
    ])
    assert.deepEqual(toNumbers(found, ids), [])
  })
})

describe('rank_history', () => {
  let watchlist: Watchlist
  before(async () => {
    watchlist = await createWatchlist()
    await watchlist.setNow('2026-11-01 06:00+00')
    await watchlist.addKeyword({ depth: 700 })
    for (let app = 1001; app <= 1012; app += 1) await watchlist.addApp({ app_id: String(app) })
  })
  after(() => watchlist.drop())

  const places = fc
    .uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 12 })
    .chain((apps) =>
      fc.tuple(
        fc.constant(apps),
        fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { minLength: apps.length, maxLength: apps.length }),
        fc.array(fc.integer({ min: 0, max: 3 }), { minLength: apps.length, maxLength: apps.length }),
      ),
    )
    .map(([apps, ranks, shifts]) =>
      apps.map((app, index): Place => {
        const rank = ranks[index] ?? 1
        return { appId: String(1000 + app), rank, absolute: rank + (shifts[index] ?? 0) }
      }),
    )

  test('gives back exactly the ranks that were encoded', async () => {
    const { sql } = watchlist
    const rows = await sql`select app_id, id from app`
    const ids = new Map(rows.map((row) => [row.app_id, row.id as number]))
    const idOf = (_: Store, appId: string) => ids.get(appId)
    await sql`select ensure_history_partitions('2026-11-01', '2026-11-01')`
    await fc.assert(
      fc.asyncProperty(places, async (found) => {
        const { appIds, absolute } = toRanking(search(found), idOf)
        await sql`
          insert into ranking (target_id, slot, captured_at, depth, app_ids, absolute)
          select id, '2026-11-01 00:00+00', '2026-11-01 06:00+00', 700, ${appIds}::int[],
            ${absolute}::smallint[] from target
          on conflict (target_id, slot) do update set app_ids = excluded.app_ids,
            absolute = excluded.absolute`
        const read = await sql`
          select app_id as "appId", rank, absolute_rank as absolute from rank_history where outcome = 'ranked'
            order by app_id`
        const byApp = [...found].sort((one, other) => one.appId.localeCompare(other.appId))
        assert.deepEqual([...read], byApp)
        const [missing] = await sql`select count(*) as apps from rank_history where outcome = 'not_in_top'`
        assert.equal(missing?.apps, 12 - found.length)
      }),
      { numRuns: 20 },
    )
  })
})
