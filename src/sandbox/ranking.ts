/**
 * Searches and charts that a store could have: stable within a day, drifting by a few places from day to day,
 * related but different from place to place. Pure functions of seed, store, what is asked for, place and day.
 */

import type { PostedTask } from './books.ts'
import type { App, Catalogue } from './catalogue.ts'
import { isInStore, placesMoved, sumOf } from './events.ts'
import { fraction, hashText, mix, pick } from './hash.ts'
import { isGibberish, tokenize } from './keyword.ts'
import type { View } from './listing.ts'
import type { Store } from './offers.ts'
import { MODIFIERS, TOPICS, type Topic } from './words.ts'

/** How much each kind of match adds to a score. The noise below adds up to 2. */
const TITLE_MATCH = 2.2
const HEAD_MATCH = 1.2
const NARROW_MATCH = 0.8
const NEIGHBOUR_MATCH = 0.2
const GUESS_MATCH = 0.4
const MODIFIER_MATCH = 0.3

/** Share of apps in topics of the same category that a head word finds too. */
const NEIGHBOUR_SHARE = 0.12
/** Share of the apps that match only some of several known words, and that match where a word is unknown. */
const PARTIAL_SHARE = 0.3
/** Share of the store that is well known enough to answer a search without any telling word. */
const WELL_KNOWN_SHARE = 0.06
/** Share of unknown keywords that find nothing. */
const NOTHING_SHARE = 0.12
/** Share of the time that an app is out of a ranking, and share of the places where it is not sold. */
const ABSENT_SHARE = 0.04
const NOT_SOLD_SHARE = 0.05

/** The topics by their words of one kind. */
const indexTopics = (kind: 'heads' | 'narrow') => {
  const pairs = TOPICS.flatMap((topic) => tokenize(topic[kind].join(' ')).map((word) => ({ word, topic })))
  return Map.groupBy(pairs, ({ word }) => word)
}
const heads = indexTopics('heads')
const narrow = indexTopics('narrow')
const modifiers = tokenize(MODIFIERS.join(' '))
/** Scripts without spaces: their words are looked for inside a longer one (日本語 in 日本語学習). */
const unspacedHeads = [...heads.keys()].filter((head) =>
  /[\p{Script=Han}\p{Script=Kana}\p{Script=Hira}]/u.test(head),
)

const splitUnspaced = (token: string): string[] => {
  const found = heads.has(token) ? [] : unspacedHeads.filter((head) => token.includes(head))
  return found.length > 0 ? found : [token]
}

/** The apps that a search finds, with the score of their matches and the number of words that match. */
type Candidates = Map<App, { score: number; hits: number }>

const addCandidate = (candidates: Candidates, app: App, score: number, hits: number): void => {
  const known = candidates.get(app) ?? { score: 0, hits: 0 }
  candidates.set(app, { score: known.score + score, hits: known.hits + hits })
}

const neighboursOf = (topics: readonly Topic[]): readonly Topic[] =>
  TOPICS.filter((topic) => topics.some((each) => each.categories.ios_store === topic.categories.ios_store))

/** Adds what one word finds, each app by its best match; false when nothing in the store knows the word. */
const addMatches = (catalogue: Catalogue, candidates: Candidates, word: string): boolean => {
  const wordHash = hashText(word)
  const topicsIn = (index: typeof heads) => (index.get(word) ?? []).map(({ topic }) => topic)
  const appsOf = (topics: readonly Topic[], share = 1) =>
    topics.flatMap(catalogue.appsOfTopic).filter((app) => fraction(mix(app.hash, wordHash)) < share)
  // From the weakest match to the strongest, so that the strongest stays.
  const matches = [
    [NEIGHBOUR_MATCH, appsOf(neighboursOf(topicsIn(heads)), NEIGHBOUR_SHARE)],
    [NARROW_MATCH, appsOf(topicsIn(narrow), 0.1 + 0.4 * fraction(wordHash))],
    [HEAD_MATCH, appsOf(topicsIn(heads))],
    [TITLE_MATCH, catalogue.appsWithTitleWord(word)],
  ] as const
  const found = new Map(matches.flatMap(([score, apps]) => apps.map((app) => [app, score] as const)))
  for (const [app, score] of found) addCandidate(candidates, app, score, 1)
  return found.size > 0
}

