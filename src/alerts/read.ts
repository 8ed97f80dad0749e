/** What `storerank alerts` shows: rules with their last event. */
import type { Database } from '../db/database.ts'
import { dayOf } from './content.ts'
import type { EventRow } from './event.ts'

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
