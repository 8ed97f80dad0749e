/** What a message says, as data: made at the first attempt, and the same at each one after it. */
import { dayOf, describeEvent } from './describe.ts'
import type { EventRow, Severity } from './event.ts'

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

/** A message on its way. */
export interface Outgoing {
  /** The same at each attempt. */
  readonly id: string
  readonly content: Content
  readonly attachment: { readonly filename: string; readonly content: string } | null
}

const GRAVITY: Readonly<Record<Severity, number>> = { critical: 0, warning: 1, info: 2 }

/**
 * Pure: which events are told, and which are within the cooldown of one that was delivered, or that the same
 * message tells before them. That something is over is told where its beginning was, within the cooldown too.
 * @param events in the order of their slots
 */
export function applyCooldowns<
  E extends Pick<
    EventRow,
    'ruleId' | 'subject' | 'slot' | 'comparedSlot' | 'detail' | 'cooldownMs' | 'toldSlot'
  >,
>(events: readonly E[]): { readonly told: E[]; readonly suppressed: E[]; readonly endsWithoutStart: E[] } {
  const last = new Map<string, number>()
  const told: E[] = []
  const suppressed: E[] = []
  const endsWithoutStart: E[] = []
  for (const event of events) {
    const key = `${event.ruleId} ${event.subject}`
    const before = last.get(key) ?? event.toldSlot?.getTime() ?? Number.NEGATIVE_INFINITY
    if (event.detail.over === true && before !== event.comparedSlot?.getTime()) endsWithoutStart.push(event)
    else if (event.detail.over !== true && event.slot.getTime() - before < event.cooldownMs)
      suppressed.push(event)
    else {
      told.push(event)
      last.set(key, event.slot.getTime())
    }
  }
  return { told, suppressed, endsWithoutStart }
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
