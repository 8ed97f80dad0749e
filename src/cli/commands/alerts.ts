/**
 * The rules of alerts with their last events, or what they would have told; and, for when a receiver was
 * mended, `storerank alerts test` and `alerts retry`. An editor may do all of it.
 */
import { randomUUID } from 'node:crypto'
import { type Channel, readChannels } from '../../alerts/channel.ts'
import { type RuleRow, readRules } from '../../alerts/content.ts'
import { findKind } from '../../alerts/kinds/kinds.ts'
import { send } from '../../alerts/send.ts'
import { type TrialDay, tryRules } from '../../alerts/trial.ts'
import type { Database } from '../../db/database.ts'
import { ConfigurationError } from '../../errors.ts'
import { findProject } from '../../report/read.ts'
import { nameKnown } from '../../suggest.ts'
import { countOf } from '../../text/words.ts'
import { argument, command, flag, option, usually } from '../command.ts'
import { database } from '../database-session.ts'
import { heading, type Part, table } from '../document.ts'
import { wholeNumber } from '../option-values.ts'

const NO_RULE =
  'There is no rule yet: insert into alert_rule (project, name, kind, …); docs/alerts.md has the kinds.'
/** Of a day of a trial; JSON has all. */
const LINES_SHOWN = 20
const DAYS_TRIED = 30
/** As watch_problem tells of what was given up. */
const DEAD_DAYS = 7
/** What became of the last event, where the word of alert_history does not say it by itself. */
const STATES: Readonly<Record<string, string>> = {
  waiting: 'waits for its message',
  pending: 'on its way',
  dead: 'given up',
  cooldown: 'within the cooldown',
  channel: 'kept: no channel',
  beginning: 'kept: its beginning was not told',
}

const daysOf = (help: string) => option('<number>', help, wholeNumber(1, 366))

const test = command({
  summary: 'send a message that is marked as a test',
  arguments: { channel: argument('<channel>', 'name of a channel') },
  examples: ['storerank alerts test ops'],
  needs: database(),
  run: async ({ channel: name }, { config, signal }, { db }) => {
    const channel = await findChannel(db, name)
    const content = {
      type: 'alerts.test' as const,
      at: new Date().toISOString(),
      project: null,
      title: 'storerank: this is a test',
      summary: [`The channel "${channel.name}" works. Nothing has happened.`],
      lines: [],
      rest: 0,
    }
    const message = { id: randomUUID(), content, attachment: null }
    const refused = await send(channel, message, config.alerts, signal)
    if (refused !== null) throw new ConfigurationError(refused)
    return { parts: await recordTest(db, channel) }
  },
})

const retry = command({
  summary: 'send again, under the same ids, the messages that were given up',
  arguments: { channel: argument('[channel]', 'name of a channel (default: each of them)') },
  options: { days: usually(7, daysOf('those that were given up in so many days')) },
  examples: ['storerank alerts retry ops --days 3'],
  needs: database(),
  run: async ({ channel, days }, _, { db }) => {
    if (channel !== undefined) await findChannel(db, channel)
    const retried = await db.sql<Retried[]>`
      with since as (select clock_timestamp() - make_interval(days => ${days}::integer) as at),
      dead as (
        select channel_id, count(*)::int as messages from alert_message
        where state = 'dead' and ended_at >= (select at from since) group by channel_id
      )
      update alert_channel c set retry_from = (select at from since) from dead d
      where c.id = d.channel_id and (${channel ?? null}::text is null or c.name = ${channel ?? null}::text)
      returning c.name, c.enabled, d.messages`
    const rows = retried.toSorted((a, b) => a.name.localeCompare(b.name))
    if (rows.length > 0) return { parts: rows.map(describeRetried) }
    const of = channel === undefined ? '' : ` of the channel "${channel}"`
    return { parts: [`No message${of} was given up in the last ${countOf(days, 'day')}.`] }
  },
})

export const alerts = command({
  group: 'Look',
  summary:
    'show the rules with their last event; what they would have told; send a test, or what was given up',
  options: {
    trial: flag('say what the rules would have told over the past days, and send nothing'),
    days: daysOf('of the trial (default: 30)'),
    project: option('<name>', 'this project (default: each of them)'),
    json: flag('print JSON'),
  },
  examples: ['storerank alerts --trial --days 30'],
  commands: { test, retry },
  needs: database(),
  run: async ({ trial, days, project }, { signal }, { db }) => {
    if (days !== undefined && !trial)
      throw new ConfigurationError('--days is of the trial: storerank alerts --trial --days 30.')
    if (project !== undefined)
      findProject(project, await db.sql<{ name: string }[]>`select name from project order by name`)
    const all = await readRules(db)
    const rules = project === undefined ? all : all.filter((rule) => rule.project === project)
    const found = trial ? await tryRules(db, days ?? DAYS_TRIED, signal, project) : null
    if (rules.length === 0) return { data: found ?? rules, parts: [NO_RULE] }
    if (found === null) return { data: rules, parts: describeRules(rules) }
    return { data: found, parts: describeTrial(found, rules, days ?? DAYS_TRIED) }
  },
})

