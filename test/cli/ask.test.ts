/** `storerank ask` as a person runs it who writes no SQL. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { commandsWith } from '../support/command.ts'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const list = lasting(createWatchlist)
const { succeed, refuse } = commandsWith(() => ({ DATABASE_URL: list.url }))
const ask = (...args: string[]) => succeed('ask', ...args)

before(async () => {
  await list.setNow('2026-11-01 00:00+00')
  for (const [keyword, weight] of [
    ['chess', 1],
    ['yoga', 2],
  ])
    await list.addKeyword({ keyword, weight, tags: [keyword] })
  for (const app of ['1001', '1002']) await list.addApp({ app_id: app, label: `App ${app}` })
  await list.addKeyword({ project: 'other' })
  for (const [day, apps] of [
    [1, ['1001', '1002']],
    [2, ['9', '1002', '1001']],
  ] as const) {
    for (const keyword of ['chess', 'yoga'])
      await list.capture(keyword, `2026-11-0${day} 00:00+00`, [...apps])
  }
  await list.setNowForAll('2026-11-02 06:00+00')
})

test('lists what can be asked, each with what it answers', async () => {
  const stdout = await ask()
  assert.match(stdout, /^cannibalization: Keywords and charts on which two own apps stand/m)
  assert.doesNotMatch(stdout, /compared_ranks/)
})

test('answers by the latest days, the heaviest first, and says once what all rows have', async () => {
  const stdout = await ask('cannibalization', '--project', 'fitness')
  assert.match(stdout, /^cannibalization: fitness, 1 Nov 2026 to 2 Nov 2026$/m)
  assert.match(stdout, /^All of them: store ios_store, list keyword, location 2840, language en, /m)
  assert.match(stdout, /│ yoga +│ yoga +│ +2 │[\s\S]*│ chess +│ chess +│ +1 │/)
  const json = await ask('cannibalization', '--project', 'fitness', '--tag', 'chess', '--json')
  const [row, ...others] = JSON.parse(json)
  assert.deepEqual([row.keyword, row.rank, row.other_rank, row.turns, others], ['chess', 2, 3, 1, []])
})

test('takes what the question takes, and refuses what it does not', async () => {
  const asked = ['--project', 'fitness', '--sort', 'rank', '--descending', '--csv']
  const stdout = await ask('rank_daily', ...asked)
  assert.match(stdout.split('\n')[1] ?? '', /3/)
  const top = await ask('top_holders', '--project', 'fitness', '--with', 'top=1', '--json')
  assert.deepEqual(
    JSON.parse(top).map(({ rank }: { rank: number }) => rank),
    [1, 1],
  )
  const all = await ask('rank_daily', '--project', 'fitness', '--limit', '1')
  assert.match(all, /… and 7 more: --limit/)
  const refused: [words: string, sentence: RegExp][] = [
    ['canibalization --project fitness', /Did you mean "?cannibalization/],
    ['clusters --project fitness --app 1', /does not take "in_app_id"/],
    ['top_holders --project fitness --with top', /with its value, such/],
    ['top_holders --project fitness --with top=many', /does not take that value: .*"many"\. Look/],
    ['clusters', /about one project, and there are several: give one of f/],
    ['clusters --project fitness --sort size', /has no column "size"/],
  ]
  for (const [words, sentence] of refused) await refuse(['ask', ...words.split(' ')], sentence)
})
