/** The reviews of an app: each has a number, and with it a moment, an id and a text that never change. */

import type { PostedTask } from './books.ts'
import type { App } from './catalogue.ts'
import type { Deviations } from './deviations.ts'
import { sumOf } from './events.ts'
import { fraction, mix, pick } from './hash.ts'
import { imageHost, itemType, releaseDay, versionOn } from './listing.ts'
import { DAY_MS, dayOf, formatTimestamp } from './timestamp.ts'
import { inventName } from './words.ts'

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

/** Of which reviews, in which order, and how many at most. `sortBy` is newest first where it is not given. */
type ReviewsWanted = Pick<PostedTask, 'store' | 'depth' | 'sortBy' | 'rating'>

/** Reviews by helpfulness are those of so many newest ones, or three times as many as are wanted. */
const RELEVANT_AT_LEAST = 500

const starsOf = (app: App, number: number): number => {
  const mood = app.rating + sumOf(app.events, dayOf(momentOf(app, number)), ({ stars }) => stars)
  return Math.min(5, Math.max(1, Math.round(mood + 3 * fraction(mix(mix(app.hash, number), 1)) - 1.5)))
}

/** Up to `most` numbers of reviews, the newest first. */
const newestNumbers = (app: App, timeMs: number, most: number, rating: number | undefined): number[] => {
  const found: number[] = []
  for (let number = countReviews(app, timeMs); number > 0 && found.length < most; number -= 1) {
    if (rating === undefined || starsOf(app, number) === rating) found.push(number)
  }
  return found
}

const helpfulCount = (app: App, number: number): number =>
  Math.floor(200 * fraction(mix(mix(app.hash, number), 7)) ** 6)

const numbersOf = (app: App, timeMs: number, { depth, sortBy, rating }: ReviewsWanted): number[] => {
  const isByHelp = sortBy === 'most_relevant' || sortBy === 'most_helpful'
  const among = isByHelp ? Math.max(RELEVANT_AT_LEAST, 3 * depth) : depth
  const numbers = newestNumbers(app, timeMs, among, rating)
  if (!isByHelp) return numbers
  return numbers
    .sort((left, right) => helpfulCount(app, right) - helpfulCount(app, left) || right - left)
    .slice(0, depth)
}

const RESPONSES = [
  'Thank you! Please write to us, and we will look into it.',
  'Thanks for your review. The next version will have it.',
] as const

/** What the developer answered: to every fourth review, within two days, and not before it is known. */
const listResponses = (app: App, number: number, timeMs: number) => {
  const hash = mix(app.hash, number)
  const answeredMs = momentOf(app, number) + Math.round(2 * DAY_MS * fraction(mix(hash, 8)))
  if (mix(hash, 9) % 4 !== 0 || answeredMs > timeMs) return null
  const text = pick(RESPONSES, mix(hash, 10))
  return [{ author: app.developer, title: null, text, timestamp: formatTimestamp(answeredMs) }]
}

/** Ids of the android_store look like UUIDs. */
const androidId = (hash: number): string => {
  const hex = [11, 12, 13, 14].map((noise) => mix(hash, noise).toString(16).padStart(8, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The reviews of an app at a moment, as items of a reviews result. */
export const listReviews = (app: App, timeMs: number, wanted: ReviewsWanted, deviations: Deviations) => {
  const { store } = wanted
  const isIos = store === 'ios_store'
  return numbersOf(app, timeMs, wanted).map((number, index) => {
    const hash = mix(app.hash, number)
    const writtenMs = momentOf(app, number)
    const stars = starsOf(app, number)
    const [title, text] = pick(OPINIONS[Math.ceil(stars / 2) - 1] ?? [], mix(hash, 2))
    const isUnversioned = deviations.has('nulls') && (isIos || hash % 5 === 0)
    return {
      type: itemType(store, 'reviews_search', deviations),
      rank_group: index + 1,
      rank_absolute: index + 1,
      position: 'left',
      version: isUnversioned ? null : versionOn(app, dayOf(writtenMs)),
      rating: { rating_type: 'Max5', value: stars, votes_count: null, rating_max: 5 },
      timestamp: formatTimestamp(writtenMs),
      id: isIos ? String(1_000_000_000 + mix(hash, 5)) : androidId(hash),
      ...(!isIos && { helpful_count: helpfulCount(app, number) }),
      title: isIos ? title : null,
      ...(!isIos && { responses: listResponses(app, number, timeMs) }),
      review_text: text.replace('{topic}', app.topic?.heads[0] ?? 'this'),
      user_profile: {
        profile_name: `${inventName(mix(hash, 3), mix(hash, 4))}${hash % 100}`,
        profile_image_url: hash % 3 === 0 ? null : `https://${imageHost(store)}/user/${hash}.png`,
      },
    }
  })
}

/** How many reviews a result holds. */
export const countWanted = (app: App, timeMs: number, { depth, rating }: ReviewsWanted): number =>
  newestNumbers(app, timeMs, depth, rating).length
