/** What charts are drawn from, and the elements that server and page draw them as. */

/** An element as data: the server makes markup of it, the page's script a node. A string is text. */
export interface Drawn {
  readonly tag: string
  readonly attributes: Readonly<Record<string, string | number>>
  readonly children: readonly (Drawn | string)[]
}

export interface Frame {
  /** What a screen reader says of the chart. */
  readonly label: string
  /** `2026-03-01`, the oldest first. */
  readonly days: readonly string[]
  readonly width: number
  readonly height: number
  /** After the numbers of the axis: `%`; before them: `$`. */
  readonly unit?: string
  readonly marks?: readonly Mark[]
  /** The class of a band behind each day, such as one without a measurement; null where there is none. */
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
