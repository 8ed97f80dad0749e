/**
 * The month of the demo as a person makes it: the same twice, usable afterwards, and nothing left of one that
 * was interrupted.
 */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import postgres from 'postgres'
import { TRY_NEXT } from '../../src/cli/commands/demo.ts'
import { attachEmbedded } from '../../src/embedded/attach.ts'
import { answerQuestions, readQuestions } from '../demo/questions.ts'
import { checkColumns, checkLines, choose, fill, readDashboards } from '../grafana/panels.ts'
import { type Months, readMonth } from '../questions/month.ts'
import { QUESTIONS as WEEK_QUESTIONS } from '../questions/thirty.ts'
import { querySql, runCommand, startCommand } from '../support/command.ts'
import { isAlive, makeEmptyHome, until } from '../support/embedded.ts'

const QUESTIONS = join(import.meta.dirname, '../../docs/questions.md')
const RANKS = `
  select project, store, keyword, location_code, app_id, slot, rank, outcome, reason from rank_history
    order by 1, 2, 3, 4, 5, 6`
const MONEY = 'select project, day, spent_usd, refunded_usd from spend_daily order by 1, 2'

/**
 * What happened in the month that the rules of the demo are about, and what was told of it: one event each.
 */
const TOLD: readonly (readonly [day: string, happened: string, rule: string, about: string])[] = [
  ['09-09', 'Ashlune releases 3.2.0', 'a page changed', 'ios_store 1480010017'],
  ['09-14', 'Ashlune on Android releases 9.5.0', 'a page changed', 'android_store com.ashlune.yoga'],
  ['09-15', 'the service is out of order all day', 'the service is out', ''],
  ['09-16', 'the service is well again', 'the service is out', ''],
  [
    '09-16',
    'Slowbarrow has climbed, in Germany',
    'Slowbarrow is in the top 30',
    'ios_store 1480010041 yoga 2276',
  ],
  ['09-16', 'and in the United States', 'Slowbarrow is in the top 30', 'ios_store 1480010041 yoga 2840'],
  ['09-16', 'Stilmora releases 2.5.0', 'a page changed', 'ios_store 1480010025'],
  ['09-20', 'the budget is too small for the day', 'the budget is nearly used', ''],
  ['09-23', 'Ashlune releases 3.3.0', 'a page changed', 'ios_store 1480010017'],
  ['09-23', 'which crashes: the ranks fall', 'visibility fell by a third', 'ios_store 1480010017'],
  ['09-23', 'ours alone move far', 'everybody moved', ''],
  ['09-24', 'and further', 'everybody moved', ''],
  ['09-24', 'more than a place each day', 'Slowbarrow overtook us', 'ios_store 1480010017 chair yoga 2840'],
  ['09-24', 'in Germany', 'yoga left the top 10', 'ios_store 1480010017 yoga 2276'],
  ['09-24', 'in the United States', 'yoga left the top 10', 'ios_store 1480010017 yoga 2840'],
  ['09-25', 'and further', 'everybody moved', ''],
  ['09-26', 'and further', 'everybody moved', ''],
  ['09-26', 'the Android store ranks by other rules', 'everybody moved', ''],
  ['09-25', 'Slowbarrow releases 1.5.2', 'a page changed', 'ios_store 1480010041'],
  ['09-27', 'the reviews are bad', 'the rating is below 4.5', 'ios_store 1480010017'],
  ['09-28', 'Ashlune releases 3.3.1', 'a page changed', 'ios_store 1480010017'],
  ['09-28', 'the rating of a week before was better', 'the rating fell by 0.1', 'ios_store 1480010017'],
  ['09-29', 'Ashlune on Android releases 9.5.1', 'a page changed', 'android_store com.ashlune.yoga'],
]

/** Rows of a query without a total order, and sums of floats, come otherwise by other plans. */
const WAYS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'by hash': { enable_sort: 'off', enable_mergejoin: 'off', enable_nestloop: 'off' },
  'by order': { enable_hashjoin: 'off', enable_hashagg: 'off' },
  'at once': { debug_parallel_query: 'on', parallel_setup_cost: '0', parallel_tuple_cost: '0' },
  'far east': { timezone: 'Pacific/Kiritimati' },
}

