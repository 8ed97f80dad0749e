/**
 * The reviews of an app, newest first: each has a number, and with it a moment, an id and a text that never
 * change, so that a later look finds the same reviews and the new ones in front.
 */

import type { App } from './catalogue.ts'
import { starsMoved } from './events.ts'
import { fraction, mix, pick } from './hash.ts'
import { releaseDay, versionOn } from './listing.ts'
import { DAY_MS, dayOf, formatTimestamp } from './timestamp.ts'
import { NAME_ENDS, NAME_STARTS } from './words.ts'

/** Titles and texts by how content the writer is; `{topic}` is what the app is about. */
const OPINIONS: readonly (readonly [title: string, text: string])[][] = [
  [
    ['Does not open any more', 'Since the last update it shuts itself after two seconds. I paid for this!'],
    ['Disappointed', 'Every button leads to an advertisement. There must be better {topic} apps.'],
    ['Lost everything', 'New phone, and three years of {topic} are gone. Support "will look into it".'],
  ],
  [
    ['It is okay', 'Does what it says about {topic}, and not a bit more. The menus are slow.'],
    ['Good, but…', 'I like it & use it, yet please bring back the old home screen.'],
    ['Could be more', 'Nice start for {topic}. Missing: widgets, dark mode, an export.'],
  ],
  [
    ['Love it ❤️', 'The best app for {topic} that I have found. Worth every cent.'],
    ['Every day', 'I have used it each morning for a year. Thank you to the whole team!'],
    ['とても便利', '毎日使っています。{topic} に最適です。'],
  ],
]

/** Reviews that an app gets in a day: the more votes, the more. */
const reviewsPerDay = (app: App): number => 0.02 + app.votes / 50_000

const momentOf = (app: App, number: number): number =>
  Math.round((releaseDay(app) + number / reviewsPerDay(app)) * DAY_MS)

/** How many reviews an app has at a moment. */
export const countReviews = (app: App, timeMs: number): number =>
  Math.max(0, Math.floor((timeMs / DAY_MS - releaseDay(app)) * reviewsPerDay(app)))

const showReview = (app: App, number: number, place: number) => {
  const hash = mix(app.hash, number)
  const timeMs = momentOf(app, number)
  const mood = app.rating + starsMoved(app.events, timeMs)
  const stars = Math.min(5, Math.max(1, Math.round(mood + 3 * fraction(mix(hash, 1)) - 1.5)))
  const [title, text] = pick(OPINIONS[Math.ceil(stars / 2) - 1] ?? [], mix(hash, 2))
  const name = `${pick(NAME_STARTS, mix(hash, 3))}${pick(NAME_ENDS, mix(hash, 4))}`
  return {
    type: 'ios_store_reviews_search',
    rank_group: place,
    rank_absolute: place,
    position: 'left',
    version: versionOn(app, dayOf(timeMs)),
    rating: { rating_type: 'Max5', value: stars, votes_count: null, rating_max: 5 },
    timestamp: formatTimestamp(timeMs),
    id: String(1_000_000_000 + mix(hash, 5)),
    title,
    review_text: text.replace('{topic}', app.topic?.heads[0] ?? 'this'),
    user_profile: {
      profile_name: `${name}${hash % 100}`,
      profile_image_url: hash % 3 === 0 ? null : `https://images.ios-store.example/user/${hash}.png`,
    },
  }
}

/** The newest reviews of an app at a moment, as items of a reviews result. */
export const listReviews = (app: App, timeMs: number, depth: number) => {
  const count = countReviews(app, timeMs)
  return Array.from({ length: Math.min(depth, count) }, (_, index) =>
    showReview(app, count - index, index + 1),
  )
}
