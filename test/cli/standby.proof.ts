/** A standby that follows the database: what reads works on it, and what writes says that it is one. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import postgres from 'postgres'
import { callCommand, makeCommandHome, runCommand, startCommand } from '../support/command.ts'
import { FOLDER_OF_DEBIAN, findInstalled } from '../support/installed.ts'
import { startPair } from '../support/standby.ts'
import { findFreePort } from '../support/test-server.ts'
import { until } from '../support/world.ts'

const programs = findInstalled('pg_basebackup')

/** Each takes a project and a range of its days, as `visibility` does. */
const BY_DAYS = `
  select p.oid::regproc::text as name from pg_proc p
  where p.pronamespace = 'public'::regnamespace and p.proretset and p.pronargs >= 3
    and p.proargtypes[0] = 'text'::regtype and p.proargtypes[1] = 'date'::regtype
      and p.proargtypes[2] = 'date'::regtype
    and p.pronargs - p.pronargdefaults <= 3 order by 1`

test('a standby answers sql, status, plan, report, export and every view as its primary does, and refuses ' +
  'what writes', { skip: programs === undefined && `no pg_basebackup in ${FOLDER_OF_DEBIAN}` }, async (t) => {
  const pair = await startPair(t, programs ?? '')
  const home = await makeCommandHome(t)
  await buy(t, home, pair.primary)
  await pair.follow()
  const on = (url: string, ...args: string[]) => callCommand(args, { home, env: { DATABASE_URL: url } })

  await t.test('every view and every function of days gives as many rows as on the primary', async () => {
    const counts = await Promise.all([pair.primary, pair.standby].map(countRows))
    assert.ok(Object.keys(counts[0] ?? {}).length > 40)
    assert.deepEqual(counts[1], counts[0])
  })

  const reading = [
    ['sql', 'select project, keyword, rank from rank_latest order by 1, 2, 3', '--json'],
    ['plan', '--json'],
    ['forecast', '--json'],
    ['export', 'rank_history'],
    ['export', 'watches'],
    ['alerts'],
  ]
  for (const args of reading) {
    await t.test(`${args.join(' ')} says the same`, async () => {
      const [primary, standby] = [await on(pair.primary, ...args), await on(pair.standby, ...args)]
      assert.equal(standby.code, 0, standby.stderr)
      assert.equal(standby.stdout, primary.stdout)
      assert.ok(standby.stdout.length > 2)
    })
  }
  for (const args of [['status'], ['status', '--json'], ['report'], ['report', '--json'], ['digest']]) {
    await t.test(args.join(' '), async () => {
      const { code, stdout, stderr } = await on(pair.standby, ...args)
      assert.equal(code, 0, stderr)
      assert.ok(stdout.length > 2)
    })
  }
  await t.test('the page of a project, and status for monitoring', async () => {
    const page = join(home, 'page.html')
    const { code, stderr } = await on(pair.standby, 'report', '--project', 'fitness', '--html', page)
    assert.equal(code, 0, stderr)
    assert.match(await readFile(page, 'utf8'), /<html/)
    const check = await on(pair.standby, 'status', '--check')
    assert.equal(check.code, 1, check.stderr)
    assert.match(check.stdout, /^read_only: The database takes no changes: it is a standby/m)
  })

  const watches = join(home, 'watches.csv')
  await writeFile(
    watches,
    'project,store,keyword,location_code,language_code\nfitness,ios_store,swim,2840,en\n',
  )
  const writing = [
    ['run'],
    ['start'],
    ['migrate'],
    ['import', watches],
    ['watch', 'swim', '--project', 'fitness', '--app', '1480010017'],
    ['recover'],
  ]
  for (const args of writing) {
    await t.test(`${args[0]} ${args[1]?.slice(0, 6) ?? ''} says that it is a standby`, async () => {
      const { code, stderr } = await runCommand(t, args, { home, env: { DATABASE_URL: pair.standby } })
      assert.equal(code, 1, stderr)
      assert.match(stderr, /takes no changes, as a standby does that follows another server/)
    })
  }
  await t.test('sql that writes says so too', async () => {
    const { code, stderr } = await on(pair.standby, 'sql', 'delete from keyword_watch')
    assert.equal(code, 1)
    assert.match(stderr, /read-only transaction\nThis database takes no changes: it is a standby/)
  })
})

