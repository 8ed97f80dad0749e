/**
 * What a report says of one project over a range of its own days, as plain data: the answers of the
 * database's functions. The reader fills it; the page, the terminal, the mail and `--json` show it.
 */
import type { ServiceFunction, Store } from '../service/functions.ts'
import type { ByGap, Gap } from '../text/gaps.js'
import type { Daily, Day } from './daily.ts'
import type { Annotation, Impact, ListingChange, Ratings, Review, ReviewCount } from './model-store.ts'
import type { Point } from './points.js'
import type { Advertiser, Strength } from './strength.ts'

export type { Daily, Day }

export interface ReportedApp {
  readonly store: Store
  readonly appId: string
  /** Its label, else its title, else its id. */
  readonly name: string
  readonly role: 'own' | 'competitor'
}

/** A keyword or a chart in its place. */
export interface RankedList {
  readonly store: Store
  readonly kind: 'keyword' | 'chart'
  /** The keyword; of a chart its collection and category. */
  readonly name: string
  /** Country code, or the name of a smaller location. */
  readonly place: string
  readonly language: string
  readonly tags: readonly string[]
  /** What it is worth beside the others. */
  readonly weight: number
}

/** One app on one list. */
export interface RankSeries {
  /** Index in `Report.lists`. */
  readonly list: number
  /** Index in `Report.apps`, of the same store as the list. */
  readonly app: number
  readonly points: Daily<Point>
  /** The best rank of these days; null when there is none. */
  readonly best: number | null
}

/**
 * How an app stands by day on all keywords of its store: function `standings`. Null on a day of which less
 * than four fifths were measured.
 */
export interface Standing {
  readonly store: Store
  /** Null: everybody that the project does not watch. */
  readonly app: number | null
  /** By what each keyword weighs: 100 is first on each of them. Of everybody else there is none. */
  readonly visibility: Daily<number | null>
  /** Of the places of all apps; those of a store add up to 100. */
  readonly share: Daily<number | null>
  /** Of the keywords due; null on days when none was. */
  readonly measuredPercent: Daily<number | null>
  /** How many keywords were measured, and in how many of these it is in the first `TOP` places. */
  readonly measured: Daily<number>
  readonly inTop: Daily<number>
}

/** Days back from the last one, to the day that it is compared with. */
export type Span = number
/** Those of a page. */
export const SPANS: readonly Span[] = [1, 7, 30]

/** The last day beside an earlier one. */
export interface Comparison {
  readonly span: Span
  /** Own apps on all lists of the last day, those that moved furthest first: function `movers`. */
  readonly moves: readonly Move[]
  /** Those of `moves` that crossed, the best rank first: function `entered_left_top`. */
  readonly entered: readonly Move[]
  readonly left: readonly Move[]
  /** Like for like, over the keywords measured on both days: function `visibility_change`. */
  readonly changes: readonly StandingChange[]
}

/** Of which places it is worth a sentence that an app came or went. */
export const TOP = 10

/** `entered` and `left` are about the depth that was looked at. */
export type Movement = 'up' | 'down' | 'same' | 'entered' | 'left' | 'not_in_top'

export interface Move {
  /** Indexes in `Report.lists` and `Report.apps`. */
  readonly list: number
  readonly app: number
  readonly before: Point
  readonly after: Point
  /** Null where the two days cannot be compared. */
  readonly movement: Movement | null
  /** Places climbed, negative when it fell; at least so many where one day did not find it. */
  readonly change: number | null
  /** Whether it came into the first `TOP` places or left them, and who left or came instead. */
  readonly crossed: 'entered' | 'left' | null
  readonly instead: readonly string[]
}

export interface StandingChange {
  readonly app: number
  /** Keywords that both days have measured, and those that were due on both. */
  readonly compared: number
  readonly due: number
  /** Null where none of them weighs anything. */
  readonly visibility: Difference | null
  readonly share: Difference | null
  readonly top: Difference | null
}

/** What made a difference, its parts in points: they add up to it, with `rest`. */
export interface Difference {
  readonly before: number
  readonly after: number
  readonly change: number
  /** Only of own apps, the greatest first. */
  readonly parts: readonly { readonly list: number; readonly points: number }[]
}

/** An own app and a competitor of its store. */
export interface Duel {
  /** Indexes in `Report.apps`. */
  readonly own: number
  readonly rival: number
  /** Keywords and charts of the last week on which each was ahead when they were last measured. */
  readonly ahead: number
  readonly behind: number
  /** Where the one that is ahead now was behind at first, the latest first. */
  readonly won: readonly Overtaking[]
  readonly lost: readonly Overtaking[]
}

/** How many days back it is looked for who came past whom. */
export const OVERTAKING_DAYS = 30

/** The last time that one came past the other: function `overtakes`. */
export interface Overtaking {
  readonly list: number
  readonly day: Day
  /** Ranks on the day before it that was measured, and on the day; null: not in the top. */
  readonly own: readonly [number | null, number | null]
  readonly rival: readonly [number | null, number | null]
}

/** An app among the first `TOP` of a list on the last day. */
export interface Holder {
  readonly rank: number
  readonly name: string
  /** Index in `Report.apps`; null: the project does not follow it. */
  readonly app: number | null
  /** Its rank the day before; 0: not among those looked at, null: that day was not measured. */
  readonly before: number | null
  /** How many rated it; null: unknown. */
  readonly votes: number | null
}

