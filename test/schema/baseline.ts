/**
 * Writes the tables of src/db/schema anew as the one migration drizzle/0001_tables.sql. For as long as no version with these
 * tables is released: after that, a change is a migration of its own, made by `npx drizzle-kit generate --name what_changed`.
 */
import { readdir, writeFile } from 'node:fs/promises'
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api'
import * as schema from '../../src/db/schema/index.ts'

const DRIZZLE = new URL('../../drizzle/', import.meta.url)
const RELEASED = new URL('../db/released/', import.meta.url)
/** Drizzle cannot say how a table is partitioned. */
const PARTITIONED = ['ranking', 'app_snapshot', 'page']
/** Nor how a column is stored: an array of 700 app ids is inserted a third faster uncompressed, at the same size. */
const STORAGE = 'ALTER TABLE "ranking" ALTER COLUMN "app_ids" SET STORAGE EXTERNAL;'
/**
 * Closing a slot updates every period, handing out every task, its end every call, and a result its target: on a page with room, without
 * touching the indexes.
 */
const FILL = [
  ...['watch_period', 'task', 'api_call'].map((table) => `ALTER TABLE "${table}" SET (fillfactor = 50);`),
  'ALTER TABLE "target" SET (fillfactor = 80);',
]
/** What a crash may forget. */
const UNLOGGED = ['interval_progress', 'period_due', 'due_batch', 'waiting_slot'].map(
  (table) => `ALTER TABLE "${table}" SET UNLOGGED;`,
)
/**
 * `clicks` to rank 10: the share of searches in which each place is clicked, over 80 million keywords (SISTRIX, "Why (almost)
 * everything you knew about Google CTR is no longer valid", July 2020). A store has no second page, so that the curve goes on as
 * it ends, each rank by 25/28 less than the one before: 0.8 % at rank 20, and under 0.1 % from rank 39 on.
 */
const CURVES = `INSERT INTO "rank_weight" ("curve", "rank", "weight")
select 'reciprocal', n, 1.0::float8 / n from generate_series(1, 100) n
union all
select 'clicks', n, case when n <= 10
    then ('{0.285,0.157,0.11,0.08,0.072,0.051,0.04,0.032,0.028,0.025}'::float8[])[n]
    else round((0.025 * (25.0 / 28) ^ (n - 10))::numeric, 8)::float8 end
from generate_series(1, 100) n;`

const released = (await readdir(RELEASED, { withFileTypes: true })).filter((entry) => entry.isDirectory())
if (released.length > 0) {
  process.stderr.write(
    `Tables are released (${released.map(({ name }) => name).join(', ')}): make a migration with drizzle-kit.\n`,
  )
  process.exit(1)
}

const empty = generateDrizzleJson({})
const tables = generateDrizzleJson(schema)
const statements = (await generateMigration(empty, tables)).map((text) => partition(text.trim()))
await writeFile(
  new URL('0001_tables.sql', DRIZZLE),
  `${[...statements, STORAGE, ...FILL, ...UNLOGGED, CURVES].join('\n--> statement-breakpoint\n')}\n`,
)
// The same ids and times whenever it is made, so that only what changed differs.
const ids = ['00000000-0000-0000-0000-000000000000', '00000000-0000-4000-8000-000000000000']
await writeJson('meta/0000_snapshot.json', { ...empty, id: ids[1], prevId: ids[0] })
await writeJson('meta/0001_snapshot.json', {
  ...tables,
  id: '00000000-0000-4000-8000-000000000001',
  prevId: ids[1],
})
const entry = { version: '7', breakpoints: true }
await writeJson('meta/_journal.json', {
  version: '7',
  dialect: 'postgresql',
  entries: [
    { idx: 0, when: 1795263915657, tag: '0000_functions', ...entry },
    { idx: 1, when: 1795271392176, tag: '0001_tables', ...entry },
  ],
})

function partition(statement: string): string {
  const [, table = ''] = /^CREATE TABLE "(\w+)"/.exec(statement) ?? []
  return PARTITIONED.includes(table) ? statement.replace(/;$/, ' PARTITION BY RANGE ("slot");') : statement
}

function writeJson(name: string, value: object): Promise<void> {
  return writeFile(new URL(name, DRIZZLE), `${JSON.stringify(value, null, 2)}\n`)
}
