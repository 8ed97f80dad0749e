import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandsWith } from '../support/command.ts'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const list = lasting(createWatchlist)

const { call, succeed, refuse } = commandsWith(() => ({ DATABASE_URL: list.url }))
const watch = (...args: string[]) => call('watch', ...args)

test('one keyword is watched with its app, and what was not said is told', async () => {
  await list.clear()
  const about = ['--app', '1480010017', '--project', 'fitness']
  const { code, stdout, stderr } = await watch('meditation timer', ...about)
  assert.deepEqual([code, stderr], [0, ''])
  assert.equal(
    stdout,
    `Watched from now on: "meditation timer" in the ios_store, United States, en, in the project fitness.
By default: --store ios --location "United States" --language en --every 1d --depth 100 --priority 1
\`storerank run\` measures it now, \`storerank forecast\` says what it costs.
`,
  )
  const [row] =
    await list.sql`select project, store, keyword, location_name, language_code, depth from keyword_watch`
  assert.deepEqual(row, {
    project: 'fitness',
    store: 'ios_store',
    keyword: 'meditation timer',
    location_name: 'United States',
    language_code: 'en',
    depth: 100,
  })
  assert.match(
    await succeed('forecast'),
    /^Nothing of what is watched can be measured yet: `storerank run` looks up the places first/,
  )
  const again = await watch('meditation timer')
  assert.equal(again.stderr, '')
  assert.match(
    again.stdout,
    /^Watched already, and left as it was: .*project fitness\.\n.*--project "fitness"/,
  )
})

test('the usual place of the project is the default, and a project without an app is told', async () => {
  await list.clear()
  const place = { location_code: null, location_name: 'France', language_code: 'fr' }
  await list.addKeyword({ project: 'mode', ...place })
  const { stdout } = await watch('robe', '--every', '6h', '--depth', '50', '--tag', 'été')
  assert.match(stdout, /"robe" in the ios_store, France, fr, in the project mode\./)
  assert.match(stdout, /No app of mode in the ios_store is watched, so no rank is kept for it/)
  const [row] = await list.sql`select every::text, depth, tags from keyword_watch where keyword = 'robe'`
  assert.deepEqual(row, { every: '06:00:00', depth: 50, tags: ['été'] })
})

test('a project that is not clear is asked for', async () => {
  await list.clear()
  await refuse(['watch', 'yoga'], /^There is no project yet: give one a name of your own with --project\.\n$/)
  await list.addKeyword({ project: 'a' })
  await list.addKeyword({ project: 'b' })
  await refuse(['watch', 'yoga'], /^Give the project with --project: a, b, or a new one\.\n$/)
})

test('keywords are proposed on which the app ranks and which its project does not watch', async () => {
  await list.clear()
  const slot = '2026-03-01T00:00:00Z'
  await list.setNow('2026-03-01T06:00:00Z')
  await list.addApp({ app_id: '1001' })
  await list.addKeyword({ keyword: 'yoga' })
  for (const keyword of ['calm', 'sleep', 'other']) await list.addKeyword({ project: 'other', keyword })
  await list.capture('yoga', slot, ['1001'])
  await list.capture('calm', slot, ['2002', '1001'])
  await list.capture('sleep', slot, ['1001', '2002'])
  await list.capture('other', slot, ['2002'])
  assert.equal(
    await succeed('watch', '--from-app', '1001', '--csv'),
    'project,store,keyword,location_code,language_code\n' +
      'fitness,ios_store,sleep,2840,en\nfitness,ios_store,calm,2840,en\n',
  )
  assert.match(
    await succeed('watch', '--from-app', '1001'),
    /│ fitness │ ios +│ sleep +│ 2840 +│ en +│ +1 │\n[\s\S]*2 keywords\. With --csv/,
  )
  assert.match(await succeed('watch', '--from-app', '2002'), /^No suggestions: /)
  const json = await succeed('watch', '--from-app', '2002', '--project', 'fitness', '--json')
  assert.equal(JSON.parse(json).length, 3)
})

test('connect prints the command that opens psql, without a password', async () => {
  const url = new URL(list.url)
  const stdout = await succeed('connect', '--print')
  assert.equal(stdout, `psql "${list.url.replace(`:${url.password}@`, '@')}"\n`)
  assert.ok(url.password.length > 0 && !stdout.includes(url.password))
})

test('several keywords, countries and stores are watched at once, as files spell them', async () => {
  await list.clear()
  const { code, stdout, stderr } = await watch(
    ...['yoga', 'zen', '--project', 'fitness', '--country', 'US, Deutschland', '--tag', 'a;b'],
    ...['--app', 'https://apps.apple.com/us/app/ashlune/id1480010017'],
    ...['--app', 'https://play.google.com/store/apps/details?id=com.ashlune.yoga'],
  )
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^country: US is United States, Deutschland is Germany\.$/m)
  assert.match(
    stdout,
    /^Watched from now on: "zen" in the android_store, Germany, de, in the project fitness\.$/m,
  )
  assert.match(stdout, /^By default: --store ios,android --language en --language de --every 1d/m)
  const rows = await list.sql`select store, keyword, location_name, language_code from keyword_watch`
  assert.equal(rows.length, 8)
  const [tags] = await list.sql`select distinct tags from keyword_watch`
  assert.deepEqual(tags?.tags, ['a', 'b'])
  const unknown = /^There is no store "shop": it is ios or android, or both as ios,android\.\n$/
  await refuse(['watch', 'yoga', '--store', 'shop', '--app', '1480010017'], unknown)
})

test('an app that the project has is not added again, and its label stays', async () => {
  await list.clear()
  const page = { info: true, location_code: 2392, language_code: 'ja' }
  await list.addApp({ app_id: '1480010017', label: 'Ours', ...page })
  await watch('yoga', '--app', '1480010017')
  assert.equal((await list.sql`select from app_watch`).length, 1)
  // Whoever adds one by hand hides no label.
  await list.addApp({ app_id: '1480010017' })
  const [app] = await list.sql`select label from project_app`
  assert.equal(app?.label, 'Ours')
})
