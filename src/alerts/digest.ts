/** What a digest says beside the events: the summary of the project's report of its last days. */
import type { Database } from '../db/database.ts'
import type { Span } from '../report/model.ts'
import { renderPage } from '../report/page/page.ts'
import { readReport } from '../report/read.ts'
import { summarise } from '../report/summary.ts'

/** @param span the days that are compared: a digest of 7 days reads 8 */
export async function readDigest(db: Database, project: string, span: Span): Promise<string[]> {
  const report = await readReport(db, { project, days: span + 1, spans: [1, span] })
  return summarise(report, span).map(({ about, text }) => `${about}: ${text}`)
}

/** The page of the report, to be attached. */
export async function writePage(
  db: Database,
  project: string,
): Promise<{ readonly filename: string; readonly content: string }> {
  const name = project.replace(/[^\p{L}\p{N}_-]+/gu, '-')
  return { filename: `${name}.html`, content: renderPage(await readReport(db, { project })) }
}
