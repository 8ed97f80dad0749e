/** `storerank export` as a process: its memory, its signals, and a reader that goes. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
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

/** 640 bytes of text a row. */
const rows = (count: number) =>
  `select generate_series(1, ${count}) as n, repeat(md5(random()::text), 20) as text`
const MANY = 600_000
/** Prints the largest resident size of the process as it ends, in KiB. */
const TELL_PEAK =
  '--import=data:text/javascript,' +
  "process.on('exit',()=>process._rawDebug('peak='+process.resourceUsage().maxRSS))"

test('ten times the rows take no ten times the memory, in each format', async (t) => {
  for (const format of ['csv', 'jsonl', 'parquet']) {
    const peaks: number[] = []
    for (const count of [MANY / 10, MANY]) {
      const out = join(folder, `many.${format}`)
      const options = { env: { ...env, NODE_OPTIONS: `--max-old-space-size=64 ${TELL_PEAK}` } }
      const { code, stdout, stderr } = await runCommand(t, ['export', rows(count), '--out', out], options)
      assert.equal(code, 0, stderr.slice(-500))
      assert.equal(stdout, `${count.toLocaleString('en')} rows\n${out}\n`)
      peaks.push(Math.max(...[...stderr.matchAll(/peak=(\d+)/g)].map(([, kib]) => Number(kib))))
    }
    const [few = 0, many = Number.POSITIVE_INFINITY] = peaks
    assert.ok(few > 0)
    t.diagnostic(`${format}: ${peaks.map((kib) => Math.round(kib / 1024)).join(' and ')} MiB`)
    // Buffers outside of the heap are collected late, so the first 100 MB count; what was kept would be four
    // times as much.
    assert.ok(many < few * 2.5, `${format}: ${peaks.join(' and ')} KiB`)
  }
})

test('a reader that has enough ends it without a complaint', async (t) => {
  const { child, ended } = startCommand(t, ['export', 'select generate_series(1, 1000000000) as n'], { env })
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
        select count(*)::integer as queries from pg_stat_activity where application_name = 'storerank export'
          and state = 'active'
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
