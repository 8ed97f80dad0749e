/** `storerank alerts test` and `alerts retry`: for when a receiver was mended. An editor may do both. */
import { randomUUID } from 'node:crypto'
import { type Channel, readChannels } from '../alerts/channel.ts'
import type { Content } from '../alerts/content.ts'
import { send } from '../alerts/send.ts'
import type { Database } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import { nameKnown } from '../suggest.ts'
import { countOf } from '../text/words.ts'
import type { CommandContext } from './command.ts'
import type { Document, Part } from './document.ts'

/** As watch_problem tells of what was given up. */
const DEAD_DAYS = 7

/**
 * Sends a message that is marked as a test. When the receiver took it, what was given up before is no problem
 * any more, and what waits is tried.
 */
export async function testChannel(db: Database, name: string, context: CommandContext): Promise<Document> {
  const channel = await findChannel(db, name)
  const content: Content = {
    type: 'alerts.test',
    at: new Date().toISOString(),
    project: null,
    title: 'storerank: this is a test',
    summary: [`The channel "${channel.name}" works. Nothing has happened.`],
    lines: [],
    rest: 0,
  }
  const message = { id: randomUUID(), content, attachment: null }
  const refused = await send(channel, message, context.config.alerts, context.signal)
  if (refused !== null) throw new ConfigurationError(refused)
  return { parts: describeTested(name, await recordTest(db, channel)) }
}

interface Tested {
  readonly enabled: boolean
  readonly waiting: number
  readonly dead: number
}

async function recordTest({ sql }: Database, { id }: Channel): Promise<Tested> {
  const [row] = await sql<Tested[]>`
    update alert_channel c set tested_at = clock_timestamp() where c.id = ${id}
    returning c.enabled,
      (select count(*)::int from alert_message m where m.channel_id = c.id
        and m.state = 'pending') as waiting,
      (select count(*)::int from alert_message m where m.channel_id = c.id and m.state = 'dead'
        and m.ended_at > clock_timestamp() - make_interval(days => ${DEAD_DAYS}::integer)) as dead`
  return row ?? { enabled: true, waiting: 0, dead: 0 }
}

function describeTested(name: string, { enabled, waiting, dead }: Tested): Part[] {
  const were = `${countOf(dead, 'message')} that ${dead === 1 ? 'was' : 'were'} given up`
  return [
    `The receiver of the channel "${name}" took a message that is marked as a test.`,
    !enabled && describeDisabled(name),
    enabled &&
      waiting > 0 &&
      `The runners try what waits for it within a minute: ${countOf(waiting, 'message')}.`,
    dead > 0 &&
      `${were} in the last ${countOf(DEAD_DAYS, 'day')} can be sent again: ` +
        `storerank alerts retry ${quoteArgument(name)}.`,
  ]
}

/** Has messages that were given up sent again, under their ids and in their old order. */
export async function retryMessages(
  db: Database,
  { channel, days }: { readonly channel?: string; readonly days: number },
): Promise<Document> {
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
  if (rows.length > 0) return { parts: rows.map((row) => describeRetried(row)) }
  const of = channel === undefined ? '' : ` of the channel "${channel}"`
  return { parts: [`No message${of} was given up in the last ${countOf(days, 'day')}.`] }
}

interface Retried {
  readonly name: string
  readonly enabled: boolean
  readonly messages: number
}

function describeRetried({ name, enabled, messages }: Retried): string {
  const isOne = messages === 1
  const what =
    `${countOf(messages, 'message')} of the channel "${name}" ` + `that ${isOne ? 'was' : 'were'} given up`
  if (enabled) return `The runners send ${what} again within a minute, under the same id${isOne ? '' : 's'}.`
  return `${what} ${isOne ? 'waits' : 'wait'} to be sent again. ${describeDisabled(name)}`
}

async function findChannel(db: Database, name: string): Promise<Channel> {
  const channels = await readChannels(db)
  const channel = channels.find((each) => each.name === name)
  if (channel !== undefined) return channel
  const known = nameKnown(
    name,
    'Channels',
    channels.map((each) => each.name),
  )
  throw new ConfigurationError(`There is no channel ${JSON.stringify(name)} in alert_channel.${known}`)
}

function describeDisabled(name: string): string {
  return (
    'The channel is not enabled, so that nothing is sent to it: update alert_channel set enabled = ' +
    `true where name = '${name.replaceAll("'", "''")}';`
  )
}

function quoteArgument(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : JSON.stringify(name)
}
