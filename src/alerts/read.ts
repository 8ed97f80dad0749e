/** What `storerank alerts` shows: rules with their last event. */
import type { Database } from '../db/database.ts'

export interface RuleRow {
  readonly project: string
  readonly rule: string
  readonly kind: string
  readonly severity: string
  readonly channel: string | null
  readonly enabled: boolean
  readonly events: number
  readonly last: Date | null
  readonly state: string | null
}

export async function readRules({ sql }: Pick<Database, 'sql'>): Promise<RuleRow[]> {
  return sql<RuleRow[]>`
    select r.project, r.name as rule, r.kind, r.severity, r.channel, r.enabled, coalesce(n.events, 0) as events, last.slot as last,
      last.state
    from alert_rule r
    left join (select rule_id, count(*) as events from alert_event group by rule_id) n on n.rule_id = r.id
    left join lateral (
      select h.slot, h.state from alert_history h where h.rule_id = r.id order by h.slot desc, h.event_id desc limit 1
    ) last on true
    order by r.project, r.name`
}
