/** What charts are drawn from, and with; chart.js draws them, on the server and in the page alike. */
import type { nice, ticks } from 'd3-array'
import type { line } from 'd3-shape'

export type Attributes = Readonly<Record<string, string | number>>

/** Makes nodes of its own kind: markup on the server, elements in the page. */
export interface Pen<Drawn> {
  readonly line: typeof line
  readonly ticks: typeof ticks
  readonly nice: typeof nice
  element(tag: string, attributes: Attributes, children?: readonly (Drawn | string)[]): Drawn
}

export interface Frame {
  /** What a screen reader says of the chart. */
  readonly label: string
  /** `2026-03-01`, the oldest first. */
  readonly days: readonly string[]
  readonly width: number
  readonly height: number
  /** After the numbers of the axis: `%`, or nothing. */
  readonly unit?: string
  readonly marks?: readonly Mark[]
  /**
   * The class of a band behind each day, null where there is none: days without a measurement, or with few.
   */
  readonly bands?: readonly (string | null)[]
}

/** A release or a note beside the days. */
export interface Mark {
  /** Index in `Frame.days`. */
  readonly day: number
  readonly text: string
  readonly className: string
  /** Index of the app that it is about; null: all of them. */
  readonly app: number | null
}

/** A line, or a layer of a stack; null is a gap. */
export interface ValueLine {
  readonly className: string
  readonly values: readonly (number | null)[]
}

export interface RankLine extends ValueLine {
  /** Measured on the day, and not within depth. */
  readonly absent: readonly boolean[]
}
