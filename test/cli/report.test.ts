/** `storerank report`, as processes on a database with three days of history. */
import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { describeDigest } from '../../src/cli/commands/report.ts'
import { drawParts } from '../../src/cli/print.ts'
import { commandsWith } from '../support/command.ts'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const NOW = '2026-11-03 06:00+00'

const list = lasting(createWatchlist)
const folder = mkdtempSync(join(tmpdir(), 'storerank-report-'))
before(async () => {
  await list.setNow('2026-11-01 00:00+00')
  for (const keyword of ['yoga', 'chess', 'zen']) await list.addKeyword({ keyword })
  await list.addApp({ label: 'Mine' })
  await list.addApp({ app_id: '1002', role: 'competitor' })
  await list.setNow(NOW)
  const ranked = (rank: number) => [...Array.from({ length: rank - 1 }, (_, n) => `${n + 5000}`), '1001']
  for (const [day, yoga, chess] of [
    [1, 12, 3],
    [2, 14, 3],
    [3, 9, 30],
  ] as const) {
    await list.capture('yoga', `2026-11-0${day} 00:00+00`, ranked(yoga))
    await list.capture('chess', `2026-11-0${day} 00:00+00`, ranked(chess))
  }
  await list.capture('zen', '2026-11-02 00:00+00', ['1002', '1001'])
  await list.leaveGap('zen', '2026-11-03 00:00+00', 'budget', 'project_budget')
  await list.sql`update app set title = ${'Steer\u001b[31m <b>&'} where app_id = '1002'`
  await list.setNowForAll(NOW)
})
const { succeed, refuse } = commandsWith(() => ({ DATABASE_URL: list.url }))
after(() => rm(folder, { recursive: true }))

test('the latest day says what moved, what is missing and why, and how visible the apps are', async () => {
  const stdout = await succeed('report')
  assert.match(stdout, /fitness, 1 Nov 2026 to 3 Nov 2026/)
  assert.match(stdout, /In one day: 1 up, 1 down, 1 not measured: budget\./)
  assert.match(stdout, /Up since the day before \(1\)[\s\S]*yoga +│ iOS 2840 │ Mine +│ +14 │ +9 │ +\+5 │/)
  assert.match(
    stdout,
    /Came into the top 10 since the day before \(1\)[\s\S]*yoga[\s\S]*Left the top 10 .* \(1\)[\s\S]*chess/,
  )
  assert.match(
    stdout,
    /Not measured on the last day[\s\S]*budget +│ +1 │ The budget of the project was used up\. │ zen/,
  )
  // Of two days too little was measured to say how visible an app was.
  assert.match(stdout, /Visibility: Mine: only 66\.7 % measured\./)
  assert.match(stdout, /Mine +│ iOS +│ own +│ +– │ +– │ +– │ +66\.7 % │ {2}[▁▂▃▄▅▆▇█]/)
  const before = await succeed('report', '--to', '2026-11-02')
  assert.match(before, /Mine +│ iOS +│ own +│ +\d+\.\d % │ +– │ +– │ +100\.0 % │/)
  assert.match(before, /Share of voice, iOS: Mine \d+\.\d %, .* all others/)
  assert.ok(!stdout.includes('\u001b'), 'a title does not steer the terminal')
})

test('on a terminal no line is wider than it, and no word is broken', async () => {
  const stdout = await succeed('report', '--json')
  for (const width of [80, 120]) {
    const lines = drawParts(describeDigest(JSON.parse(stdout)[0], width >= 120), 'text', width).split('\n')
    assert.deepEqual(
      lines.filter((line) => line.length > width),
      [],
    )
    assert.ok(lines.join(' ').includes('The budget of the project was used up.'))
  }
})

test('--json gives the same to programs', async () => {
  const [digest] = JSON.parse(await succeed('report', '--json', '--project', 'fitness'))
  assert.equal(digest.headline, '1 up, 1 down, 1 not measured: budget')
  assert.deepEqual(
    digest.down.map((move: Record<string, unknown>) => [
      move.keyword,
      move.rankBefore,
      move.rank,
      move.movement,
      move.change,
    ]),
    [['chess', 3, 30, 'down', -27]],
  )
  assert.deepEqual(digest.unmeasured, [{ gap: 'budget', ranks: 1 }])
})

test('a day of the past has its own report', async () => {
  const [past] = JSON.parse(await succeed('report', '--to', '2026-11-02', '--json'))
  assert.equal(past.headline, '0 up, 1 down, 1 unchanged, 1 without a rank to compare with')
})

test('--html writes one whole page with its title and logo, and nothing beside it', async () => {
  const logo = join(folder, 'logo.svg')
  await writeFile(logo, '<svg xmlns="http://www.w3.org/2000/svg"/>')
  const file = join(folder, 'page.html')
  await writeFile(file, 'the page of yesterday')
  const stdout = await succeed('report', '--html', file, '--title', 'Acme <Ranks>', '--logo', logo)
  assert.ok(stdout.endsWith(`${file}\n`))
  const page = await readFile(file, 'utf8')
  assert.match(page, /<h1>Acme &lt;Ranks&gt;<\/h1>/)
  assert.match(page, /<img class="logo" src="data:image\/svg\+xml;base64,/)
  assert.ok(page.endsWith('</html>\n'))
  assert.ok(page.includes('Steer\u001b[31m &lt;b&gt;&amp;'))
  assert.deepEqual((await readdir(folder)).toSorted(), ['logo.svg', 'page.html'])
})

test('what cannot be is refused in a sentence', async () => {
  const refused = (args: string[], message: RegExp) => refuse(['report', ...args], message)
  await refused(['--project', 'fitnes'], /There is no project "fitnes"\. Did you mean fitness\?/)
  await refused(['--from', '2026-02-30'], /It must be a day such as 2026-03-01/)
  await refused(
    ['--to', '2026-11-04'],
    /2026-11-04 has not begun: in UTC, where fitness is, it is 2026-11-03\./,
  )
  await refused(['--from', '2020-01-01'], /A report is of 731 days at most/)
  await refused(['--html', join(folder, 'none', 'page.html')], /page\.html cannot be written: .* \(ENOENT\)/)
  await refused(
    ['--html', join(folder, 'x.html'), '--logo', '/etc/passwd'],
    /logo \/etc\/passwd is none that a browser shows/,
  )
  await refused(['--title', 'Mine'], /--title, --logo, --intro and --accent are of the page/)
  await refused(['--accent', '#ffff00'], /too bright to be read on white/)
  await refused(['--without', 'gaps,monney'], /no such section\. Did you mean money\?/)
  await list.sql`insert into project (name) values ('other')`
  await refused(
    ['--html', join(folder, 'x.html')],
    /there are several: give one of fitness, other with --project/,
  )
  await list.sql`delete from project where name = 'other'`
})

test('a tag is asked of all projects, and those that have it answer', async () => {
  await list.addKeyword({ project: 'another', keyword: 'chess', tags: ['games'] })
  await list.sql`update keyword_watch set tags = '{core}' where project = 'fitness' and keyword = 'yoga'`
  const stdout = await succeed('report', '--tag', 'core')
  assert.match(stdout, /fitness, tag core, /)
  assert.doesNotMatch(stdout, /another, /)
  await refuse(['report', '--tag', 'cores'], /has the tag "cores"/)
})
