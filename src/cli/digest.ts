/** `storerank digest`: what a digest of the last days would say. */
import { toLines } from '../alerts/content.ts'
import { readDigest } from '../alerts/digest.ts'
import { readLatestEvents } from '../alerts/event.ts'
import { renderText } from '../alerts/render.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { ConfigurationError } from '../errors.ts'
import { toPrintable } from '../log.ts'
import { readProjects } from '../report/read.ts'
import { countOf } from '../report/words.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'
import { widthOf, wrapToWidth } from './print.ts'

/** As the messages of a channel that says nothing else. */
const LINES_SHOWN = 20
/** A line that is broken would be no link any more. */
const LINK = /^\s*https?:\S+$/

export async function run(
  { project, days }: CommandOptions['digest'],
  context: CommandContext,
): Promise<number> {
  const session = await openDatabaseSession(context, { migrates: false })
  try {
    await requireCurrentSchema(session.db)
    const projects = project === undefined ? await readProjects(session.db) : [project]
    if (projects.length === 0) throw new ConfigurationError('There is no project yet.')
    for (const name of projects) {
      const summary = await readDigest(session.db, name, days)
      const events = await session.db.begin((tx) => readLatestEvents(tx, name, days))
      const text = renderText({
        type: 'alerts.digest',
        at: new Date().toISOString(),
        project: name,
        title: `storerank, ${name}: digest of ${countOf(days, 'day')}, ${countOf(events.length, 'event')}`,
        summary,
        ...toLines(events, LINES_SHOWN),
      })
      const lines = toPrintable(text).split('\n')
      const width = widthOf(context.stdout)
      const wrapped = lines.map((line) => (LINK.test(line) ? line : wrapToWidth(line, width)))
      context.stdout.write(`\n${wrapped.join('\n')}`)
    }
    return 0
  } finally {
    await session.close()
  }
}
