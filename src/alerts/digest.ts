/** What a digest says beside the events: the summary of the project's report of its last days. */
import type { Database } from '../db/database.ts'
import type { Span } from '../report/model.ts'
import { startReportThread } from '../report/report-thread.ts'

/** @param span the days that are compared: a digest of 7 days reads 8 */
export async function readDigest(db: Database, project: string, span: Span): Promise<string[]> {
  await using thread = startReportThread(db.url)
  const findings = await thread.summarise({ project, days: span + 1, spans: [1, span] }, span)
  return findings.map(({ about, text }) => `${about}: ${text}`)
}

/** The page of the report, to be attached. */
export async function writePage(
  db: Database,
  project: string,
): Promise<{ readonly filename: string; readonly content: string }> {
  const name = project.replace(/[^\p{L}\p{N}_-]+/gu, '-')
  await using thread = startReportThread(db.url)
  return { filename: `${name}.html`, content: await thread.makePage({ project }, {}) }
}
