/** What a message says, as data: made at the first attempt, and the same at each one after it. */
import type { Fragment } from 'postgres'
import type { Transaction } from '../db/database.ts'
import type { EventRow, Severity } from './event.ts'
import { dayOf, describeEvent } from './words.ts'

export type { EventRow, Severity } from './event.ts'

/** A line of a message. */
export interface Line {
  readonly event: number
  readonly rule: string
  readonly kind: string
  readonly severity: Severity
  readonly slot: string
  /** The day of the slot, as the project counts days where the event is of a day. */
  readonly day: string
  readonly text: string
  readonly store: string | null
  readonly keyword: string | null
  /** Of a chart. */
  readonly collection: string | null
  readonly category: string | null
  readonly app_id: string | null
  readonly app: string | null
  /** The competitor that overtook it. */
  readonly rival_id: string | null
  readonly rival: string | null
  readonly before: number | null
  readonly after: number | null
  readonly depth: number | null
  readonly depth_before: number | null
  readonly compared_slot: string | null
  readonly location: string | null
  readonly language: string | null
  /** Where a person sees the same at the store. */
  readonly check_url: string | null
  readonly detail: Readonly<Record<string, unknown>>
}

export interface Content {
  readonly type: 'alerts.found' | 'alerts.digest' | 'alerts.test'
  readonly at: string
  readonly project: string | null
  readonly title: string
  /** Of a digest. */
  readonly summary: readonly string[]
  readonly lines: readonly Line[]
  /** Events beyond the lines. */
  readonly rest: number
}

const GRAVITY: Readonly<Record<Severity, number>> = { critical: 0, warning: 1, info: 2 }

/** The events of a message, in the order of their slots. */
export async function readEvents(tx: Transaction, messageId: string): Promise<EventRow[]> {
  return readWhere(tx, tx`h.message_id = ${messageId} and e.held_back is null` as Fragment)
}

/** What the rules of a project found in its last days, but for what is held back though it has a channel; in the order of their slots. */
export async function readLatestEvents(tx: Transaction, project: string, days: number): Promise<EventRow[]> {
  return readWhere(
    tx,
    tx`h.project = ${project} and h.slot > storerank_now() - make_interval(days => ${days}::integer)
      and coalesce(e.held_back, 'channel') = 'channel'` as Fragment,
  )
}

/** Events `e`, with their names `h`. */
async function readWhere(tx: Transaction, condition: Fragment): Promise<EventRow[]> {
  return tx<EventRow[]>`
    select h.event_id as id, h.rule_id as "ruleId", e.subject, h.rule, h.kind, h.severity, h.slot, h.store, h.keyword, h.collection,
      h.category, h.location, h.language, h.app_id as "appId", h.app, h.rival_id as "rivalId", h.rival, h.before, h.after, h.compared_slot as "comparedSlot",
      h.depth, h.depth_before as "depthBefore", h.check_url as "checkUrl", h.detail,
      p.timezone, (extract(epoch from r.cooldown) * 1000)::float8 as "cooldownMs", told.slot as "toldSlot"
    from alert_history h
    join alert_event e on e.id = h.event_id
    join alert_rule r on r.id = h.rule_id
    join project p on p.name = r.project
    left join lateral (
      select max(o.slot) as slot from alert_event o join alert_message m on m.id = o.message_id
      where o.rule_id = e.rule_id and o.subject = e.subject and o.held_back is null and m.state = 'delivered' and o.slot <= e.slot
    ) told on r.cooldown > interval '0' or e.detail ? 'over'
    where ${condition}
    order by h.slot, h.event_id`
}

/**
 * Pure: which events are told, and which are within the cooldown of one that was delivered, or that the same message tells before them. That
 * something is over is told where its beginning was, within the cooldown too.
 * @param events in the order of their slots
 */
export function chooseTold<
  E extends Pick<
    EventRow,
    'ruleId' | 'subject' | 'slot' | 'comparedSlot' | 'detail' | 'cooldownMs' | 'toldSlot'
  >,
>(events: readonly E[]): { readonly told: E[]; readonly cooling: E[]; readonly unbegun: E[] } {
  const last = new Map<string, number>()
  const told: E[] = []
  const cooling: E[] = []
  const unbegun: E[] = []
  for (const event of events) {
    const key = `${event.ruleId} ${event.subject}`
    const before = last.get(key) ?? event.toldSlot?.getTime() ?? Number.NEGATIVE_INFINITY
    if (event.detail.over === true && before !== event.comparedSlot?.getTime()) unbegun.push(event)
    else if (event.detail.over !== true && event.slot.getTime() - before < event.cooldownMs)
      cooling.push(event)
    else {
      told.push(event)
      last.set(key, event.slot.getTime())
    }
  }
  return { told, cooling, unbegun }
}

/** Pure: the gravest first, then the latest; as many lines as the channel wants, and a count of the rest. */
export function toLines(events: readonly EventRow[], maxLines: number): Pick<Content, 'lines' | 'rest'> {
  const sorted = events.toSorted(
    (a, b) => GRAVITY[a.severity] - GRAVITY[b.severity] || b.slot.getTime() - a.slot.getTime() || a.id - b.id,
  )
  return { lines: sorted.slice(0, maxLines).map(toLine), rest: Math.max(0, sorted.length - maxLines) }
}

function toLine(event: EventRow): Line {
  return {
    event: event.id,
    rule: event.rule,
    kind: event.kind,
    severity: event.severity,
    slot: event.slot.toISOString(),
    day: dayOf(event, event.slot),
    text: describeEvent(event),
    store: event.store,
    keyword: event.keyword,
    collection: event.collection,
    category: event.category,
    app_id: event.appId,
    app: event.app,
    rival_id: event.rivalId,
    rival: event.rival,
    before: event.before,
    after: event.after,
    depth: event.depth,
    depth_before: event.depthBefore,
    compared_slot: event.comparedSlot?.toISOString() ?? null,
    location: event.location,
    language: event.language,
    check_url: event.checkUrl,
    detail: event.detail,
  }
}

/** A message on its way. */
export interface Outgoing {
  /** The same at each attempt. */
  readonly id: string
  readonly content: Content
  readonly attachment: { readonly filename: string; readonly content: string } | null
}
