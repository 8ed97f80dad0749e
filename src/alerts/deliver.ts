/**
 * Delivers the messages of a channel, in their order and each at least once: a message is tried again until the receiver takes it, or for
 * three days. While one waits, those behind it wait too, so that a cooldown is used up only by what was delivered. Channels do not wait for
 * one another.
 */
import type { Logger } from 'pino'
import type { Database } from '../db/database.ts'
import { StorerankError } from '../errors.ts'
import { type Content, chooseTold, readEvents, toLines } from './content.ts'
import { readDigest, writePage } from './digest.ts'
import { send } from './send.ts'
import type { AlertSettings, Channel } from './settings.ts'

export interface DeliveryDeps {
  readonly db: Database
  readonly settings: AlertSettings
  readonly log: Logger
  /** For tests: instead of the network. */
  readonly send?: typeof send
}

interface Message {
  readonly id: string
  readonly project: string | null
  readonly timezone: string
  readonly digestAt: Date | null
  readonly createdAt: Date
  readonly content: Content | null
}

/** Minutes between attempts: doubled from one, and an hour at most. */
const LONGEST_PAUSE_MINUTES = 60
const GIVE_UP_AFTER_DAYS = 3
/** One job delivers so many at most; the next run of `alerts` enqueues another. */
const MESSAGES_PER_JOB = 100

/** @returns how many were delivered */
export async function deliverChannel(
  deps: DeliveryDeps,
  channelId: number,
  signal: AbortSignal,
): Promise<number> {
  let delivered = 0
  for (let n = 0; n < MESSAGES_PER_JOB && !signal.aborted; n += 1) {
    const channel = await readChannel(deps.db, channelId)
    const message = channel === null ? null : await readNext(deps.db, channelId)
    if (channel === null || message === null) return delivered
    const outcome = await deliverMessage(deps, channel, message, signal)
    if (outcome === 'waits') return delivered
    if (outcome === 'delivered') delivered += 1
  }
  return delivered
}

async function deliverMessage(
  deps: DeliveryDeps,
  channel: Channel,
  message: Message,
  signal: AbortSignal,
): Promise<'delivered' | 'waits' | 'ended'> {
  const { db, settings, log } = deps
  let refused: string | null
  try {
    const content = message.content ?? (await composeMessage(db, channel, message))
    if (content === null) return 'ended'
    const attachment =
      channel.report && message.project !== null ? await writePage(db, message.project) : null
    refused = await (deps.send ?? send)(channel, { id: message.id, content, attachment }, settings, signal)
  } catch (error) {
    if (signal.aborted) throw error
    // What is not of the receiver is a fault of storerank: it must not keep the channel waiting without a word.
    const isOurs = !(error instanceof StorerankError)
    const { message: text } = error as Error
    const problem = isOurs ? `storerank could not write the message: ${text}.` : text
    const isDead = await recordFailure(db, message.id, problem)
    const fields = { channel: channel.name, problem, isDead, ...(isOurs ? { err: error } : {}) }
    log.warn(fields, 'a message of alerts was not taken')
    return isDead ? 'ended' : 'waits'
  }
  await db.sql`
    update alert_message set state = 'delivered', attempts = attempts + 1, problem = ${refused}, ended_at = clock_timestamp()
    where id = ${message.id} and state = 'pending'`
  return 'delivered'
}

/**
 * A test was taken: what was given up before is no problem any more, and what waits is tried at once.
 * @returns how many messages wait
 */
export async function recordTest({ sql }: Pick<Database, 'sql'>, channelId: number): Promise<number> {
  await sql`
    insert into alert_message (channel_id, project_id, state, attempts, ended_at) values (${channelId}, 0, 'delivered', 1, clock_timestamp())`
  const waiting = await sql`
    update alert_message set next_at = clock_timestamp() where channel_id = ${channelId} and state = 'pending'`
  return waiting.count
}

/** Null when it is gone or disabled. */
export async function readChannel({ sql }: Pick<Database, 'sql'>, id: number): Promise<Channel | null> {
  const [row] = await sql<Channel[]>`
    select id, name, kind, address, secret_variable as "secretVariable", max_lines as "maxLines", report, digest
    from alert_channel where id = ${id} and enabled`
  return row ?? null
}

/** The oldest message; null when there is none, or its time has not come. */
async function readNext({ sql }: Pick<Database, 'sql'>, channelId: number): Promise<Message | null> {
  const [row] = await sql<(Message & { isDue: boolean })[]>`
    select m.id, p.name as project, coalesce(p.timezone, 'UTC') as timezone, m.digest_at as "digestAt", m.created_at as "createdAt",
      m.content, m.next_at <= clock_timestamp() as "isDue"
    from alert_message m left join project p on p.id = m.project_id
    where m.channel_id = ${channelId} and m.state = 'pending'
    order by m.created_at, m.id limit 1`
  return row?.isDue ? row : null
}

/** Writes down what the message says, before it is sent for the first time; null when cooldowns hold all of it back. */
async function composeMessage(db: Database, channel: Channel, message: Message): Promise<Content | null> {
  const digest =
    message.digestAt === null || message.project === null
      ? null
      : await readDigest(db, message.project, channel.digest === 'weekly' ? 7 : 1)
  return db.begin(async (tx) => {
    const { told, held } = chooseTold(await readEvents(tx, message.id))
    await tx`update alert_event set held_back = 'cooldown' where id = any(${held.map(({ id }) => id)}::bigint[])`
    if (told.length === 0 && digest === null) {
      await tx`update alert_message set state = 'empty', ended_at = clock_timestamp() where id = ${message.id}`
      return null
    }
    const project = message.project ?? ''
    const count = `${told.length} ${told.length === 1 ? 'event' : 'events'}`
    const content: Content = {
      type: digest === null ? 'alerts.found' : 'alerts.digest',
      at: message.createdAt.toISOString(),
      project: message.project,
      title:
        digest === null
          ? `storerank, ${project}: ${count}`
          : `storerank, ${project}: ${channel.digest} digest, ${count}`,
      summary: digest ?? [],
      ...toLines(told, channel.maxLines),
    }
    // As the next attempt will read it, so that it sends the same bytes.
    const [stored] = await tx<{ content: Content }[]>`
      update alert_message set content = coalesce(content, ${JSON.stringify(content)}::text::jsonb) where id = ${message.id} returning content`
    return stored?.content ?? null
  })
}

/** @returns whether the message is given up */
async function recordFailure({ sql }: Pick<Database, 'sql'>, id: string, problem: string): Promise<boolean> {
  const [row] = await sql<{ isDead: boolean }[]>`
    update alert_message m set attempts = least(m.attempts + 1, 30000), problem = ${problem.slice(0, 1000)},
      next_at = clock_timestamp() + make_interval(mins => least(${LONGEST_PAUSE_MINUTES}, 2 ^ least(m.attempts, 10))::int),
      state = case when d.is_over then 'dead' else 'pending' end, ended_at = case when d.is_over then clock_timestamp() end
    from (select clock_timestamp() - created_at > make_interval(days => ${GIVE_UP_AFTER_DAYS}) as is_over
      from alert_message where id = ${id}) d
    where m.id = ${id} and m.state = 'pending'
    returning m.state = 'dead' as "isDead"`
  return row?.isDead ?? false
}
