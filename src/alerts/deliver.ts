/**
 * Delivers the messages of a channel, in their order and each at least once: a message is tried again until
 * the receiver takes it, or for three days, and no sooner than it asks. A receiver that wants no more
 * messages has its channel disabled. While one waits, those behind it wait too, so that a cooldown is used up
 * only by what was delivered. Channels do not wait for one another.
 */
import type { Logger } from 'pino'
import type { Database } from '../db/database.ts'
import { RateLimitedError, RejectedError, StorerankError } from '../errors.ts'
import { makeDigest, makePage } from '../report/report-thread.ts'
import { chooseSections, type SectionName } from '../sections.ts'
import { countOf } from '../text/words.ts'
import { type AlertSettings, type Channel, readChannels } from './channel.ts'
import { applyCooldowns, type Content, toLines } from './content.ts'
import { readEvents } from './event.ts'
import { send } from './send.ts'

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
  readonly digestAt: Date | null
  readonly createdAt: Date
  readonly attempts: number
  readonly content: Content | null
}

/** Days that a digest compares. */
const SPANS = { instant: 1, daily: 1, weekly: 7, monthly: 30 } as const
/** Minutes between attempts: doubled from one, and an hour at most. */
const LONGEST_PAUSE_MINUTES = 60
/** Of what a receiver may ask for. */
const LONGEST_WISH_MS = 24 * 3_600_000
/** A page that cannot be made, or is too large for the mail server, holds messages up for minutes alone. */
const ATTEMPTS_WITH_PAGE = 3
/** One job delivers so many at most; the next run of `alerts` enqueues another. */
const MESSAGES_PER_JOB = 100

/** @returns how many were delivered */
export async function deliverChannel(deps: DeliveryDeps, channelId: number, signal: AbortSignal) {
  let delivered = 0
  for (let n = 0; n < MESSAGES_PER_JOB && !signal.aborted; n += 1) {
    // It may be gone, or disabled, by now.
    const channel = (await readChannels(deps.db)).find(({ id, enabled }) => id === channelId && enabled)
    const message = channel === undefined ? null : await readNext(deps.db, channelId)
    if (channel === undefined || message === null) return delivered
    const outcome = await deliverMessage(deps, channel, message, signal)
    if (outcome === 'waits') return delivered
    if (outcome === 'delivered') delivered += 1
  }
  return delivered
}

async function deliverMessage(deps: DeliveryDeps, channel: Channel, message: Message, signal: AbortSignal) {
  const { db, settings } = deps
  let refused: string | null
  try {
    const content = message.content ?? (await composeMessage(db, channel, message))
    if (content === null) return 'ended'
    const hasPage = channel.report && message.attempts < ATTEMPTS_WITH_PAGE
    const attachment =
      hasPage && message.project !== null ? await attachPage(db, message.project, channel.without) : null
    refused = await (deps.send ?? send)(channel, { id: message.id, content, attachment }, settings, signal)
  } catch (error) {
    if (signal.aborted) throw error
    return recordRefusal(deps, channel, message, error as Error)
  }
  await db.sql`
    update alert_message set state = 'delivered', attempts = attempts + 1, problem = ${refused},
      ended_at = clock_timestamp()
    where id = ${message.id} and state = 'pending'`
  return 'delivered'
}

/**
 * What is not of the receiver is a fault of storerank: it must not keep the channel waiting without a word.
 * Of a receiver that wants no more the message waits until its channel is enabled again; an address that a
 * person has changed since it was read stays.
 */
