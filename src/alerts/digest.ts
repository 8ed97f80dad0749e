/** What a digest says beside the events: the summary of the project's report of its last days. */
import type { Database } from '../db/database.ts'
import type { Span } from '../report/model.ts'
import { startReportThread } from '../report/report-thread.ts'
import { chooseSections, type SectionName } from '../sections.ts'

/**
 * @param span the days that are compared: a digest of 7 days reads 8
 * @param without sections of the report that it leaves out
 */
export async function readDigest(
  db: Database,
  project: string,
  span: Span,
  without: readonly SectionName[] = [],
): Promise<string[]> {
  await using thread = startReportThread(db.url)
  const findings = await thread.summarise(
    { project, days: span + 1, spans: [1, span] },
    span,
    chooseSections(undefined, without),
  )
  return findings.map(({ about, text }) => `${about}: ${text}`)
}

/** The page of the report, to be attached. */
export async function writePage(db: Database, project: string, without: readonly SectionName[] = []) {
  const name = project.replace(/[^\p{L}\p{N}_-]+/gu, '-')
  await using thread = startReportThread(db.url)
  return {
    filename: `${name}.html`,
    content: await thread.makePage({ project }, { shown: chooseSections(undefined, without) }),
  }
}
