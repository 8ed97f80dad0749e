/**
 * Thousands of watches in one statement: each costs the same as the first, whatever the planner knew when it
 * began.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '../../src/db/database.ts'
import { createPlanning, type Planning } from '../support/planning.ts'

const WATCHES = 1000
/** Index look-ups of a handful of rows each; reading all the others for each would be half a million. */
const MOST_ROWS_PER_WATCH = 30

const beforehand = {
  'of tables without statistics': async () => {},
  // Reading them whole looks cheap.
  'of tables that were small when they were analyzed': async (planning: Planning) => {
    await planning.watch('a', ['one', 'two', 'three'])
    await planning.db.sql`insert into app_watch (project, store, app_id) values ('a', 'ios_store', '1001')`
    await planning.db.sql`analyze`
  },
}

for (const [which, prepare] of Object.entries(beforehand)) {
  test(`the triggers of a watch read a few rows ${which}, and never all the other watches`, async (t) => {
    const planning = await createPlanning()
    t.after(() => planning.drop())
    await prepare(planning)
    const read = await readByTriggers(planning.openAnother())
    assert.equal(read.length, 3)
    for (const { table, rows } of read)
      assert.ok(rows <= WATCHES * MOST_ROWS_PER_WATCH, `${rows} rows of ${table} were read.`)
  })
}

/** In a session of its own, whose plans are made for this. */
async function readByTriggers({ begin }: Database) {
  const keywords = Array.from({ length: WATCHES }, (_, i) => `keyword ${i}`)
  return begin(async (tx) => {
    await tx`
      insert into keyword_watch (project, store, keyword, location_code, language_code)
      select 'a', 'ios_store', keyword, 2840, 'en' from unnest(${keywords}::text[]) keyword`
    await tx`
      insert into app_watch (project, store, app_id) select 'a', 'ios_store', (100000 + n)::text
      from generate_series(1, ${WATCHES}::int) n`
    await tx`update keyword_watch set priority = 2, every = '12 hours'`
    await tx`delete from keyword_watch`
    await tx`delete from app_watch`
    return tx<{ table: string; rows: number }[]>`
      select relname as table, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) as rows
      from pg_stat_xact_user_tables where relname in ('watch_period', 'target', 'app')`
  })
}
