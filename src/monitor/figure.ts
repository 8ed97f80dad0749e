/**
 * What an operator watches is declared once: a source is what is read, with the metrics that show it, and
 * with what is wrong about it. The metrics, `status` and `status --check` follow from that.
 */
import type { Database } from '../db/database.ts'
import type { OverallBudget } from '../plan/admission.ts'
import type { OpenWork } from '../report/status.ts'

/** What the figures are held against. */
export interface MonitorSettings {
  readonly budget: OverallBudget
  readonly callsPerMinute: number
  /** Of one run: without the figures of its process, which node_exporter has of itself. */
  readonly isOneRun?: boolean
}

/** The rows of the view `open_work`, which has all of these. */
export type Open = Readonly<
  Record<
    | 'unplanned'
    | 'planned'
    | 'posting'
    | 'posted'
    | 'budget_cut'
    | 'overdue'
    | 'unknown_post'
    | 'held_post'
    | 'refused_task'
    | 'restored'
    | 'no_run'
    | 'no_room'
    | 'read_only'
    | 'clock',
    OpenWork
  >
>

export interface Sample {
  readonly value: number
  readonly labels?: Readonly<Record<string, string>>
}

/** A metric. Prometheus sets the labels `job` and `instance` by itself: none of ours is called so. */
export interface Figure<Read> {
  readonly help: string
  readonly labels?: readonly string[]
  /** A number without labels; null: it is not known. */
  value(read: Read, at: Date): number | null | readonly Sample[]
}

type Complaint<Read> = {
  /** @param isHeld an outage or a restore holds posting back, which is a trouble of its own */
  says(read: Read, isHeld: boolean, at: Date): string | readonly string[] | null
}['says']

export interface Source<Read> {
  read(look: {
    readonly db: Database
    readonly settings: MonitorSettings
    readonly open: Open
  }): Read | Promise<Read>
  /** By name. */
  readonly figures?: Readonly<Record<string, Figure<Read>>>
  /**
   * By kind, the most urgent first: a sentence that says what to do, or several; null where nothing is wrong.
   * Kinds are stable: monitoring may match them.
   */
  readonly troubles?: Readonly<Record<string, Complaint<Read>>>
}

/** Declares a source. */
export function source<Read>(declared: Source<Read>): Source<Read> {
  return declared
}

/** Seconds since an instant; null without one. */
export function ageS(instant: Date | null, now: Date): number | null {
  return instant === null ? null : Math.max(0, (now.getTime() - instant.getTime()) / 1000)
}
