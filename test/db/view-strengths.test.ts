/** What a project asks of all apps on its keywords: their numbers, who advertises, and how hard a list is. */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { openDatabase } from '../../src/db/database.ts'
import { createWritten, writeNumbers } from '../../src/history/numbers.ts'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const list = lasting(createWatchlist)
const FIRST = '2026-03-01'
const LAST = '2026-03-08'
const RANGE = `'fitness', '${FIRST}', '${LAST}'`

const ask: typeof list.ask = (columns, from) => list.ask(columns, from)

type Numbers = readonly [votes: number, hundredths: number, priceMicros?: number]

async function say(day: string, numbers: Readonly<Record<string, Numbers>>): Promise<void> {
  const ids = await list.sql<{ id: number; appId: string }[]>`select id, app_id as "appId" from app`
  const seen = ids.flatMap(({ id, appId }) => {
    const [votes, rating, priceMicros = 0] = numbers[appId] ?? []
    if (votes === undefined || rating === undefined) return []
    return [{ id, locationCode: 2840, day, numbers: { votes, rating, priceMicros, currency: 'USD' } }]
  })
  const db = openDatabase(list.url, { maxConnections: 1 })
  await writeNumbers(db, createWritten(), seen)
  await db.close()
}

const capture = (keyword: string, day: string, apps: string[], fields = {}) =>
  list.capture(keyword, `${day} 00:00+00`, apps, fields)

beforeEach(async () => {
  await list.clear()
  await list.sql`truncate app_numbers`
  await list.setNow(`${FIRST} 06:00+00`)
  await list.addKeyword({ weight: 2 })
  await list.addKeyword({ keyword: 'zen garden', volume: 40, tags: ['calm'] })
  await list.addApp({ role: 'own' })
})

test('the numbers of an app stand on the days on which one of them changed', async () => {
  await capture('yoga', FIRST, ['1001', '1002'])
  await say('2026-02-20', { 1001: [90, 440], 1002: [5, 300] })
  await say('2026-03-01', { 1001: [100, 450], 1002: [5, 300, 990_000] })
  await say('2026-03-03', { 1001: [104, 450], 1002: [5, 310, 990_000] })
  await list.sql`update app set developer = 'Now', former_developers = '[{"developer": "Then",
    "until": "2026-03-02"}]' where app_id = '1002'`
  const columns = 'day, app_id, developer, votes, votes_change, rating, price'
  assert.deepEqual(await ask(columns, `app_numbers_daily(${RANGE})`), [
    '2026-03-01 1001 100 4.50 0',
    '2026-03-03 1001 104 4 4.50 0',
  ])
  assert.deepEqual(await ask(columns, `app_numbers_daily(${RANGE}, in_app_id => '1002')`), [
    '2026-03-01 1002 Then 5 3.00 0.99',
    '2026-03-03 1002 Now 5 0 3.10 0.99',
  ])
  assert.deepEqual(await ask(columns, `app_numbers_daily(${RANGE}, 'none')`), [])
})

test(
  'advertisers are told by day and place, beside their own rank and ours; an own brand is known by its ' +
    'name',
  async () => {
    await list.addKeyword({ keyword: 'ashlune app' })
    await capture('yoga', FIRST, ['1001', '1002'])
    const [other] = await list.sql<
      { id: number }[]
    >`update app set title = 'Rival' where app_id = '1002' returning id`
    await list.sql`update app set title = 'Ashlune: Yoga & Pilates' where app_id = '1001'`
    const paid = { paid_ids: [other?.id], paid_places: [1] }
    await capture('yoga', LAST, ['1001', '1002'], paid)
    await capture('ashlune app', LAST, ['1001'], paid)
    await capture('zen garden', LAST, ['1002'], paid)
    const columns = 'day, keyword, place, title, rank, own_rank, is_own_brand'
    assert.deepEqual(await ask(columns, `advertisers(${RANGE})`), [
      '2026-03-08 ashlune app 1 Rival 1 t',
      '2026-03-08 yoga 1 Rival 2 1 f',
      '2026-03-08 zen garden 1 Rival 1 f',
    ])
    assert.deepEqual(await ask('keyword', `advertisers(${RANGE}, 'calm')`), ['zen garden'])
    // What three others are called says what an app is, and names none.
    await capture('yoga', '2026-03-07', ['1003', '1004', '1005'])
    await list.sql`update app set developer = app_id, title = case app_id when '1001' then 'Zen: Sleep'
      else 'Zen ' || app_id end`
    assert.deepEqual(await ask('keyword', `advertisers(${RANGE}) where is_own_brand`), [])
    await list.sql`update app set title = 'Rival' where app_id in ('1004', '1005')`
    assert.deepEqual(await ask('keyword', `advertisers(${RANGE}) where is_own_brand`), ['zen garden'])
  },
)

test('difficulty is the sum of votes, ratings, titles and who stayed, of what is known', async () => {
  const apps = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '1001']
  await capture('yoga', FIRST, [...apps.slice(0, 5), '71', '72', '73', '74', '75'])
  await capture('yoga', LAST, apps)
  await capture('zen garden', LAST, ['8', '9'])
  await list.sql`update app set title = 'Yoga, daily' where app_id in ('1', '2', '3', '4')`
  await list.sql`update app set title = 'Garden of zen' where app_id = '8'`
  await say(LAST, Object.fromEntries(apps.map((app) => [app, [999, 400]] as const)))
  // 0.4 × 3/6 + 0.2 × 1/2 + 0.2 × 4/10 + 0.2 × 5/10; without the last part: (0.4 × 3/6 + 0.1 + 0.2 × 1/10) /
  // 0.8
  const columns = 'keyword, difficulty, apps, middle_votes, average_rating, with_words, stayed, own_rank'
  assert.deepEqual(await ask(columns, `difficulty(${RANGE})`), [
    'yoga 48.0 10 999 4.00 4 5 10',
    'zen garden 40.0 2 999 4.00 1',
  ])
  assert.deepEqual(await ask('keyword', `difficulty(${RANGE}, 'calm')`), ['zen garden'])
  // 2 × 9/10 × 52/100 × 10/20, and 40 × 100/101 × 60/100 × 10/111.
  assert.deepEqual(await ask('keyword, opportunity, to_win, weight', `opportunity(${RANGE})`), [
    'yoga 0.468 0.900 2',
    'zen garden 2.141 0.990 40',
  ])
})

test('weak spots of a top 10 are named with their reasons', async () => {
  const apps = ['2001', '2', '3', '4', '1001']
  await list.addApp({
    app_id: '2001',
    role: 'competitor',
    info: true,
    location_code: 2840,
    language_code: 'en',
  })
  await capture('yoga', FIRST, ['4', '2001', '2', '3'])
  await capture('yoga', LAST, apps)
  await say(LAST, { 2001: [1000, 450], 2: [99, 390], 3: [2000, 450], 4: [3000, 450], 1001: [1, 200] })
  await list.describeApp('2001', `${LAST} 00:00+00`, { updated_at: '2024-01-01' })
  assert.deepEqual(
    await ask(`keyword, rank, app_id, array_to_string(reasons, ', ')`, `weak_spots(${RANGE})`),
    ['yoga 1 2001 old', 'yoga 2 2 few votes, low rating', 'yoga 4 4 fell'],
  )
  assert.deepEqual(await ask('weak', `opportunity(${RANGE}) where keyword = 'yoga'`), ['3'])
})
