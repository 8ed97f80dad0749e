/** What happens to apps on a day, beyond the drift of the stores: launches, releases, climbs and falls. */

import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { tokenize } from './keyword.ts'
import { STORES, type Store } from './offers.ts'
import { dayOf } from './timestamp.ts'

const Text = z.string().min(1).max(4000).optional()

/** One event of one app. It holds from its day on. */
export const StoreEvent = z.strictObject({
  /** A UTC day: `2026-09-12`. */
  day: z.iso.date(),
  store: z.enum(STORES),
  /** `*` where it is an event of the whole store. */
  appId: z.string().min(1),
  /** The store ranks by other rules: so much of what it goes by is drawn anew, for all but flagship apps. */
  shuffle: z.number().min(0).max(2).default(0),
  /** Before this day nothing finds the app. */
  launch: z.literal(true).optional(),
  title: Text,
  /** Only where pages have one: as the service is sold, those of the ios_store. */
  subtitle: Text,
  version: Text,
  updateNotes: Text,
  description: Text,
  /** So many places further down in searches, or up where it is negative. */
  places: z.int().default(0),
  /** Only in searches with one of these words. */
  words: z.array(z.string().min(1)).min(1).optional(),
  /** The places are taken in equal parts over so many days. */
  overDays: z.int().positive().default(1),
  /** It advertises in searches with one of these words, above all results. */
  paid: z.literal(true).optional(),
  /** So many stars more or less in the reviews that are written from then on. The rating follows slowly. */
  stars: z.number().min(-4).max(4).default(0),
})

export type StoreEvent = z.output<typeof StoreEvent>
export type StoreEventInput = z.input<typeof StoreEvent>

/** What happens to one app, the earliest first. `day` counts UTC days since 1970. */
export type AppEvents = readonly (Omit<StoreEvent, 'day'> & { day: number })[]
export const WHOLE_STORE = '*'

/** The rating moves by this part of an event's stars with every day. */
const RATING_SHARE_A_DAY = 0.01
const RATING_SHARE_AT_MOST = 0.3

/** Reads a file of events: JSON, an array. Throws a ZodError or SyntaxError on anything else. */
export const readEvents = (file: string): StoreEvent[] =>
  z.array(StoreEvent).parse(JSON.parse(readFileSync(file, 'utf8')))

/** The events of one store by app. */
export const eventsByApp = (events: readonly StoreEvent[], store: Store): Map<string, AppEvents> =>
  Map.groupBy(
    events
      .filter((event) => event.store === store)
      .map((event) => ({ ...event, day: dayOf(Date.parse(event.day)) }))
      .toSorted((left, right) => left.day - right.day),
    ({ appId }) => appId,
  )

/** Whether the app is in the store on a day. */
export const isInStore = (events: AppEvents, day: number): boolean =>
  events.every((event) => event.launch === undefined || event.day <= day)

/** What its page says on a day; undefined where no event has changed it. */
export const changedText = (
  events: AppEvents,
  day: number,
  text: 'title' | 'subtitle' | 'version' | 'updateNotes' | 'description',
): string | undefined => events.findLast((event) => event.day <= day && event[text] !== undefined)?.[text]

/** The day of the last release by then; undefined without one. */
export const lastReleaseDay = (events: AppEvents, day: number): number | undefined =>
  events.findLast((event) => event.day <= day && event.version !== undefined)?.day

/** Adds up what each event has done by a day. */
export const sumOf = (events: AppEvents, day: number, doneBy: (event: AppEvents[number]) => number): number =>
  events.reduce((sum, event) => sum + (event.day <= day ? doneBy(event) : 0), 0)

const concerns = ({ words }: AppEvents[number], searched: readonly string[]): boolean =>
  words === undefined || tokenize(words.join(' ')).some((word) => searched.includes(word))

/** By how many places events move the app in a search for these words. */
export const placesMoved = (events: AppEvents, day: number, words: readonly string[]): number =>
  sumOf(events, day, (event) => {
    const share = Math.min(1, (day - event.day + 1) / event.overDays)
    return concerns(event, words) ? Math.round(event.places * share) : 0
  })

/** Whether the app advertises on a day in a search for these words. */
export const isAdvertised = (events: AppEvents, day: number, words: readonly string[]): boolean =>
  events.some((event) => event.paid === true && event.day <= day && concerns(event, words))

/** By how much the rating has moved. */
export const ratingMoved = (events: AppEvents, day: number): number =>
  sumOf(
    events,
    day,
    (event) => event.stars * Math.min(RATING_SHARE_AT_MOST, RATING_SHARE_A_DAY * (day - event.day)),
  )
