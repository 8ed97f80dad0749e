/** What a digest of the last days would say. */
import { toLines } from '../../alerts/content.ts'
import { readLatestEvents } from '../../alerts/event.ts'
import { renderText } from '../../alerts/render.ts'
import { ConfigurationError } from '../../errors.ts'
import { readProjects } from '../../report/read.ts'
import { makeDigest } from '../../report/report-thread.ts'
import { SECTIONS } from '../../sections.ts'
import { countOf } from '../../text/words.ts'
import { command, option, usually } from '../command.ts'
import { database } from '../database-session.ts'
import { type Part, verbatim } from '../document.ts'
import { someOf, wholeNumber } from '../option-values.ts'

/** As the messages of a channel that says nothing else. */
const LINES_SHOWN = 20
/** A line that is broken would be no link any more. */
const LINK = /^\s*https?:\S+$/

export const digest = command({
  group: 'Look',
  summary: 'print what a digest of the last days would say',
  options: {
    project: option('<name>', 'this project (default: each of them)'),
    days: usually(7, option('<number>', 'days that are compared', wholeNumber(1, 366))),
    without: option(
      '<names>',
      'sections that it leaves out, such as money,gaps',
      someOf('section', SECTIONS),
    ),
  },
  examples: ['storerank digest --project fitness --days 7'],
  needs: database(),
  run: async ({ project: only, days, without }, _, { db }) => {
    const projects = only === undefined ? await readProjects(db) : [only]
    if (projects.length === 0) throw new ConfigurationError('There is no project yet.')
    const parts: Part[] = []
    for (const project of projects) {
      const summary = await makeDigest(db, project, days, without)
      const events = await db.begin((tx) => readLatestEvents(tx, project, days))
      const text = renderText({
        type: 'alerts.digest',
        at: new Date().toISOString(),
        project,
        title: `storerank, ${project}: digest of ${countOf(days, 'day')}, ${countOf(events.length, 'event')}`,
        summary,
        ...toLines(events, LINES_SHOWN),
      })
      const lines = text.trimEnd().split('\n')
      parts.push('', ...lines.map((line) => (LINK.test(line) ? verbatim(line) : line)))
    }
    return { parts }
  },
})
