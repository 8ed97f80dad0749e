/** What a message says, as data: made at the first attempt, and the same at each one after it. */
import { dayOf, describeEvent } from './describe.ts'
import type { EventFacts, EventRow, Severity } from './event.ts'

/** A line of a message. */
export interface Line extends EventFacts {
  readonly event: number
  readonly slot: string
  /** The day of the slot, as the project counts days where the event is of a day. */
  readonly day: string
  readonly text: string
  readonly compared_slot: string | null
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

/** Keywords that are named of those that an outage concerns. */
const EXAMPLES = 3
const GRAVITY: Readonly<Record<Severity, number>> = { critical: 0, warning: 1, info: 2 }

/**
 * Pure: which events are told, and which are within the cooldown of one that was delivered, or that the same
 * message tells before them. That something is over is told where its beginning was, within the cooldown too.
 * @param events in the order of their slots
 */
export function applyCooldowns<
  E extends Pick<
    EventRow,
    'rule_id' | 'subject' | 'slot' | 'compared_slot' | 'detail' | 'cooldown_ms' | 'told_slot'
  >,
>(events: readonly E[]): { readonly told: E[]; readonly suppressed: E[]; readonly endsWithoutStart: E[] } {
  const last = new Map<string, number>()
  const told: E[] = []
  const suppressed: E[] = []
  const endsWithoutStart: E[] = []
  for (const event of events) {
    const key = `${event.rule_id} ${event.subject}`
    const before = last.get(key) ?? event.told_slot?.getTime() ?? Number.NEGATIVE_INFINITY
    if (event.detail.over === true && before !== event.compared_slot?.getTime()) endsWithoutStart.push(event)
    else if (event.detail.over !== true && event.slot.getTime() - before < event.cooldown_ms)
      suppressed.push(event)
    else {
      told.push(event)
      last.set(key, event.slot.getTime())
    }
  }
  return { told, suppressed, endsWithoutStart }
}

/**
 * Pure: the gravest first, of these what is about the keywords that weigh most, then the latest; as many
 * lines as the channel wants, and a count of the events that are in none.
 */
export function toLines(events: readonly EventRow[], maxLines: number): Pick<Content, 'lines' | 'rest'> {
  const sorted = joinOutages(events).toSorted(
    ([a], [b]) =>
      GRAVITY[a.severity] - GRAVITY[b.severity] ||
      b.weight - a.weight ||
      b.slot.getTime() - a.slot.getTime() ||
      a.id - b.id,
  )
  const rest = sorted.slice(maxLines).reduce((sum, [, count]) => sum + count, 0)
  return { lines: sorted.slice(0, maxLines).map(([event]) => toLine(event)), rest }
}

/** What one outage kept from being measured is one line, however many keywords it is; with its events. */
function joinOutages(events: readonly EventRow[]): [EventRow, number][] {
  const alike = Map.groupBy(events, ({ id, kind, rule_id, slot, detail }) =>
    kind === 'not_measured' ? [rule_id, slot.getTime(), detail.gap, detail.reason].join(' ') : String(id),
  )
  return [...alike.values()].flatMap((same): [EventRow, number][] => {
    const [first] = same
    if (first === undefined) return []
    if (same.length === 1) return [[first, 1]]
    const names = [...new Set(same.map(({ keyword, collection }) => keyword ?? collection ?? ''))]
    const lists = { lists: same.length, examples: names.toSorted().slice(0, EXAMPLES) }
    const nothing = { store: null, keyword: null, collection: null, category: null, check_url: null }
    return [
      [
        { ...first, ...nothing, location: null, language: null, detail: { ...first.detail, ...lists } },
        same.length,
      ],
    ]
  })
}

function toLine(row: EventRow): Line {
  const { id, rule_id, subject, timezone, cooldown_ms, told_slot, weight, latest, ...event } = row
  return {
    event: id,
    ...event,
    slot: row.slot.toISOString(),
    day: dayOf(row, row.slot),
    text: describeEvent(row),
    compared_slot: row.compared_slot?.toISOString() ?? null,
  }
}
