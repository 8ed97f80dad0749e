/** What one statement over many watches costs, triggers and periods included, and what is wrong with them. */
import type { Database } from '../../src/db/database.ts'
import { atMost, type Figure, type Measured, plain } from './bars.ts'
import { measureCost } from './server-load.ts'

const PROJECTS = 10
const SESSION_MS = 3_600_000

const INSERT = (count: number) => `
  insert into keyword_watch (project, store, keyword, location_code, language_code)
  select 'project ' || n % ${PROJECTS}, 'ios_store', 'keyword ' || n, 2840, 'en'
    from generate_series(1, ${count}) n`

const STATEMENTS: Readonly<Record<string, (count: number) => string>> = {
  insert: INSERT,
  watch_problem: () => 'select from watch_problem',
  'insert, all there': (count) => `${INSERT(count)} on conflict do nothing`,
  priority: () => 'update keyword_watch set priority = 2',
  disable: () => 'update keyword_watch set enabled = false',
  enable: () => 'update keyword_watch set enabled = true',
  delete: () => 'delete from keyword_watch',
}

export async function measureWatches(db: Database, watches: number): Promise<Measured> {
  // One session for all: a person's.
  const session = db.openSession(SESSION_MS)
  const measured: Record<string, Figure> = {}
  try {
    // A project without any app is a problem of its own.
    await session`
      insert into app_watch (project, store, app_id)
      select 'project ' || n, 'ios_store', '1480010017' from generate_series(0, ${PROJECTS - 1}::int) n`
    for (const [what, text] of Object.entries(STATEMENTS)) {
      const { cpuMs } = await measureCost(db, () => session.unsafe(text(watches)))
      const us = (cpuMs * 1000) / watches
      measured[what] = what === 'insert' ? atMost(60, us, 'µs') : plain(us, 'µs')
    }
    return measured
  } finally {
    await session.end()
  }
}
