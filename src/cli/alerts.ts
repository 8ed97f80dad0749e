/** `storerank alerts`: the rules and their last events; what they would have told; a test of a channel. */
import { randomUUID } from 'node:crypto'
import type { Content } from '../alerts/content.ts'
import { readRules } from '../alerts/read.ts'
import { send } from '../alerts/send.ts'
import type { Channel } from '../alerts/settings.ts'
import { tryRules } from '../alerts/trial.ts'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { ConfigurationError } from '../errors.ts'
import { toPrintable } from '../log.ts'
import { didYouMean } from '../suggest.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'
import { formatInstant, printJson, printTable } from './print.ts'

export async function run(options: CommandOptions['alerts'], context: CommandContext): Promise<number> {
  const session = await openDatabaseSession(context, { migrates: false })
  try {
    await requireCurrentSchema(session.db)
    if (options.test !== undefined) await testChannel(session.db, options.test, context)
    else if (options.trial) await showTrial(session.db, options, context)
    else await showRules(session.db, options, context)
    return 0
  } finally {
    await session.close()
  }
}

/** What became of the last event, where the word of alert_history does not say it by itself. */
const STATES: Readonly<Record<string, string>> = {
  waiting: 'waits for its message',
  pending: 'on its way',
  dead: 'given up',
  cooldown: 'within the cooldown',
  channel: 'kept: no channel',
}

async function showRules(
  db: Database,
  { json }: CommandOptions['alerts'],
  context: CommandContext,
): Promise<void> {
  const rules = await readRules(db)
  if (json) return printJson(rules, context)
  if (rules.length === 0) {
    context.stdout.write(
      'There is no rule yet: insert into alert_rule (project, name, kind, …); docs/alerts.md has the kinds.\n',
    )
    return
  }
  const rows = rules.map((rule) => ({
    project: rule.project,
    rule: rule.rule,
    kind: rule.kind,
    severity: rule.severity,
    channel: rule.channel ?? '–',
    enabled: rule.enabled ? 'yes' : 'no',
    events: rule.events,
    'last event': rule.last === null ? 'none' : formatInstant(rule.last),
    state: rule.state === null ? '' : (STATES[rule.state] ?? rule.state),
  }))
  printTable(
    rows,
    Object.keys(rows[0] ?? {}).map((key) => ({ key })),
    context,
  )
}

async function showTrial(
  db: Database,
  { days, project, json }: CommandOptions['alerts'],
  context: CommandContext,
): Promise<void> {
  const found = await tryRules(db, days, context.signal, project)
  if (json) return printJson(found, context)
  const { stdout } = context
  for (const { project: name, day, lines, held } of found) {
    stdout.write(toPrintable(`\n${name}, ${day}\n`))
    for (const line of lines) stdout.write(toPrintable(`  ${line.severity}: ${line.text} (${line.rule})\n`))
    if (held > 0) stdout.write(`  … and ${held} held back by cooldowns\n`)
  }
  const told = found.reduce((sum, { lines }) => sum + lines.length, 0)
  stdout.write(
    `\n${told} ${told === 1 ? 'event' : 'events'} in the last ${days} days. Nothing was sent. Rules on money, jobs and the service are not tried.\n`,
  )
}

async function testChannel(
  db: Database,
  name: string,
  { config, stdout, signal }: CommandContext,
): Promise<void> {
  const channels = await db.sql<Channel[]>`
    select id, name, kind, address, secret_variable as "secretVariable", max_lines as "maxLines", report, digest from alert_channel`
  const channel = channels.find((each) => each.name === name)
  if (channel === undefined) {
    const names = channels.map((each) => each.name)
    throw new ConfigurationError(
      `There is no channel ${JSON.stringify(name)} in alert_channel.${didYouMean(name, names)}`,
    )
  }
  const content: Content = {
    type: 'alerts.test',
    at: new Date().toISOString(),
    project: null,
    title: 'storerank: this is a test',
    summary: [`The channel "${channel.name}" works. Nothing has happened.`],
    lines: [],
    rest: 0,
  }
  await send(channel, { id: randomUUID(), content, attachment: null }, config.alerts, signal)
  stdout.write(
    toPrintable(`The receiver of the channel "${channel.name}" took a message that is marked as a test.\n`),
  )
}