const candidatesOf = (apps: readonly App[], score: number): Candidates =>
  new Map(apps.map((app) => [app, { score, hits: 1 }]))

/** A keyword of which no word is known finds a part of one topic, chosen by hash, or nothing. */
const guess = (catalogue: Catalogue, words: readonly string[], keywordHash: number): Candidates => {
  if (words.every(isGibberish) || fraction(mix(keywordHash, 1)) < NOTHING_SHARE) return new Map()
  const share = 0.05 + 0.4 * fraction(mix(keywordHash, 2))
  const apps = catalogue.appsOfTopic(pick(TOPICS, mix(keywordHash, 3)))
  return candidatesOf(
    apps.filter((app) => fraction(mix(app.hash, keywordHash)) < share),
    GUESS_MATCH,
  )
}

const findWellKnown = (catalogue: Catalogue): Candidates =>
  candidatesOf(
    catalogue.apps.filter((app) => fraction(mix(app.hash, 12)) < WELL_KNOWN_SHARE || app.anchor),
    0,
  )

const findCandidates = (catalogue: Catalogue, words: readonly string[], keywordHash: number): Candidates => {
  if (words.length === 0) return new Map()
  const telling = words.filter((word) => !modifiers.includes(word))
  if (telling.length === 0) return findWellKnown(catalogue)
  const candidates: Candidates = new Map()
  const known = telling.filter((word) => addMatches(catalogue, candidates, word))
  if (known.length === 0) return guess(catalogue, telling, keywordHash)
  const unknownShare = PARTIAL_SHARE ** (telling.length - known.length)
  for (const [app, { hits }] of candidates) {
    const share = (hits < known.length ? PARTIAL_SHARE : 1) * unknownShare
    if (fraction(mix(mix(app.hash, keywordHash), 4)) >= share) candidates.delete(app)
  }
  for (const app of words.filter((word) => modifiers.includes(word)).flatMap(catalogue.appsWithTitleWord)) {
    if (candidates.has(app)) addCandidate(candidates, app, MODIFIER_MATCH, 0)
  }
  return candidates
}

/** A slow wave between -1 and 1, of its own period (12 to 36 days) and phase. */
const wave = (day: number, hash: number): number =>
  Math.sin(2 * Math.PI * (day / (12 + (hash % 25)) + fraction(mix(hash, 13))))

const isPresent = (app: App, pairHash: number, { day, locationCode }: View): boolean => {
  const lengthDays = 5 + (pairHash % 10)
  const spell = Math.floor((day + (app.hash % lengthDays)) / lengthDays)
  return (
    isInStore(app.events, day) &&
    fraction(mix(pairHash, spell)) >= ABSENT_SHARE &&
    fraction(mix(app.hash, locationCode)) >= NOT_SOLD_SHARE
  )
}

/** The organic rank of a flagship app: the middle of its band, give or take a few places by day and place. */
const placeOfAnchor = (app: App, pairHash: number, placeHash: number, day: number): number => {
  const { best, worst } = app.anchor ?? { best: 1, worst: 1 }
  const middle = best + (worst - best) * fraction(pairHash)
  const place = Math.round(middle + 2 * wave(day, pairHash) + 3 * fraction(mix(pairHash, placeHash)) - 1)
  return Math.min(worst, Math.max(best, place))
}

/** Moves the apps that events push up or down, the one that ends on top first; none beyond either end. */
const applyEvents = (ranked: readonly App[], words: readonly string[], day: number): readonly App[] => {
  const moved = ranked.flatMap((app, index) => {
    const places = placesMoved(app.events, day, words)
    return places === 0 ? [] : [{ app, index: Math.max(0, index + places) }]
  })
  if (moved.length === 0) return ranked
  const others = ranked.filter((app) => !moved.some((each) => each.app === app))
  for (const { app, index } of moved.toSorted((left, right) => left.index - right.index)) {
    others.splice(index, 0, app)
  }
  return others
}

/** Highest first; equal ones in an order of no meaning. */
const sortByScore = (scored: readonly { app: App; score: number }[]): App[] =>
  scored
    .toSorted((left, right) => right.score - left.score || left.app.hash - right.app.hash)
    .map(({ app }) => app)