/** An app that the project does not follow, and that is in the first `TOP` of its keywords. */
export interface Unwatched {
  readonly store: Store
  readonly name: string
  /** On how many keywords on the last day, of how many measured; and a week before. */
  readonly keywords: number
  readonly measured: number
  readonly before: number
  readonly best: number
  readonly average: number
  /** Keywords on which it stands best. */
  readonly examples: readonly string[]
}

/** An own app on the keywords of a country, or with a tag, on the last day. */
export interface Segment {
  readonly kind: 'country' | 'tag'
  readonly name: string
  readonly app: number
  /** Null where less than four fifths were measured. */
  readonly visibility: number | null
  readonly inTop: number | null
  readonly measured: number
  readonly due: number
  /** In a week, in points, like for like; null where nothing can be compared. */
  readonly change: number | null
  readonly compared: number | null
  /** Where it is ranked. */
  readonly average: number | null
  /** The competitor that gained most visibility there in 30 days, or in all that there are. */
  readonly rival: { readonly name: string; readonly change: number } | null
}

/** An own product that is in both stores, on one keyword on the last day: function `product_ranks`. */
export interface ProductRank {
  readonly product: string
  readonly keyword: string
  readonly place: string
  /** Null: measured, and not in the top. */
  readonly ios: number | null
  readonly android: number | null
}

/** Bands of ranks by their last rank. */
export const BANDS = [1, 3, 10, 30, 100] as const
export const BEYOND = 'beyond'
export const NOT_MEASURED = 'not measured'

/**
 * On how many lists the own apps stand in each of `BANDS`, `BEYOND` them (or not in the top), and
 * `NOT_MEASURED`: function `rank_distribution`. Empty where no own app is ranked.
 */
export type Distribution = readonly Daily<number>[]

/** Slots of all functions by what became of them. */
export interface Coverage {
  readonly measured: Daily<number>
  readonly gaps: ByGap<Daily<number>>
  /** The same gaps by reason, those of the last day first, then the most frequent. */
  readonly reasons: readonly GapReason[]
}

export interface GapReason {
  readonly day: Day
  readonly gap: Gap
  readonly reason: string | null
  readonly slots: number
  /** A few of the keywords, charts and apps that it is about. */
  readonly examples: readonly string[]
}

export interface Money {
  /** Charged, duplicate and adjusted, less refunded. */
  readonly spentMicros: Daily<number>
  readonly refundedMicros: number
  readonly duplicateMicros: number
  /** Not charged yet, and counted against the budgets. */
  readonly reservedMicros: number
  readonly functions: readonly {
    readonly function: ServiceFunction
    readonly tasks: number
    readonly spentMicros: number
  }[]
  /** What most was spent on: keywords and charts, the dearest first. */
  readonly dearest: readonly {
    readonly name: string
    readonly store: Store
    readonly place: string
    readonly tasks: number
    readonly spentMicros: number
  }[]
  /**
   * What keywords, charts and pages would have cost that other projects follow too, less this project's
   * share.
   */
  readonly savedMicros: number
  /** What 30 days of the watchlist cost at another interval, at most; `every` null is as it is now. */
  readonly outlook: readonly { readonly every: string | null; readonly monthlyMicros: number }[]
  /** The project's own, on the last day and in its month; used includes what is reserved. */
  readonly budgets: readonly {
    readonly period: 'day' | 'month'
    readonly limitMicros: number
    readonly usedMicros: number
  }[]
}

export interface Report {
  readonly project: string
  readonly timezone: string
  /** Keywords and charts with this tag alone; null: all of them. */
  readonly tag: string | null
  /** Keywords and charts of this location alone; null: all of them. */
  readonly location: string | null
  /** ISO 8601, in UTC. */
  readonly writtenAt: string
  /** Every day of the range, the oldest first; at least one. */
  readonly days: readonly Day[]
  /** Own apps first. */
  readonly apps: readonly ReportedApp[]
  readonly lists: readonly RankedList[]
  /** By list, then by app. */
  readonly series: readonly RankSeries[]
  /** By store, everybody else last. */
  readonly standings: readonly Standing[]
  /** By span. */
  readonly comparisons: readonly Comparison[]
  readonly distribution: Distribution
  readonly duels: readonly Duel[]
  /** Of each of `lists`; empty where it was not measured on the last day. */
  readonly holders: readonly (readonly Holder[])[]
  /** Of each of `lists`; null of charts, and where the last week was not measured. */
  readonly strengths: readonly (Strength | null)[]
  /** Of each of `lists`: the apps that advertise on it on the last day, from top to bottom. */
  readonly paid: readonly (readonly string[])[]
  /** On own brands first, then those on most keywords. */
  readonly advertisers: readonly Advertiser[]
  readonly unwatched: readonly Unwatched[]
  readonly segments: readonly Segment[]
  /** Where the two stores are furthest apart is first. */
  readonly products: readonly ProductRank[]
  readonly changes: readonly ListingChange[]
  readonly annotations: readonly Annotation[]
  readonly impacts: readonly Impact[]
  readonly ratings: readonly Ratings[]
  readonly reviewCounts: readonly ReviewCount[]
  /** Of one and two stars, the latest first. */
  readonly lowReviews: readonly Review[]
  readonly coverage: Coverage
  readonly money: Money
}
