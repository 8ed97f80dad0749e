/** What the page of 90 days takes: read with an idle machine's clock, and how large it is. */
import { analyzeGrownTables } from '../../src/db/analyze.ts'
import type { Database } from '../../src/db/database.ts'
import { renderPage } from '../../src/report/page/page.ts'
import { readReport } from '../../src/report/read.ts'
import { atMost, type Measured, plain } from './bars.ts'
import { fillHistory, PROJECT } from './history.ts'

export async function measureReport(db: Database, keywords: number): Promise<Measured> {
  await fillHistory(db, { keywords, days: 90, apps: 100 }, (line) => process.stderr.write(`${line}\n`))
  await db.sql`
    insert into app_numbers (location_code, day, block, apps, votes)
    select 2840, current_date - n, 0, array_agg(a.id order by a.id), array_agg(a.id * 977 - n order by a.id)
    from app a cross join generate_series(90, 1, -1) n group by n order by n desc`
  await db.sql`insert into annotation (project, day, app_id, text)
    select ${PROJECT}, current_date - n, '1000000001', 'Release ' || n from generate_series(5, 80, 10) n`
  await analyzeGrownTables(db)
  const began = performance.now()
  const report = await readReport(db, { project: PROJECT })
  const read = performance.now()
  const page = renderPage(report)
  return {
    'reading it': atMost(20, (read - began) / 1000, 's'),
    'drawing it': plain((performance.now() - read) / 1000, 's'),
    'its size': atMost(2, Buffer.byteLength(page) / 1_000_000, 'MB'),
  }
}
