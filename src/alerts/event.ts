/** An event as messages tell of it. */
import type { Store } from '../service/functions.ts'

export type Severity = 'info' | 'warning' | 'critical'

/** A row of alert_history. */
export interface EventRow {
  readonly id: number
  readonly ruleId: number
  readonly subject: string
  readonly rule: string
  readonly kind: string
  readonly severity: Severity
  readonly slot: Date
  readonly store: Store | null
  readonly keyword: string | null
  readonly collection: string | null
  readonly category: string | null
  readonly location: string | null
  readonly language: string | null
  readonly appId: string | null
  readonly app: string | null
  readonly rivalId: string | null
  readonly rival: string | null
  readonly before: number | null
  readonly after: number | null
  readonly comparedSlot: Date | null
  readonly depth: number | null
  readonly depthBefore: number | null
  readonly checkUrl: string | null
  readonly detail: Readonly<Record<string, unknown>>
  /** Of the project. */
  readonly timezone: string
  readonly cooldownMs: number
  /** The slot of the last event of the same rule and subject that was delivered before it. */
  readonly toldSlot: Date | null
}
