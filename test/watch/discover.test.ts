/** Keywords that are proposed from what is bought already. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { type DiscoverQuery, discover } from '../../src/watch/discover.ts'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const list = lasting(createWatchlist)
const SLOT = '2026-03-10 00:00+00'
const TITLES: Readonly<Record<string, string>> = {
  '11': 'Velton: Yoga Studio',
  '12': 'Yoga Studio by Baywick',
  '13': 'Chair Yoga',
  '14': 'Sitting – Chair Yoga',
  '15': 'Only Here Twice',
  '16': 'Only Here Twice',
  '21': 'Yoga Studio Berlin',
  '31': 'ヨガ瞑想',
  '32': '毎日 ヨガ瞑想',
}

before(async () => {
  await list.setNow(SLOT)
  const place = { tags: ['core'] }
  await list.addKeyword({ ...place, weight: 10 })
  await list.addKeyword({ ...place, keyword: 'chair yoga' })
  await list.addKeyword({ ...place, keyword: 'berlin', location_code: 2276, language_code: 'de' })
  await list.addKeyword({ ...place, keyword: 'ヨガ', location_code: 2392, language_code: 'ja' })
  await list.addApp({ info: true, location_code: 2840, language_code: 'en' })
  await list.sql`insert into location (store, code, name, country_iso_code)
    values ('ios_store', 2840, 'United States', 'US'), ('ios_store', 2276, 'Germany', 'DE')`
  await list.setNow('2026-03-10 06:00+00')
  await list.capture('yoga', SLOT, ['11', '12', '1001', '15', '16'])
  await list.capture('chair yoga', SLOT, ['13', '14'])
  await list.capture('berlin', SLOT, ['21'])
  await list.capture('ヨガ', SLOT, ['31', '32'])
  for (const [id, title] of Object.entries(TITLES)) {
    const developer = id === '16' ? 'Developer 15' : `Developer ${id}`
    await list.sql`update app set title = ${title}, developer = ${developer} where app_id = ${id}`
  }
  const details = { subtitle: 'Sleep sounds', similarApps: [{ appId: '91', title: 'Sleep Sounds HD' }] }
  await list.sql`insert into listing (hash, title, description, details)
    values ('a', 'Mine', 'A yoga studio at home by Quiet Harbour', ${list.sql.json(details)})`
  await list.describeApp('1001', SLOT, { listing_hash: Buffer.from('a'), app: 1 })
  await list.sql`update app_snapshot set app = (select id from app where app_id = '1001')`
  // What it calls itself on its page and on the lists is the name of one.
  await list.sql`update app set title = 'Quiet Harbour', developer = 'Us' where app_id = '1001'`
})

const ask = (query: Partial<DiscoverQuery>) =>
  discover({ sql: list.sql as never }, { project: 'fitness', limit: 50, ...query })
const named = async (query: Partial<DiscoverQuery>) => (await ask(query)).map(({ keyword }) => keyword)

describe('proposed is', () => {
  test('what two developers call apps that rank or are shown beside ours, and nothing watched', async () => {
    const [best, ...others] = await ask({ country: 'us' })
    assert.deepEqual(best, {
      project: 'fitness',
      store: 'ios_store',
      keyword: 'yoga studio',
      location: 'United States',
      locationCode: 2840,
      language: 'en',
      score: 100,
      apps: 3,
      examples: ['Velton: Yoga Studio', 'Yoga Studio by Baywick', 'Mine'],
      near: 'yoga',
    })
    assert.deepEqual(
      others.map(({ keyword, near }) => [keyword, near]),
      [['sleep sounds', '']],
    )
  })

  test('by country and app, in languages without spaces, and with titles from elsewhere', async () => {
    assert.deepEqual(await named({ country: 'Germany' }), [])
    assert.deepEqual(await named({ country: '2392' }), ['ヨガ瞑想', '瞑想'])
    assert.deepEqual(await named({ app: '1001' }), ['yoga studio', 'sleep sounds'])
    assert.deepEqual(await named({ country: 'DE', titles: ['Yoga Studio', 'Yoga Studio HD'] }), [
      'yoga studio',
    ])
    assert.equal((await ask({ limit: 1 })).length, 1)
  })
})
