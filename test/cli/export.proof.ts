/** `storerank export` as a process: its memory, its signals, and a reader that goes. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { runCommand, startCommand } from '../support/command.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/embedded.ts'

let database: TestDatabase
let folder: string
let env: Record<string, string>
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'storerank-export-'))
  database = await createTestDatabase()
  env = { DATABASE_URL: database.url }
})
after(async () => {
  await database.drop()
  await rm(folder, { recursive: true })
})

/** 60 MB as text. */
const MANY = 'select generate_series(1, 100000) as n, repeat(md5(random()::text), 20) as text'

test('a year of rows passes through a small heap, in each format', async (t) => {
  for (const format of ['csv', 'jsonl', 'parquet']) {
    const out = join(folder, `many.${format}`)
    const options = { env: { ...env, NODE_OPTIONS: '--max-old-space-size=64' } }
    const { code, stdout, stderr } = await runCommand(t, ['export', MANY, '--out', out], options)
    assert.equal(code, 0, stderr.slice(-500))
    assert.equal(stdout, `100,000 rows\n${out}\n`)
    assert.ok((await stat(out)).size > 1_000_000)
  }
})

test('a reader that has enough ends it without a complaint', async (t) => {
  const { child, ended } = startCommand(t, ['export', 'select generate_series(1, 1000000000) as n'], {
    env,
  })
  child.stdout?.once('data', () => child.stdout?.destroy())
  const { code, stderr } = await ended
  assert.equal(code, 0, stderr)
})

test('SIGTERM ends it, also before the first row, and no half of a file is there', async (t) => {
  const queries = ['select generate_series(1, 1000000000) as n', 'select pg_sleep(600)']
  for (const query of queries) {
    const out = join(folder, 'endless.csv')
    const { child, ended } = startCommand(t, ['export', query, '--out', out], { env })
    await until('the query runs', async () => {
      const [row] = await database.sql`
        select count(*)::integer as queries from pg_stat_activity where application_name = 'storerank export' and state = 'active'
          and datname = current_database()`
      return row?.queries === 1
    })
    child.kill('SIGTERM')
    const { code, stderr } = await ended
    assert.equal(code, 143, stderr)
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.startsWith('endless')),
      [],
    )
  }
})
