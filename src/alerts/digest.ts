/** What a digest says beside the events: the summary of the project's report of its last days. */
import type { Database } from '../db/database.ts'
import { renderPage } from '../report/page/page.ts'
import { addDays, readReport } from '../report/read.ts'
import { summarise } from '../report/summary.ts'

/** @param days the span that is compared: a digest of 7 days reads 8 */
export async function readDigest(db: Database, project: string, days: number): Promise<string[]> {
  const latest = (await readReport(db, { project })).days.at(-1)
  if (latest === undefined) return []
  const report = await readReport(db, { project, from: addDays(latest, -days), to: latest })
  return summarise(report, days).map(({ about, text }) => `${about}: ${text}`)
}

/** The page of the report, to be attached. */
export async function writePage(
  db: Database,
  project: string,
): Promise<{ readonly filename: string; readonly content: string }> {
  const name = project.replace(/[^\p{L}\p{N}_-]+/gu, '-')
  return { filename: `${name}.html`, content: renderPage(await readReport(db, { project })) }
}
