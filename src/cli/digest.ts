/** What `storerank digest` shows: what a digest of the last days would say. */
import { toLines } from '../alerts/content.ts'
import { readDigest } from '../alerts/digest.ts'
import { readLatestEvents } from '../alerts/event.ts'
import { renderText } from '../alerts/render.ts'
import type { Database } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import { readProjects } from '../report/read.ts'
import type { SectionName } from '../sections.ts'
import { countOf } from '../text/words.ts'
import { type Document, type Part, verbatim } from './document.ts'

/** As the messages of a channel that says nothing else. */
const LINES_SHOWN = 20
/** A line that is broken would be no link any more. */
const LINK = /^\s*https?:\S+$/

interface DigestOptions {
  readonly project?: string
  readonly days: number
  readonly without?: readonly SectionName[]
}

export async function showDigests(
  db: Database,
  { project, days, without }: DigestOptions,
): Promise<Document> {
  const projects = project === undefined ? await readProjects(db) : [project]
  if (projects.length === 0) throw new ConfigurationError('There is no project yet.')
  const parts: Part[] = []
  for (const name of projects) parts.push('', await describeDigest(db, name, days, without))
  return { parts }
}

async function describeDigest(
  db: Database,
  project: string,
  days: number,
  without: DigestOptions['without'],
): Promise<Part> {
  const summary = await readDigest(db, project, days, without)
  const events = await db.begin((tx) => readLatestEvents(tx, project, days))
  const text = renderText({
    type: 'alerts.digest',
    at: new Date().toISOString(),
    project,
    title: `storerank, ${project}: digest of ${countOf(days, 'day')}, ${countOf(events.length, 'event')}`,
    summary,
    ...toLines(events, LINES_SHOWN),
  })
  return text
    .trimEnd()
    .split('\n')
    .map((each) => (LINK.test(each) ? verbatim(each) : each))
}