/** The apps that a search for a keyword finds, best first. */
export const rankSearch = (
  catalogue: Catalogue,
  keyword: string,
  view: View,
  seed: number,
): readonly App[] => {
  const words = tokenize(keyword).flatMap(splitUnspaced)
  const { locationCode, languageCode, day } = view
  const keywordHash = mix(seed, hashText(words.join(' ')))
  const placeHash = hashText(`${locationCode} ${languageCode}`)
  const anchored = catalogue.flagships.filter(
    (app) => app.anchor?.words.some((word) => words.includes(word)) && isInStore(app.events, day),
  )
  const scored = [...findCandidates(catalogue, words, keywordHash)]
    .map(([app, { score }]) => ({ app, match: score, pairHash: mix(app.hash, keywordHash) }))
    .filter(({ app, pairHash }) => !anchored.includes(app) && isPresent(app, pairHash, view))
    .map(({ app, match, pairHash }) => ({
      app,
      score:
        match +
        1.2 * app.popularity +
        0.6 * fraction(pairHash) +
        0.4 * fraction(mix(pairHash, placeHash)) +
        0.1 * wave(day, pairHash) +
        // What a store goes by since it ranks by other rules.
        sumOf(catalogue.events, day, (event) => event.shuffle * fraction(mix(pairHash, event.day))),
    }))
  const ranked = sortByScore(scored)
  // From the best place on, so that a later insertion moves none of the earlier ones.
  const places = anchored
    .map((app) => ({ app, place: placeOfAnchor(app, mix(app.hash, keywordHash), placeHash, day) }))
    .sort((left, right) => left.place - right.place)
  for (const { app, place } of places) ranked.splice(place - 1, 0, app)
  return applyEvents(ranked, words, day)
}

/** Which chart, and where and when; without a category it is that of the whole store. */
type Chart = Pick<PostedTask, 'category' | 'ageRating'> & {
  collection: string
  locationCode: number
  day: number
}

/** The collections of each store, as they are sold. */
export const COLLECTIONS = {
  ios_store: 'top_free_ios top_paid_ios top_grossing_ios new_ios new_free_ios new_paid_ios'.split(' '),
  android_store: (
    'featured topselling_free topselling_paid topgrossing topselling_new_free topselling_new_paid ' +
    'movers_shakers'
  ).split(' '),
}

/** No store shows more of a chart. */
const CHART_LENGTHS: Record<Store, number> = { ios_store: 1000, android_store: 500 }
/** Share of the apps that are for children of an age. */
const OF_AGE_SHARE = 0.4

/** Words in the name of a collection that choose among the apps; any other name is a selection of its own. */
const isListed = (collection: string, app: App): boolean => {
  if (collection.includes('paid')) return app.priceUsd > 0
  if (collection.includes('free')) return app.priceUsd === 0
  return true
}

/** What an age group of the category family is chosen from. */
const FAMILY = /^(education|parenting|game_)/

/** A category holds its own apps, and `game` those of every kind of game. */
const isOfCategory = ({ category, ageRating }: Chart, app: App): boolean =>
  category === undefined ||
  (ageRating !== undefined && FAMILY.test(app.category)) ||
  app.category === category ||
  app.category.startsWith(`${category}_`)

/** The apps of a chart, best first. */
export const rankChart = (catalogue: Catalogue, chart: Chart, seed: number): readonly App[] => {
  const { collection, ageRating, locationCode, day } = chart
  const chartHash = mix(seed, hashText(collection))
  const scoreOf = (app: App): number => {
    const hash = mix(app.hash, chartHash)
    // The tide of an app turns every 10 to 29 days.
    const tide = Math.sin((2 * Math.PI * (day + (hash % 30))) / (10 + (hash % 20)))
    return app.popularity + 0.3 * fraction(hash) + 0.2 * fraction(mix(hash, locationCode)) + 0.02 * tide
  }
  const scored = catalogue.apps
    .filter((app) => isListed(collection, app) && isOfCategory(chart, app) && isInStore(app.events, day))
    .filter((app) => ageRating === undefined || fraction(mix(app.hash, hashText(ageRating))) < OF_AGE_SHARE)
    .map((app) => ({ app, score: scoreOf(app) }))
  return sortByScore(scored).slice(0, CHART_LENGTHS[catalogue.store])
}
