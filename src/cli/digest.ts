/** `storerank digest`: what a digest of the last days would say. */
import { readDigest } from '../alerts/digest.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { ConfigurationError } from '../errors.ts'
import { toPrintable } from '../log.ts'
import { readProjects } from '../report/read.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'

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
      const events = await session.db.sql<{ text: string }[]>`
        select format('%s: %s, %s', severity, rule, count(*)) as text from alert_history
        where project = ${name} and slot > storerank_now() - make_interval(days => ${days}::integer)
        group by severity, rule order by array_position('{critical,warning,info}', severity), rule`
      const lines = [
        ...(await readDigest(session.db, name, days)),
        ...events.map(({ text }) => `Alerts: ${text}`),
      ]
      context.stdout.write(toPrintable(`\n${name}\n\n${lines.join('\n')}\n`))
    }
    return 0
  } finally {
    await session.close()
  }
}
