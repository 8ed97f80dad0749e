/** Events with the names that they are told by. */
import type { Transaction } from '../db/database.ts'
import { type Statement, sql } from '../db/sql.ts'
import type { Store } from '../service/functions.ts'

export type Severity = 'info' | 'warning' | 'critical'

/** What messages say of an event, by the names of alert_history. */
export interface EventFacts {
  readonly rule: string
  readonly kind: string
  readonly severity: Severity
  readonly store: Store | null
  readonly keyword: string | null
  /** Of a chart. */
  readonly collection: string | null
  readonly category: string | null
  readonly location: string | null
  readonly language: string | null
  readonly app_id: string | null
  readonly app: string | null
  /** The competitor that overtook it. */
  readonly rival_id: string | null
  readonly rival: string | null
  readonly before: number | null
  readonly after: number | null
  readonly depth: number | null
  readonly depth_before: number | null
  /** Where a person sees the same at the store. */
  readonly check_url: string | null
  readonly detail: Readonly<Record<string, unknown>>
}

/** An event as it is read. */
export interface EventRow extends EventFacts {
  readonly id: number
  readonly rule_id: number
  readonly subject: string
  readonly slot: Date
  readonly compared_slot: Date | null
  /** Of the project. */
  readonly timezone: string
  /** Of the keyword; 1 where it is about none. */
  readonly weight: number
  /** Code of the country, or the name of a smaller location. */
  readonly place: string | null
  /** The rank at the latest measurement after the slot, and to which depth; null where there is none. */
  readonly latest: { readonly rank: number | null; readonly depth: number } | null
  readonly cooldown_ms: number
  /** The slot of the last event of the same rule and subject that was delivered before it. */
  readonly told_slot: Date | null
}

/** As the sentence of its kind tells it: names in a line, and what it is compared with. */
export interface ToldEvent extends EventRow {
  readonly app: string
  readonly rival: string
  /** `, compared with 2026-03-08`; empty where nothing is. */
  readonly comparedWith: string
}

/** The events of a message, in the order of their slots. */
export function readEvents(tx: Transaction, messageId: string): Promise<EventRow[]> {
  return readNamed(tx, sql`select id from alert_event where message_id = ${messageId} and held_back is null`)
}

/** What rules found in the last days, but for what is held back though it has a channel; by slot. */
export function readLatestEvents(tx: Transaction, project: string, days: number): Promise<EventRow[]> {
  return readNamed(
    tx,
    sql`
      select e.id from alert_event e join alert_rule r on r.id = e.rule_id
      where r.project = ${project} and e.slot > storerank_now() - make_interval(days => ${days}::integer)
        and coalesce(e.held_back, 'channel') = 'channel'`,
  )
}

async function readNamed(tx: Transaction, ids: Statement): Promise<EventRow[]> {
  return tx<EventRow[]>`
    select h.rule, h.kind, h.severity, h.store, h.keyword, h.collection, h.category, h.location, h.language,
      h.app_id, h.app, h.rival_id, h.rival, h.before, h.after, h.depth, h.depth_before, h.check_url, h.detail,
      e.id, e.rule_id, e.subject, h.slot, h.compared_slot, p.timezone,
      (extract(epoch from r.cooldown) * 1000)::float8 as cooldown_ms, told.slot as told_slot,
      coalesce(watch.weight, 1) as weight, latest.point as latest,
      case l.type when 'Country' then l.country_iso_code else h.location end as place
    from alert_history h
    join alert_event e on e.id = h.event_id
    left join target t on t.id = e.target_id
    left join location l on l.store = t.store and l.code = t.location_code
    join alert_rule r on r.id = h.rule_id
    join project p on p.name = r.project
    left join lateral (
      select max(o.slot) as slot from alert_event o join alert_message m on m.id = o.message_id
      where o.rule_id = e.rule_id and o.subject = e.subject and o.held_back is null
        and m.state = 'delivered' and o.slot <= e.slot
    ) told on r.cooldown > interval '0' or e.detail ? 'over'
    left join lateral (
      select max(coalesce(k.weight, k.volume, 1)) as weight from watch_period w
        join keyword_watch k on k.id = w.watch_id
      where w.kind = 'keyword' and w.project = r.project and w.target_id = e.target_id
    ) watch on true
    left join lateral (
      select jsonb_build_object('rank', array_position(m.app_ids, e.app), 'depth', m.depth) as point
      from ranking_row m
      where m.target_id = e.target_id and m.slot > e.slot and m.gap is null and e.app is not null
      order by m.slot desc limit 1
    ) latest on true
    where h.event_id = any(array(${ids}))
    order by h.slot, h.event_id`
}
