import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pino } from 'pino'
import { readConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/db/database.ts'
import { liveThrough } from '../../src/demo/month.ts'
import type { StoryDay } from '../../src/demo/story.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { importWatches } from '../../src/watch/import.ts'
import { createTestDatabase } from '../support/database.ts'

const WATCHES = `project,store,location_code,language_code,keyword
p,ios_store,2840,en,yoga
p,ios_store,2840,en,calm
`
const APP = 'project,store,app_id,role\np,ios_store,1480010017,own\n'
const OUTAGE = { status: { task_post: 'major_outage' as const } }

const day = (name: string, changes: Partial<StoryDay> = {}): StoryDay => ({
  day: name,
  trouble: {},
  turns: false,
  act: async () => {},
  ...changes,
})

/** Two keywords, a day of outage, a day without enough money. */
const STORY: readonly StoryDay[] = [
  day('2026-02-27', {
    act: async (db) => {
      for (const csv of [WATCHES, APP]) await importWatches(db, csv)
    },
  }),
  day('2026-02-28', { trouble: OUTAGE, turns: true }),
  day('2026-03-01', {
    turns: true,
    act: (db) => db.sql`update project set daily_usd = 0.0013 where name = 'p'`,
  }),
  day('2026-03-02', { act: (db) => db.sql`update project set daily_usd = null where name = 'p'` }),
]

describe('a month that is lived through', () => {
  test('has a row for each slot, at its business time, the reason of a gap, and its money', async (t) => {
    const database = await createTestDatabase()
    t.after(() => database.drop())
    const sandbox = await startSandbox({ readyMs: 0 })
    t.after(() => sandbox.close())
    const began: number[] = []
    await liveThrough(
      {
        url: database.url,
        sandbox: { url: sandbox.url, login: 'sandbox', password: 'sandbox' },
        settings: readConfig({}),
        log: pino({ level: 'silent' }),
        signal: new AbortController().signal,
      },
      STORY,
      (index) => began.push(index),
    )
    assert.deepEqual(began, [0, 1, 2, 3])
    const db = openDatabase(database.url)
    t.after(() => db.close())
    const rows = await db.sql`
      select to_char(slot, 'MM-DD') as slot, keyword, outcome, to_char(captured_at, 'MM-DD HH24:MI') as at,
        reason
      from rank_history order by 1, 2`
    const outage =
      'It was planned, but its slot ended before it could be sent. The service reports a major ' +
      'outage of posting since 2026-02-28 06:00 UTC.'
    assert.deepEqual(
      rows.map((row) => Object.values(row).join(' ')),
      [
        '02-27 calm not_in_top 02-27 06:00 ',
        '02-27 yoga ranked 02-27 06:00 ',
        `02-28 calm missed  ${outage}`,
        `02-28 yoga missed  ${outage}`,
        '03-01 calm not_in_top 03-01 06:00 ',
        '03-01 yoga budget  project_budget',
        '03-02 calm not_in_top 03-02 06:00 ',
        '03-02 yoga ranked 03-02 06:00 ',
      ],
    )
    const spent = await db.sql`
      select to_char(day, 'MM-DD') as day, spent_usd::float8 as usd from spend_daily where spent_usd > 0
        order by 1`
    const days = spent.map(({ day, usd }) => `${day} ${usd}`)
    assert.deepEqual(days, ['02-27 0.0024', '03-01 0.0012', '03-02 0.0024'])
    const [now] = await db.sql`select to_char(storerank_now(), 'MM-DD HH24:MI') as now`
    assert.deepEqual(now, { now: '03-02 20:00' })
  })
})