async function recordRefusal({ db, log }: DeliveryDeps, channel: Channel, { id }: Message, error: Error) {
  const isOurs = !(error instanceof StorerankError)
  const isGone = error instanceof RejectedError
  const problem = isOurs ? `storerank could not write the message: ${error.message}.` : error.message
  const waitMs = error instanceof RateLimitedError ? Math.min(error.retryAfterMs, LONGEST_WISH_MS) : 0
  const [row] = await db.sql<{ isDead: boolean }[]>`
    with disabled as (
      update alert_channel set enabled = false, problem_kind = 'receiver_gone', problem = ${problem}
      where ${isGone} and id = ${channel.id} and enabled and address is not distinct from ${channel.address}
    )
    update alert_message m set attempts = least(m.attempts + 1, 30000), problem = left(${problem}, 1000),
      next_at = clock_timestamp() + case when ${isGone} then interval '0' else
        greatest(make_interval(secs => ${waitMs / 1000}::float8),
          make_interval(mins => least(${LONGEST_PAUSE_MINUTES}, 2 ^ least(m.attempts, 10))::int)) end,
      state = case when d.is_over then 'dead' else 'pending' end,
      ended_at = case when d.is_over then clock_timestamp() end
    from (select not ${isGone} and clock_timestamp() > give_up_at as is_over from alert_message
      where id = ${id}) d
    where m.id = ${id} and m.state = 'pending'
    returning m.state = 'dead' as "isDead"`
  const isDead = row?.isDead ?? false
  const fields = { channel: channel.name, problem, isDead, ...(isOurs ? { err: error } : {}) }
  log.warn(fields, isGone ? 'a channel of alerts was disabled' : 'a message of alerts was not taken')
  return isDead ? 'ended' : 'waits'
}

async function attachPage(db: Database, project: string, without: readonly SectionName[]) {
  const shown = chooseSections(undefined, without)
  return {
    filename: `${project.replace(/[^\p{L}\p{N}_-]+/gu, '-')}.html`,
    content: await makePage(db, { project }, { shown }),
  }
}

/** The oldest message; null when there is none, or its time has not come. */
async function readNext({ sql }: Pick<Database, 'sql'>, channelId: number): Promise<Message | null> {
  const [row] = await sql<(Message & { isDue: boolean })[]>`
    select m.id, p.name as project, m.digest_at as "digestAt", m.created_at as "createdAt", m.attempts,
      m.content, m.next_at <= clock_timestamp() as "isDue"
    from alert_message m left join project p on p.id = m.project_id
    where m.channel_id = ${channelId} and m.state = 'pending'
    order by m.created_at, m.id limit 1`
  return row?.isDue ? row : null
}

/** Writes down what a message says before it is sent first; null when cooldowns hold all of it back. */
async function composeMessage(db: Database, channel: Channel, message: Message): Promise<Content | null> {
  const digest =
    message.digestAt === null || message.project === null
      ? null
      : await makeDigest(db, message.project, SPANS[channel.digest], channel.without)
  return db.begin(async (tx) => {
    const { told, suppressed, endsWithoutStart } = applyCooldowns(await readEvents(tx, message.id))
    for (const [reason, events] of Object.entries({ cooldown: suppressed, beginning: endsWithoutStart })) {
      const ids = events.map(({ id }) => id)
      await tx`update alert_event set held_back = ${reason} where id = any(${ids}::bigint[])`
    }
    if (told.length === 0 && digest === null) {
      await tx`
        update alert_message set state = 'empty', ended_at = clock_timestamp() where id = ${message.id}`
      return null
    }
    const what = digest === null ? '' : `${channel.digest} digest, `
    const content: Content = {
      type: digest === null ? 'alerts.found' : 'alerts.digest',
      at: message.createdAt.toISOString(),
      project: message.project,
      title: `storerank, ${message.project ?? ''}: ${what}${countOf(told.length, 'event')}`,
      summary: digest ?? [],
      ...toLines(told, channel.maxLines),
    }
    // As the next attempt will read it, so that it sends the same bytes.
    const [stored] = await tx<{ content: Content }[]>`
      update alert_message set content = coalesce(content, ${JSON.stringify(content)}::text::jsonb)
      where id = ${message.id} returning content`
    return stored?.content ?? null
  })
}
