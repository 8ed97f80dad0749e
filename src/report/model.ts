/**
 * What a report says of one project over a range of its own days, as plain data: the answers of the
 * database's functions. The reader fills it; the page, the terminal, the mail and `--json` show it.
 */
import type { ServiceFunction, Store } from '../service/functions.ts'
import type { ByGap, Gap } from '../text/gaps.js'
import type { Point } from './points.js'

/** A day in the time zone of the project: `2026-03-01`. */
export type Day = string

/** One value for each of `Report.days`. */
export type Daily<Value> = readonly Value[]

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

/** How hard a keyword is, and what is to be won: function `opportunity`, over the last week. */
export interface Strength {
  readonly difficulty: number
  readonly opportunity: number
  /** Apps in the first ten that can be overtaken. */
  readonly weak: number
}

/** An app, none of the own ones, that advertised on keywords of the last 30 days. */
export interface Advertiser {
  readonly store: Store
  readonly name: string
  readonly isWatched: boolean
  readonly keywords: number
  readonly days: number
  /** Those that ask for an own app by its name. */
  readonly brands: readonly string[]
  readonly examples: readonly string[]
}

/** Bands of ranks by their last rank. */
export const BANDS = [1, 3, 10, 30, 100] as const

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

interface Bought {
  readonly tasks: number
  readonly spentMicros: number
}

export interface Money {
  /** Charged, duplicate and adjusted, less refunded. */
  readonly spentMicros: Daily<number>
  readonly refundedMicros: number
  readonly duplicateMicros: number
  /** Not charged yet, and counted against the budgets. */
  readonly reservedMicros: number
  readonly functions: readonly (Bought & { readonly function: ServiceFunction })[]
  /** What most was spent on: keywords and charts, the dearest first. */
  readonly dearest: readonly (Bought & Pick<RankedList, 'name' | 'store' | 'place'>)[]
  /** What would have been paid for keywords, charts and pages that other projects follow too. */
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

/** What changed on the page of an app in its store. */
export interface ListingChange {
  readonly day: Day
  readonly app: number
  readonly place: string
  /** title, description, version, price, … */
  readonly field: string
  /** A list as JSON; null for nothing. */
  readonly before: string | null
  readonly after: string | null
}

/** So many notes are read for a report, the latest: a person may keep a diary of every hour. */
export const MOST_ANNOTATIONS = 500

/** A note of the project's own beside the days: a campaign, an outage. */
export interface Annotation {
  readonly day: Day
  /** Null: it is about all of them. */
  readonly app: number | null
  readonly text: string
}

/** So many events of the span are looked into, the latest. */
export const MOST_IMPACTS = 6

/** What changed with a release, a change of the title or a note: function `impact`, of an own app. */
export interface Impact {
  readonly day: Day
  readonly app: number
  /** What happened on the day, in the words of the note or the release. */
  readonly event: string
  /** Keywords with a word that was added to the title or subtitle, or removed; the others; all. */
  readonly lists: 'all' | 'added' | 'removed' | 'others'
  readonly words: readonly string[]
  readonly compared: number
  /** Mean ranks in the days before and from it on; null where it ranked in neither. */
  readonly before: number | null
  readonly after: number | null
  /** Places climbed, and those that competitors climbed on the same keywords. */
  readonly change: number | null
  readonly competitors: number | null
  /** How far it is from where it was, and how far all apps of the same keywords are. */
  readonly moved: number | null
  readonly everybody: number | null
}

/** What the store said of an app in one place. Null where it was not asked, or did not say. */
export interface Ratings {
  readonly app: number
  readonly place: string
  readonly rating: Daily<number | null>
  readonly votes: Daily<number | null>
  readonly reviews: Daily<number | null>
}

export interface ReviewCount {
  readonly app: number
  /** Written within the range, of one to five stars. */
  readonly stars: readonly [number, number, number, number, number]
}

/** Reviews of an app and version that say the same with as many stars. */
export interface Review {
  /** The latest one's, as are author and response. */
  readonly day: Day
  readonly times: number
  readonly app: number
  readonly place: string
  readonly stars: number
  readonly title: string | null
  readonly text: string | null
  readonly author: string | null
  readonly version: string | null
  /** What the developer answered last. */
  readonly response: string | null
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
  /**
   * On how many lists the own apps stand in each of `BANDS`, beyond them (or not in the top), and where they
   * were not measured: function `rank_distribution`. Empty where no own app is ranked.
   */
  readonly distribution: readonly Daily<number>[]
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