test('a start whose address leads to a standby says so, in one line, and goes on by itself', {
  skip: programs === undefined && `no pg_basebackup in ${FOLDER_OF_DEBIAN}`,
}, async (t) => {
  const pair = await startPair(t, programs ?? '')
  const home = await makeCommandHome(t)
  await buy(t, home, pair.primary)
  await pair.follow()
  const address = await startAddress(t, pair.primary)
  const OPERATIONS_LISTEN = String(await findFreePort())
  const env = { DATABASE_URL: address.url, OPERATIONS_LISTEN }
  const runner = startCommand(t, ['start'], { home, env })
  const ask = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${OPERATIONS_LISTEN}${path}`)
    return `${response.status} ${await response.text()}`
  }
  await runner.says('answering operators')
  const asked = (path: string, answer: RegExp) =>
    until(`${path} says ${answer}`, async () => answer.test(await ask(path).catch(String)), 60_000)
  await asked('/readyz', /^200/)
  const before = runner.stderr().length
  address.lead(pair.standby)
  await asked('/readyz', /^503 The database takes no changes: it is a standby/)
  await asked('/metrics', /^storerank_database_up 0$/m)
  await asked('/metrics', /^storerank_troubles\{kind="read_only"\} 1$/m)
  await runner.says('the database is away; the work goes on when it is back')
  const minute = () => Math.floor(Date.now() / 60_000)
  const began = minute()
  await until('the schedule was looked at again', async () => minute() > began + 1, 150_000)
  const lines = runner.stderr().slice(before).trim().split('\n')
  assert.equal(lines.length, 1, lines.join('\n'))
  address.lead(pair.primary)
  await runner.says('the database is back')
  await asked('/readyz', /^200/)
  runner.child.kill('SIGTERM')
  assert.equal((await runner.ended).code, 0)
})

/** An address that leads to one server, and then to another, as a failover does. */
async function startAddress(t: TestContext, first: string) {
  let to = new URL(first)
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    const there = connect(Number(to.port), to.hostname)
    for (const each of [socket, there]) {
      open.add(each)
      each.on('error', () => {}).on('close', () => open.delete(each))
    }
    socket.pipe(there).pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    for (const each of open) each.destroy()
  }
  t.after(() => {
    close()
    server.close()
  })
  const url = Object.assign(new URL(first), { port: String((server.address() as AddressInfo).port) })
  url.hostname = '127.0.0.1'
  return {
    url: url.href,
    lead: (other: string) => {
      to = new URL(other)
      close()
    },
  }
}

/** A day of three keywords and an app. */
async function buy(t: TestContext, home: string, url: string): Promise<void> {
  const run = async (...args: string[]) => {
    const { code, stderr } = await runCommand(t, args, { home, env: { DATABASE_URL: url } })
    assert.equal(code, 0, stderr)
  }
  await run('migrate')
  const sql = postgres(url, { max: 1 })
  await sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select 'fitness', 'ios_store', keyword, 2840, 'en' from unnest(array['yoga', 'running', 'gym']) keyword`
  await sql`insert into app_watch (project, store, app_id, role)
    values ('fitness', 'ios_store', '1480010017', 'own')`
  await sql.end()
  await run('run')
}

/** By name: views, and functions of a project and a range of its days. */
async function countRows(url: string): Promise<Record<string, number>> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    const views = await sql<{ name: string }[]>`
      select viewname as name from pg_views where schemaname = 'public' order by 1`
    const questions = await sql.unsafe<{ name: string }[]>(BY_DAYS)
    const sources = [
      ...views.map(({ name }) => `"${name}"`),
      ...questions.map(({ name }) => `${name}('fitness', current_date - 30, current_date)`),
    ]
    const counts: Record<string, number> = {}
    for (const source of sources) {
      const [row] = await sql.unsafe<{ rows: number }[]>(`select count(*)::int as rows from ${source}`)
      counts[source] = row?.rows ?? -1
    }
    return counts
  } finally {
    await sql.end()
  }
}