/** Begun and ended by the tests of this file, which share it. */
const owner: TestContext & { end(): Promise<void> } = (() => {
  const ends: (() => unknown)[] = []
  return {
    after: (end: () => unknown) => ends.push(end),
    end: async () => {
      for (const end of ends.toReversed()) await end()
    },
  } as never
})()

/** Numbers come as numbers or texts, by their type; an answer has no order. */
const inOrder = (rows: readonly (readonly unknown[])[]) =>
  rows
    .map((row) => row.map((value) => (/^-?\d+(\.\d+)?$/.test(String(value)) ? Number(value) : value)))
    .map((row) => JSON.stringify(row))
    .sort()

const pidOfServer = (home: string): number =>
  Number(
    readFileSync(join(realpathSync(join(home, 'postgres')), 'data/postmaster.pid'), 'utf8').split('\n')[0],
  )

/** A session on the database of a demo, until the test ends. */
async function openDemo(t: TestContext, home: string): Promise<postgres.Sql> {
  const server = await attachEmbedded({ home, database: 'storerank_sandbox' })
  const sql = postgres(server.url, { max: 1, onnotice: () => {} })
  t.after(async () => {
    await sql.end()
    await server.dispose()
  })
  return sql
}

describe('a whole demo', { timeout: 1_800_000 }, () => {
  let home = ''
  /** Another one, made in another time zone. */
  let other = ''
  let printed = ''
  const make = async (folder: string, env: Record<string, string>) => {
    const { code, stdout, stderr } = await runCommand(owner, ['demo', '--folder', folder], { env })
    assert.equal(code, 0, stderr)
    return stdout
  }
  before(async () => {
    ;[home, other] = [await makeEmptyHome(owner), await makeEmptyHome(owner)]
    ;[printed] = await Promise.all([make(home, {}), make(other, { TZ: 'Pacific/Kiritimati' })])
  })
  after(() => owner.end())

  test('says what happened, and where its pages are', () => {
    assert.match(printed, /31 days, 2026-08-31 to 2026-09-30: 1,\d{3} measurements for \$2\.\d+\./)
    assert.match(printed, /Not measured: \d+ on 15 Sep \(missed\), \d+ on 20 Sep \(budget\)\./)
    for (const [, url = ''] of printed.matchAll(/^ {2}(file:\S+)$/gm))
      assert.ok(existsSync(new URL(url)), url)
    assert.deepEqual(readdirSync(join(home, 'reports')).sort(), ['fitness.html', 'learning.html'])
  })

  test('gives the answers that docs/questions.md has, to a person who may only read', async (t) => {
    const sql = await openDemo(t, home)
    const page = readFileSync(QUESTIONS, 'utf8')
    assert.ok(readQuestions(page).length >= 30)
    const answered = await answerQuestions(page, sql)
    const changed = readQuestions(answered).filter(
      ({ answer }, n) => answer !== readQuestions(page)[n]?.answer,
    )
    assert.deepEqual(changed, [], 'npm run questions writes them anew')
    assert.equal(answered, page)
  })

  test('answers the questions of a week as they are worked out by hand', async (t) => {
    const sql = await openDemo(t, home)
    const months: Months = {
      fitness: await readMonth(sql, 'fitness'),
      learning: await readMonth(sql, 'learning'),
    }
    assert.ok(WEEK_QUESTIONS.filter(({ on }) => on !== 'sql').length >= 15)
    for (const { asks, by, on, answer } of WEEK_QUESTIONS) {
      const expected = answer(months)
      if (typeof by === 'string') {
        const rows = await sql.begin(async (tx) => {
          await tx`set local role storerank_reader`
          return tx.unsafe(by).values()
        })
        assert.deepEqual(inOrder(rows), inOrder(expected as unknown[][]), asks)
        const [, name = '', project = ''] = /\b(\w+)\('(fitness|learning)'/.exec(by) ?? []
        if (on !== 'command') continue
        const asked = await runCommand(t, ['ask', name, '--project', project, '--json'], { home })
        assert.ok(JSON.parse(asked.stdout).length > 0, asks)
      } else {
        const { code, stdout, stderr } = await runCommand(t, [...by], { home })
        assert.equal(code, 0, stderr)
        for (const pattern of expected as RegExp[]) assert.match(stdout, pattern, asks)
      }
    }
  })

  test('gives them whichever plan the database chooses, in whichever time zone', async (t) => {
    const sql = await openDemo(t, home)
    const page = readFileSync(QUESTIONS, 'utf8')
    for (const [way, settings] of Object.entries(WAYS)) {
      for (const [name, value] of Object.entries(settings))
        await sql`select set_config(${name}, ${value}, false)`
      assert.equal(await answerQuestions(page, sql), page, way)
      await sql`reset all`
    }
  })

  test('shows something in every panel of the dashboard of ranks, to a reader', async (t) => {
    const sql = await openDemo(t, home)
    await sql`set role storerank_reader`
    const range = { from: '2026-08-31T00:00:00Z', to: '2026-09-30T23:59:59Z' }
    for (const [name, dashboard] of readDashboards()) {
      const { panels, templating } = dashboard
      const given = name === 'ranks' ? { project: 'fitness', store: 'ios_store' } : {}
      const chosen = await choose(dashboard, range, given, (query) => sql.unsafe(query))
      for (const panel of panels) {
        const rows = await sql.unsafe(fill(panel.targets[0]?.rawSql ?? '', chosen, templating.list))
        checkColumns(panel, rows)
        checkLines(panel, rows)
        if (name === 'ranks') assert.ok(rows.length > 0, panel.title)
      }
    }
  })

  test('tells each planned event once and nothing else, and of each gap by its reason', async (t) => {
    const told = await querySql(
      t,
      `select to_char(slot at time zone 'Europe/Berlin', 'MM-DD') as day, rule,
        concat_ws(' ', store, app_id, keyword, case when keyword is not null then location_code end) as about
      from alert_history where rule <> 'not measured' order by 1, 2, 3`,
      { home },
    )
    const planned = TOLD.map(([day, , rule, about]) => ({ day, rule, about }))
    const inOrder = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort()
    assert.deepEqual(inOrder(told), inOrder(planned))
    // Neither the outage nor the short budget is told as a fall, and the keywords that are added are told as
    // nothing.
    const gaps = `select slot::text, target_id, gap from ranking
      where gap is not null and target_id in (select target_id from watch_period where project = 'fitness')`
    const toldGaps = `select slot::text, target_id, detail ->> 'gap' as gap from alert_event
      where kind = 'not_measured'`
    const expected = await querySql(t, `${gaps} order by 1, 2`, { home })
    assert.ok(expected.length > 20)
    assert.deepEqual(await querySql(t, `${toldGaps} order by 1, 2`, { home }), expected)
    const [others] = await querySql(t, `select count(*)::int from alert_due`, { home })
    assert.deepEqual(others, { count: 0 })
    // Each of them can be put into words.
    const digest = await runCommand(t, ['digest', '--project', 'fitness', '--days', '31'], { home })
    assert.equal(digest.code, 0, digest.stderr)
    assert.match(digest.stdout, new RegExp(`digest of 31 days, ${told.length + expected.length} events`))
  })

  test('says what to try next, and all of it works', async (t) => {
    assert.ok(printed.includes(`export STORERANK_HOME=${home}`))
    for (const [question, command] of TRY_NEXT) {
      assert.ok(printed.includes(`# ${question}\n  npx storerank ${command}`))
      const [, name = '', query] = /^(\w+) (?:"(.*)")?/.exec(command) ?? []
      const args = query === undefined ? command.split(' ') : [name, query]
      const { code, stdout, stderr } = await runCommand(t, args, { home })
      assert.equal(code, 0, stderr)
      assert.ok(stdout.split('\n').length > 4, stdout)
    }
  })

  test('has the same ranks and the same money when it is made again, in another time zone', async (t) => {
    for (const query of [RANKS, MONEY]) {
      const [ours, theirs] = [await querySql(t, query, { home }), await querySql(t, query, { home: other })]
      assert.ok(ours.length > 50)
      assert.deepEqual(theirs, ours)
    }
  })

  test('is refused while somebody uses it, and stays; then it begins anew', async (t) => {
    const running = startCommand(t, ['sql', 'select pg_sleep(600)'], { home })
    const psql = await enterAsPsql(t, home)
    const refused = await runCommand(t, ['demo', '--folder', home, '--days', '2'])
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /is in use by .*psql.*: end that, or give another folder with --folder/)
    running.child.kill('SIGKILL')
    await psql.end({ timeout: 0 })
    const [kept] = await querySql(t, 'select count(distinct slot)::int as days from ranking', { home })
    assert.deepEqual(kept, { days: 31 })
    const again = await runCommand(t, ['demo', '--folder', home, '--days', '2'])
    assert.equal(again.code, 0, again.stderr)
    const [anew] = await querySql(t, 'select count(distinct slot)::int as days from ranking', { home })
    assert.deepEqual(anew, { days: 2 })
  })
})

