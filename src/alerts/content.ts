/** What a message says, as data: made at the first attempt, and the same at each one after it. */
import type { Database } from '../db/database.ts'
import { nameInLine } from '../text/names.ts'
import { STORE_NAMES } from '../text/words.ts'
import type { EventFacts, EventRow, Severity } from './event.ts'
import { findKind } from './kinds/kinds.ts'

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
export function applyCooldowns(events: readonly EventRow[]) {
  const last = new Map<string, number>()
  const told: EventRow[] = []
  const suppressed: EventRow[] = []
  const endsWithoutStart: EventRow[] = []
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

/** The gravest first, then what weighs most, then the latest; and a count of what is in no line. */
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
    if (first === undefined || same.length === 1) return same.map((event) => [event, 1])
    const names = [...new Set(same.map(({ keyword, collection }) => keyword ?? collection ?? ''))]
    const detail = { ...first.detail, lists: same.length, examples: names.toSorted().slice(0, EXAMPLES) }
    const nothing = { store: null, keyword: null, collection: null, category: null, check_url: null }
    return [[{ ...first, ...nothing, location: null, language: null, detail }, same.length]]
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

/** `yoga (iOS US, en): Ashlune fell from 3 to 22 (of 100), compared with 2026-03-03.` */
export function describeEvent(event: EventRow): string {
  const { app, compared_slot: comparedSlot, kind, rival } = event
  const told = {
    ...event,
    app: app === null ? 'The app' : nameInLine(app),
    rival: rival === null ? '' : nameInLine(rival),
    comparedWith: comparedSlot === null ? '' : `, compared with ${dayOf(event, comparedSlot)}`,
  }
  const text = findKind(kind)?.sentence(told) ?? kind
  const where = describePlace(event)
  const line = where === '' ? beginSentence(text, told) : `${where}: ${text}`
  return line.replace(/\s+/g, ' ').replace(/\.$/, `${describeLatest(event)}.`)
}

/** A name that it begins with stays as it is written. */
function beginSentence(text: string, { app, rival, kind }: EventRow): string {
  const isName = [app, rival, kind].some((name) => name && text.startsWith(name))
  return isName ? text : text.charAt(0).toUpperCase() + text.slice(1)
}

/** ` (today 52)`: where it stands by now, if that is not what the event says. */
function describeLatest({ latest, after }: EventRow): string {
  if (!latest || latest.rank === after) return ''
  return ` (today ${latest.rank ?? `> ${latest.depth}`})`
}

/** The list, or the app of a page, with the place; of a day only the store. */
function describePlace({ app, keyword, kind, store, ...of }: EventRow): string {
  const name = [store === null ? null : STORE_NAMES[store], of.place].filter(Boolean).join(' ')
  const place = [name, of.language].filter(Boolean).join(', ')
  const list = keyword ?? (of.collection && [of.collection, of.category].filter(Boolean).join(', '))
  if (list) return `${nameInLine(list)} (${place})`
  if (findKind(kind)?.isOfDay) return place
  return app === null || place === '' ? '' : `${nameInLine(app)} (${place})`
}

/** The day of an instant: in the project's time zone where the event is of its day or budget, else in UTC. */
export function dayOf(
  { kind, detail, timezone }: Pick<EventRow, 'kind' | 'detail' | 'timezone'>,
  at: Date,
): string {
  const isOfProject = findKind(kind)?.isOfDay || String(detail.budget ?? '').endsWith(' of the project')
  return formatDayIn(at, isOfProject ? timezone : 'UTC')
}

/** Postgres knows names, such as `Factory` and `localtime`, that Node does not: then by UTC. */
function formatDayIn(at: Date, timeZone: string): string {
  try {
    return at.toLocaleDateString('sv-SE', { timeZone })
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return at.toLocaleDateString('sv-SE', { timeZone: 'UTC' })
  }
}

export interface RuleRow {
  readonly project: string
  readonly rule: string
  readonly kind: string
  readonly severity: string
  readonly channel: string | null
  readonly enabled: boolean
  readonly events: number
  readonly last: Date | null
  /** Of the last event, as the project counts days where it is of a day. */
  readonly day: string | null
  readonly state: string | null
}

/** What `storerank alerts` shows: rules with their last event. */
export async function readRules({ sql }: Pick<Database, 'sql'>): Promise<RuleRow[]> {
  const rows = await sql<(Omit<RuleRow, 'day'> & Pick<EventRow, 'detail' | 'timezone'>)[]>`
    select r.project, p.timezone, r.name as rule, r.kind, r.severity, r.channel, r.enabled,
      coalesce(n.events, 0) as events, last.slot as last, last.state, coalesce(last.detail, '{}') as detail
    from alert_rule r
    join project p on p.name = r.project
    left join (select rule_id, count(*) as events from alert_event group by rule_id) n on n.rule_id = r.id
    left join lateral (
      select h.slot, h.state, h.detail from alert_history h where h.rule_id = r.id
      order by h.slot desc, h.event_id desc limit 1
    ) last on true
    order by r.project, r.name`
  return rows.map(({ timezone, detail, ...row }) => ({
    ...row,
    day: row.last === null ? null : dayOf({ kind: row.kind, detail, timezone }, row.last),
  }))
}