/** When the receiver took a test, what was given up before is no problem any more; what waits is tried. */
async function recordTest({ sql }: Database, { id, name }: Channel): Promise<Part[]> {
  const [row] = await sql<{ enabled: boolean; waiting: number; dead: number }[]>`
    update alert_channel c set tested_at = clock_timestamp() where c.id = ${id}
    returning c.enabled,
      (select count(*)::int from alert_message m where m.channel_id = c.id
        and m.state = 'pending') as waiting,
      (select count(*)::int from alert_message m where m.channel_id = c.id and m.state = 'dead'
        and m.ended_at > clock_timestamp() - make_interval(days => ${DEAD_DAYS}::integer)) as dead`
  const { enabled = true, waiting = 0, dead = 0 } = row ?? {}
  const were = `${countOf(dead, 'message')} that ${dead === 1 ? 'was' : 'were'} given up`
  const argument = /^[\w.-]+$/.test(name) ? name : JSON.stringify(name)
  return [
    `The receiver of the channel "${name}" took a message that is marked as a test.`,
    !enabled && describeDisabled(name),
    enabled &&
      waiting > 0 &&
      `The runners try what waits for it within a minute: ${countOf(waiting, 'message')}.`,
    dead > 0 &&
      `${were} in the last ${countOf(DEAD_DAYS, 'day')} can be sent again: ` +
        `storerank alerts retry ${argument}.`,
  ]
}

type Retried = { readonly name: string; readonly enabled: boolean; readonly messages: number }

function describeRetried({ name, enabled, messages }: Retried): string {
  const isOne = messages === 1
  const were = isOne ? 'was' : 'were'
  const what = `${countOf(messages, 'message')} of the channel "${name}" that ${were} given up`
  if (enabled) return `The runners send ${what} again within a minute, under the same id${isOne ? '' : 's'}.`
  return `${what} ${isOne ? 'waits' : 'wait'} to be sent again. ${describeDisabled(name)}`
}

async function findChannel(db: Database, name: string): Promise<Channel> {
  const channels = await readChannels(db)
  const channel = channels.find((each) => each.name === name)
  if (channel !== undefined) return channel
  const names = channels.map((each) => each.name)
  throw new ConfigurationError(
    `There is no channel ${JSON.stringify(name)} in alert_channel.${nameKnown(name, 'Channels', names)}`,
  )
}

function describeDisabled(name: string): string {
  return (
    'The channel is not enabled, so that nothing is sent to it: update alert_channel set enabled = ' +
    `true where name = '${name.replaceAll("'", "''")}';`
  )
}

function describeRules(rules: readonly RuleRow[]): Part[] {
  return [...Map.groupBy(rules, (rule) => rule.project)].flatMap(([project, ofProject]) => {
    const rows = ofProject.map((rule) => ({
      rule: rule.rule,
      kind: `${rule.kind}, ${rule.severity}`,
      channel: rule.channel ?? '–',
      events: rule.events,
      last: rule.day ?? '–',
      state: rule.enabled ? (STATES[rule.state ?? ''] ?? rule.state ?? '') : 'disabled',
    }))
    return [heading(project), table(rows)]
  })
}

function describeTrial(found: readonly TrialDay[], rules: readonly RuleRow[], days: number): Part[] {
  const told = found.flatMap(({ project, lines }) => lines.map(({ rule }) => JSON.stringify([project, rule])))
  const counts = Map.groupBy(told, (rule) => rule)
  const count = ({ project, rule, kind }: RuleRow) =>
    findKind(kind)?.source.by === 'clock'
      ? 'not tried'
      : (counts.get(JSON.stringify([project, rule]))?.length ?? 0)
  const rows = rules.filter(({ enabled }) => enabled).map((rule) => ({ ...rule, events: count(rule) }))
  return [
    found.map(describeDay),
    '',
    table(rows, { columns: ['project', 'rule', 'kind', 'events'] }),
    `${countOf(told.length, 'event')} in the last ${countOf(days, 'day')}. Nothing was sent. ` +
      'Rules on money, jobs and the service are not tried.',
  ]
}

function describeDay({ project, day, lines, held }: TrialDay): Part {
  return [
    heading(`${project}, ${day}`),
    lines.slice(0, LINES_SHOWN).map(({ severity, text, rule }) => `  ${severity}: ${text} (${rule})`),
    lines.length > LINES_SHOWN && `  … and ${lines.length - LINES_SHOWN} more`,
    held > 0 && `  … and ${held} held back by cooldowns`,
  ]
}
