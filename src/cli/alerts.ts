/** `storerank alerts`: the rules and their last events; what they would have told; a test of a channel; and what was given up, again. */
import { findKind } from '../alerts/kinds/kinds.ts'
import { type RuleRow, readRules } from '../alerts/read.ts'
import { type TrialDay, tryRules } from '../alerts/trial.ts'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { ConfigurationError } from '../errors.ts'
import { toPrintable } from '../log.ts'
import { countOf } from '../report/words.ts'
import { didYouMean } from '../suggest.ts'
import { retryMessages, testChannel } from './alert-channels.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'
import { printJson, printTable, widthOf, wrapToWidth } from './print.ts'

const NO_RULE =
  'There is no rule yet: insert into alert_rule (project, name, kind, …); docs/alerts.md has the kinds.\n'
/** Of a day of a trial; JSON has all. */
const LINES_SHOWN = 20
/** What became of the last event, where the word of alert_history does not say it by itself. */
const STATES: Readonly<Record<string, string>> = {
  waiting: 'waits for its message',
  pending: 'on its way',
  dead: 'given up',
  cooldown: 'within the cooldown',
  channel: 'kept: no channel',
  beginning: 'kept: its beginning was not told',
}

export async function run(options: CommandOptions['alerts'], context: CommandContext): Promise<number> {
  const { days, json, project, retry, test, trial } = options
  if ((retry ?? test) !== undefined && (json || trial || project !== undefined))
    throw new ConfigurationError(
      'alerts test and alerts retry take the name of a channel, and no --json, --project or --trial.',
    )
  if (days !== undefined && !trial)
    throw new ConfigurationError('--days is of the trial: storerank alerts --trial --days 30.')
  const session = await openDatabaseSession(context, { migrates: false })
  try {
    await requireCurrentSchema(session.db)
    if (test !== undefined) await testChannel(session.db, test, context)
    else if (retry !== undefined) await retryMessages(session.db, retry, context)
    else await showAlerts(session.db, options, context)
    return 0
  } finally {
    await session.close()
  }
}

async function showAlerts(
  db: Database,
  { trial, days = 30, project, json }: CommandOptions['alerts'],
  context: CommandContext,
): Promise<void> {
  if (project !== undefined) await requireProject(db, project)
  const all = await readRules(db)
  const rules = project === undefined ? all : all.filter((rule) => rule.project === project)
  if (trial) {
    const found = await tryRules(db, days, context.signal, project)
    if (json) printJson(found, context)
    else if (rules.length === 0) context.stdout.write(NO_RULE)
    else showTrial(found, rules, days, context)
  } else if (json) printJson(rules, context)
  else if (rules.length === 0) context.stdout.write(NO_RULE)
  else showRules(rules, context)
}

async function requireProject({ sql }: Database, name: string): Promise<void> {
  const rows = await sql<{ name: string }[]>`select name from project order by name`
  const names = rows.map((row) => row.name)
  if (names.includes(name)) return
  throw new ConfigurationError(
    `There is no project ${JSON.stringify(name)}.${didYouMean(name, names)} Projects: ${names.join(', ') || 'none'}.`,
  )
}

function showRules(rules: readonly RuleRow[], context: CommandContext): void {
  for (const [project, ofProject] of Map.groupBy(rules, (rule) => rule.project)) {
    context.stdout.write(toPrintable(`\n${project}\n`))
    const rows = ofProject.map((rule) => ({
      rule: rule.rule,
      kind: `${rule.kind}, ${rule.severity}`,
      channel: rule.channel ?? '–',
      events: rule.events,
      last: rule.day ?? '–',
      state: rule.enabled ? (STATES[rule.state ?? ''] ?? rule.state ?? '') : 'disabled',
    }))
    printTable(
      rows,
      Object.keys(rows[0] ?? {}).map((key) => ({ key })),
      context,
    )
  }
}

function showTrial(
  found: readonly TrialDay[],
  rules: readonly RuleRow[],
  days: number,
  { stdout }: CommandContext,
): void {
  const say = (text: string) => {
    const lines = wrapToWidth(toPrintable(text), widthOf(stdout) - 4).split('\n')
    stdout.write(`  ${lines.join('\n    ')}\n`)
  }
  for (const { project, day, lines, held } of found) {
    stdout.write(toPrintable(`\n${project}, ${day}\n`))
    for (const line of lines.slice(0, LINES_SHOWN)) say(`${line.severity}: ${line.text} (${line.rule})`)
    if (lines.length > LINES_SHOWN) say(`… and ${lines.length - LINES_SHOWN} more`)
    if (held > 0) say(`… and ${held} held back by cooldowns`)
  }
  const told = found.flatMap(({ project, lines }) => lines.map(({ rule }) => JSON.stringify([project, rule])))
  const counts = Map.groupBy(told, (rule) => rule)
  stdout.write('\n')
  printTable(
    rules
      .filter(({ enabled }) => enabled)
      .map(({ project, rule, kind }) => ({
        project,
        rule,
        kind,
        events:
          findKind(kind)?.source.by === 'clock'
            ? 'not tried'
            : (counts.get(JSON.stringify([project, rule]))?.length ?? 0),
      })),
    ['project', 'rule', 'kind', 'events'].map((key) => ({ key })),
    { stdout },
  )
  const end = `${countOf(told.length, 'event')} in the last ${countOf(days, 'day')}. Nothing was sent. Rules on money, jobs and the service are not tried.`
  stdout.write(`${wrapToWidth(end, widthOf(stdout))}\n`)
}
