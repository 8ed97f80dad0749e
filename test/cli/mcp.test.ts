/** An assistant asks `storerank mcp` by the client of the protocol's own library, over a process's pipes. */
import assert from 'node:assert/strict'
import { before, describe, type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const PROGRAM = new URL('../../src/cli/storerank.js', import.meta.url).pathname

const list = lasting(createWatchlist)
before(async () => {
  await list.setNow('2026-11-01 00:00+00')
  for (const keyword of ['yoga', 'chess']) await list.addKeyword({ keyword })
  await list.addApp({ label: 'Mine' })
  for (const [day, rank] of [
    [1, 3],
    [2, 1],
  ] as const) {
    const above = Array.from({ length: rank - 1 }, (_, n) => `${n + 5000}`)
    await list.capture('yoga', `2026-11-0${day} 00:00+00`, [...above, '1001'])
    await list.capture('chess', `2026-11-0${day} 00:00+00`, ['1001'])
  }
  await list.setNowForAll('2026-11-02 06:00+00')
})

async function connect(t: TestContext, ...args: string[]): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  const { PATH = '' } = process.env
  const env = { PATH, DATABASE_URL: list.url }
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [PROGRAM, 'mcp', ...args],
    env,
    stderr: 'pipe',
    cwd: '/',
  })
  await client.connect(transport)
  t.after(() => client.close())
  return client
}

/** What a call says, and whether it is an error. */
async function call(client: Client, name: string, given: Record<string, unknown>) {
  const { content, isError = false } = await client.callTool({ name, arguments: given })
  const [{ text = '' } = {}] = content as { text?: string }[]
  return { text, isError }
}
const rowsOf = ({ text }: { text: string }) => JSON.parse(text).rows

/** Editors write at the present time alone. */
async function goToPresent(): Promise<void> {
  await list.sql.unsafe(`alter database ${new URL(list.url).pathname.slice(1)} reset storerank.now`)
}

const RANGE = { in_project: 'fitness', from_day: '2026-11-01', to_day: '2026-11-02' }
const CSV = 'project,store,keyword,location_code,language_code\nfitness,ios_store,zen,2840,en\n'

describe('an assistant', () => {
  test('is told of every function that people ask, with its arguments and columns', async (t) => {
    const client = await connect(t)
    const { tools } = await client.listTools()
    const names = tools.map(({ name }) => name)
    for (const name of [
      'visibility',
      'movers',
      'coverage',
      'watch_cost_at',
      'read_view',
      'forecast',
      'import_trial',
    ])
      assert.ok(names.includes(name), `${name} is none of ${names}`)
    const helpers = [
      'compared_ranks',
      'spend_sums',
      'project_slots',
      'delete_project',
      'clean_text',
      'import',
      'watch',
    ]
    assert.deepEqual(
      helpers.filter((name) => names.includes(name)),
      [],
    )
    const movers = tools.find(({ name }) => name === 'movers')
    assert.deepEqual(movers?.inputSchema.required, ['in_project', 'from_day', 'to_day'])
    assert.match(
      movers?.description ?? '',
      /^The ranks of two days side by side.* app_id \(text\): The id of the app/,
    )
    assert.ok(JSON.stringify(tools).length < 100_000, `${JSON.stringify(tools).length} letters`)
  })

  test('asks functions and views, as a reader, within bounds', async (t) => {
    const client = await connect(t)
    const moved = rowsOf(await call(client, 'movers', { ...RANGE, limit: 1 }))
    assert.deepEqual(
      moved.map((row: Record<string, unknown>) => [row.keyword, row.rank_before, row.rank_after, row.change]),
      [['yoga', 3, 1, 2]],
    )
    const where = [
      { column: 'keyword', value: 'yoga' },
      { column: 'rank', is: '<=', value: 2 },
    ]
    const read = { view: 'rank_history', where, columns: ['day', 'rank'], order_by: 'day' }
    assert.deepEqual(rowsOf(await call(client, 'read_view', read)), [{ day: '2026-11-02', rank: 1 }])
    const all = JSON.parse((await call(client, 'read_view', { view: 'rank_history', limit: 1 })).text)
    assert.deepEqual([all.rows.length, all.hasMore], [1, true])
    assert.match((await call(client, 'describe_view', { view: 'rank_history' })).text, /\noutcome \(text\): /)
  })

  test('is told what it asked wrongly, and reads nothing that a reader may not', async (t) => {
    const client = await connect(t)
    for (const [name, given, says] of [
      ['movers', { in_project: 'fitness' }, /^movers needs from_day, to_day\.$/],
      ['movers', { ...RANGE, from_day: 'x' }, /invalid input syntax for type date: "x"/],
      ['movers', { ...RANGE, sql: 'x' }, /takes in_project, .* and no sql\.$/],
      ['mover', RANGE, /There is no tool "mover"\. .*movers/],
      ['read_view', { view: 'charge' }, /There is no view "charge"/],
      ['read_view', { view: 'alert_channel' }, /There is no view/],
      [
        'read_view',
        { view: 'watch_part', where: [{ column: 'watch_id', value: 2 ** 53 }] },
        /give it as a text/,
      ],
      ['read_view', { view: 'project', where: [{ column: 'name"; reset role; --' }] }, /has no column/],
      ['read_view', { view: 'project', where: [{ column: 'name', is: "= '' or" }] }, /^is must be one of/],
      ['forecast', { every: '5h' }, /It must be 1h/],
    ] as const) {
      const { text, isError } = await call(client, name, given)
      assert.match(text, says)
      assert.ok(isError, name)
    }
  })

  test('learns what a change would cost, and changes nothing without leave', async (t) => {
    await goToPresent()
    const client = await connect(t)
    assert.match((await call(client, 'forecast', { every: '6h' })).text, /\$/)
    const tried = await call(client, 'import_trial', { text: CSV })
    assert.match(tried.text, /1 added.* Nothing was changed: this was a trial\.[\s\S]*\$/)
    const { text, isError } = await call(client, 'import', { text: CSV })
    assert.ok(isError && /There is no tool "import"/.test(text), text)
    assert.equal((await list.sql`select from keyword_watch where keyword = 'zen'`).count, 0)
  })

  test('changes watchlists as an editor where a person allows it', async (t) => {
    await goToPresent()
    const client = await connect(t, '--allow-changes')
    const done = await call(client, 'import', { text: CSV })
    assert.deepEqual([/1 added/.test(done.text), done.isError], [true, false], done.text)
    const alerts = await call(client, 'import', { text: 'channel,kind,address\nops,email,a@b.example\n' })
    assert.match(alerts.text, /has rules or channels of alerts, and only watches are taken here/)
    const watched = await call(client, 'watch', { keywords: ['pilates'], project: 'fitness' })
    assert.equal(watched.isError, false, watched.text)
    const rows =
      await list.sql`select keyword from keyword_watch where keyword in ('zen', 'pilates') order by 1`
    assert.deepEqual(
      rows.map(({ keyword }) => keyword),
      ['pilates', 'zen'],
    )
  })
})
