import assert from 'node:assert/strict'
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { askService, makeCommandHome, querySql, readSandbox, runCommand } from '../support/command.ts'
import { serverPid } from '../support/embedded.ts'

const INSERT = `insert into keyword_watch (project, store, keyword, location_code, language_code)
  values ('fitness', 'ios_store', 'sleep sounds', 2840, 'en')`

test('a first run without any setting', { concurrency: 1 }, async (t) => {
  const home = await makeCommandHome(t)
  const serviceBooks = () => {
    const sandbox = readSandbox(home)
    assert.ok(sandbox, 'the sandbox of the home runs')
    return askService(sandbox.url)
  }

  await t.test('ends with ranks, the money spent, where to look next, and what it stood on', async (t) => {
    const { code, stdout, stderr } = await runCommand(t, ['run'], { home })
    assert.equal(code, 0, stderr)
    assert.match(stderr, /"note":"New and empty: a database is made in [^"]+, which takes a few seconds\./)
    assert.match(stderr, /"note":"Starting the sandbox: /)
    assert.match(
      stdout,
      /^\nOwn apps\n┌.*\n│ project +│ app +│ keyword +│ store +│ +rank │ +change │ out of │\n/,
    )
    assert.match(stdout, /\nCompetitors\n/)
    assert.match(stdout, /│ +\d+ │ +– │ +\d+ │/)
    assert.match(
      stdout,
      /\nSpent \$0\.036\d+ on 33 measurements since this run began\.\n {2}\$0\.0324 on 27 searches\n/,
    )
    assert.match(stdout, /\n {2}\$0\.0024 on 4 pages of apps\n {2}\$0\.0012 on 1 chart\n/)
    assert.match(stdout, /\n {2}\$0\.00075 on 1 list of reviews\n/)
    assert.match(stdout, /│ chart topselling_free education │/)
    assert.match(stdout, /psql "postgres:\/\/storerank@127\.0\.0\.1:\d+\/storerank_sandbox\?passfile=[^:"]+"/)
    assert.match(stdout, /EMBEDDED DATABASE\. DATABASE_URL/)
    assert.match(stdout, /SANDBOX: [^\n]*APP_DATA_URL/)
    assert.match(stdout, /insert into keyword_watch/)
  })

  await t.test('is followed by one that buys nothing and says why', async (t) => {
    const before = await serviceBooks()
    const { code, stdout, stderr } = await runCommand(t, ['run'], { home, env: { LOG_LEVEL: 'trace' } })
    assert.equal(code, 0)
    assert.match(stdout, /Bought nothing: everything due is measured or under way\. The next slot begins at /)
    assert.deepEqual(await serviceBooks(), before)

    const [own = '', others = ''] = stdout.split('\nCompetitors\n')
    const ranks = (text: string) =>
      [...text.matchAll(/│ +(> )?\d+ │ +[–=▲▼\d ]+ │ +\d+ │\n/g)].map((row) => row[1] ?? '')
    assert.ok(ranks(own).length + ranks(others).length <= 40)
    for (const part of [own, others]) {
      assert.ok(ranks(part).length > 0)
      assert.deepEqual(ranks(part), ranks(part).toSorted(), 'ranks stand before "not in top"')
    }

    const lines = stderr.trimEnd().split('\n')
    assert.ok(lines.length > 3)
    for (const line of lines) assert.equal(typeof JSON.parse(line).msg, 'string')
    const password = await readFile(join(home, 'postgres', 'password'), 'utf8')
    assert.ok(!(stdout + stderr).includes(password), 'no output has the password of the database')
  })

  await t.test('leaves charges that agree with the books of the service', async (t) => {
    const [row] = await querySql(
      t,
      'select sum(amount_micros)::int as micros, count(distinct service_id)::int as tasks from charge',
      { home },
    )
    assert.deepEqual(row, await serviceBooks())
  })

  await t.test('leaves a database that sql shows as table, JSON and CSV', async (t) => {
    const query = 'select outcome, count(*) from rank_history group by 1 order by 1'
    const [table, json, csv] = await Promise.all(
      [[], ['--json'], ['--csv']].map((format) => runCommand(t, ['sql', query, ...format], { home })),
    )
    assert.match(table?.stdout ?? '', /│ outcome +│ count │\n/)
    const rows: { outcome: string; count: number }[] = JSON.parse(json?.stdout ?? '')
    assert.ok(rows.some(({ outcome, count }) => outcome === 'ranked' && count > 0))
    assert.equal(
      csv?.stdout,
      ['outcome,count', ...rows.map((row) => `${row.outcome},${row.count}`), ''].join('\n'),
    )
  })

  await t.test('leaves a database that says in a sentence what is wrong with a query', async (t) => {
    const { code, stdout, stderr } = await runCommand(t, ['sql', 'selec 1'], { home })
    assert.deepEqual([code, stdout], [1, ''])
    assert.equal(stderr, 'The database refused it: syntax error at or near "selec"\n')
  })

  await t.test('has a status, for people and for programs', async (t) => {
    const [text, json] = await Promise.all([
      runCommand(t, ['status'], { home }),
      runCommand(t, ['status', '--json'], { home }),
    ])
    for (const title of ['Jobs', 'Backlog', 'Budgets', 'Problems'])
      assert.match(text.stdout, new RegExp(`\n${title}`))
    const status = JSON.parse(json.stdout)
    assert.equal(status.outstanding.planned + status.outstanding.posting + status.outstanding.posted, 0)
    assert.ok(
      status.runs.some((run: { job: string; state: string }) => run.job === 'track' && run.state === 'done'),
    )
  })

  await t.test('measures one keyword more when a person adds one, and nothing else', async (t) => {
    const before = await serviceBooks()
    const inserted = await runCommand(t, ['sql', INSERT], { home })
    assert.deepEqual([inserted.code, inserted.stdout], [0, 'INSERT 1\n'])
    const again = await runCommand(t, ['sql', INSERT], { home })
    assert.equal(again.code, 1, 'the same row twice is refused')

    assert.match(
      (await runCommand(t, ['plan'], { home })).stdout,
      /Would buy 1 task for \$0\.0012; .* Nothing was posted/,
    )
    const { code, stdout } = await runCommand(t, ['run'], { home })
    assert.equal(code, 0)
    assert.match(stdout, /Spent \$0\.0012 on 1 measurement since this run began\.\n/)
    assert.deepEqual(await serviceBooks(), { tasks: before.tasks + 1, micros: before.micros + 1200 })
    assert.match((await runCommand(t, ['plan'], { home })).stdout, /^Nothing is due now/)
  })

  await t.test(
    'leaves no server behind, and the password in two files that only their owner reads',
    async () => {
      await assert.rejects(serverPid(join(home, 'postgres', 'data')), { code: 'ENOENT' })
      const password = await readFile(join(home, 'postgres', 'password'))
      const holders: string[] = []
      // As root the server's folder may stand elsewhere, behind a link.
      for (const folder of new Set([home, await realpath(join(home, 'postgres'))])) {
        for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
          const path = join(entry.parentPath, entry.name)
          if (!entry.isFile() || !(await readFile(path)).includes(password)) continue
          const { mode } = await stat(path)
          holders.push(`${entry.name} ${(mode & 0o777).toString(8)}`)
        }
      }
      assert.deepEqual([...new Set(holders)].sort(), ['password 600', 'pgpass 600'])
    },
  )
})