/**
 * Each try reads the file again: until the server has started, it names the port and password of the one
 * before.
 */
async function enterAsPsql(t: TestContext, home: string): Promise<postgres.Sql> {
  const connection = { application_name: 'psql' }
  let psql: postgres.Sql | undefined
  t.after(() => psql?.end({ timeout: 0 }))
  await until('psql has come in', async () => {
    await psql?.end({ timeout: 0 })
    const url = await readPassFile(home)
    if (url === null) return false
    psql = postgres(url, { max: 1, onnotice: () => {}, connection })
    return (await psql`select 1`.catch(() => [])).length === 1
  })
  assert.ok(psql)
  return psql
}

async function readPassFile(home: string): Promise<string | null> {
  try {
    const [, port, , user, password] = readFileSync(join(home, 'pgpass'), 'utf8').trim().split(':')
    return `postgres://${user}:${password}@127.0.0.1:${port}/storerank_sandbox`
  } catch {
    return null
  }
}

describe('a demo that is interrupted', () => {
  const beginOne = async (t: TestContext) => {
    const home = await makeEmptyHome(t)
    const running = startCommand(t, ['demo', '--folder', home])
    await running.says('"day":"2026-08-31"')
    return { home, running }
  }

  test('by Ctrl-C leaves nothing behind: no folder, no server, no sandbox', async (t) => {
    const { home, running } = await beginOne(t)
    const cluster = realpathSync(join(home, 'postgres'))
    const server = pidOfServer(home)
    const sandbox = JSON.parse(readFileSync(join(home, 'sandbox.json'), 'utf8')).pid
    running.child.kill('SIGINT')
    const { code, stderr } = await running.ended
    assert.equal(code, 130)
    assert.match(stderr, /Stopped\. What was made of the demo is removed\./)
    assert.ok(!existsSync(home) && !existsSync(cluster))
    assert.ok(!isAlive(server) && !isAlive(sandbox))
  })

  test('by kill -9 is told by the next one, which begins anew', async (t) => {
    const { home, running } = await beginOne(t)
    running.child.kill('SIGKILL')
    await running.ended
    const { code, stdout, stderr } = await runCommand(t, ['demo', '--folder', home, '--days', '2'])
    assert.equal(code, 0, stderr)
    assert.match(stderr, /an earlier demo was interrupted here; it begins anew/)
    assert.match(stdout, /2 days, 2026-08-31 to 2026-09-01/)
  })

  test('keeps a second one in its folder out, whose sentence says so', async (t) => {
    const { home, running } = await beginOne(t)
    const second = await runCommand(t, ['demo', '--folder', home])
    assert.equal(second.code, 2)
    assert.match(second.stderr, /Another demo is being made in .*: wait for it, or give another folder/)
    running.child.kill('SIGINT')
    assert.equal((await running.ended).code, 130)
    assert.ok(!existsSync(home), dirname(home))
  })
})
