/** What the stores said of the apps of a report, as plain data. */
import type { Daily, Day } from './daily.ts'

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
