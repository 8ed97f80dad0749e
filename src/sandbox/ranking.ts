/**
 * Rankings that a store could have: stable within a day, drifting by a few places from day to day, related
 * but different from place to place. A pure function of (seed, store, keyword, location, language, day).
 */

import { ANCHORS } from './anchors.ts'
import type { App, Catalogue } from './catalogue.ts'
import { type AppEvents, isInStore, placesMoved } from './events.ts'
import { fraction, hashText, mix, pick } from './hash.ts'
import { isGibberish, tokenize } from './keyword.ts'
import { remember } from './remember.ts'
import { MODIFIERS, TOPICS, type Topic } from './words.ts'

/** What is searched, and where and when. `day` counts UTC days since 1970. */
type Search = { keyword: string; locationCode: number; languageCode: string; day: number }

/** Ranks a search: all organic results, best first; empty when the store finds nothing. */
export type Ranker = (search: Search) => readonly App[]

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
/** Rankings kept; one of 400 apps takes about 4 KB. */
const CACHED_RANKINGS = 5000

const indexTopics = (wordsOf: (topic: Topic) => readonly string[]): Map<string, Topic[]> => {
  const index = new Map<string, Topic[]>()
  for (const topic of TOPICS) {
    for (const word of tokenize(wordsOf(topic).join(' '))) {
      index.set(word, [...(index.get(word) ?? []), topic])
    }
  }
  return index
}

const heads = indexTopics((topic) => topic.heads)
const narrow = indexTopics((topic) => topic.narrow)
const modifiers = new Set(tokenize(MODIFIERS.join(' ')))
/** Scripts without spaces: their words are looked for inside a longer one (日本語 in 日本語学習). */
const unspacedHeads = [...heads.keys()].filter((head) =>
  /[\p{Script=Han}\p{Script=Kana}\p{Script=Hira}]/u.test(head),
)

const splitUnspaced = (token: string): string[] => {
  if (heads.has(token)) return [token]
  const found = unspacedHeads.filter((head) => token.includes(head))
  return found.length > 0 ? found : [token]
}

type Candidates = Map<App, { score: number; hits: number }>

const addCandidate = (candidates: Candidates, app: App, score: number, hits: number): void => {
  const candidate = candidates.get(app)
  if (!candidate) candidates.set(app, { score, hits })
  else {
    candidate.score += score
    candidate.hits += hits
  }
}

const appsOf = (catalogue: Catalogue, topics: readonly Topic[]): App[] =>
  topics.flatMap(catalogue.appsOfTopic)

const neighboursOf = (topics: readonly Topic[]): readonly Topic[] => {
  const categories = new Set(topics.map((topic) => topic.categories.ios_store))
  return TOPICS.filter((topic) => categories.has(topic.categories.ios_store))
}

/** Adds what one word finds, each app by its best match; false when nothing in the store knows the word. */
const addMatches = (catalogue: Catalogue, candidates: Candidates, word: string): boolean => {
  const wordHash = hashText(word)
  const isWithin = (share: number) => (app: App) => fraction(mix(app.hash, wordHash)) < share
  const headTopics = heads.get(word) ?? []
  // From the weakest match to the strongest, so that the strongest stays.
  const matches = [
    [NEIGHBOUR_MATCH, appsOf(catalogue, neighboursOf(headTopics)).filter(isWithin(NEIGHBOUR_SHARE))],
    [
      NARROW_MATCH,
      appsOf(catalogue, narrow.get(word) ?? []).filter(isWithin(0.1 + 0.4 * fraction(wordHash))),
    ],
    [HEAD_MATCH, appsOf(catalogue, headTopics)],
    [TITLE_MATCH, catalogue.appsWithTitleWord(word)],
  ] as const
  const found = new Map(matches.flatMap(([score, apps]) => apps.map((app) => [app, score] as const)))
  for (const [app, score] of found) addCandidate(candidates, app, score, 1)
  return found.size > 0
}

/** A keyword of which no word is known finds a part of one topic, chosen by hash, or nothing. */
const guess = (catalogue: Catalogue, words: readonly string[], keywordHash: number): Candidates => {
  const candidates: Candidates = new Map()
  if (words.every(isGibberish) || fraction(mix(keywordHash, 1)) < NOTHING_SHARE) return candidates
  const share = 0.05 + 0.4 * fraction(mix(keywordHash, 2))
  for (const app of catalogue.appsOfTopic(pick(TOPICS, mix(keywordHash, 3)))) {
    if (fraction(mix(app.hash, keywordHash)) < share) addCandidate(candidates, app, GUESS_MATCH, 1)
  }
  return candidates
}

const findWellKnown = (catalogue: Catalogue): Candidates => {
  const candidates: Candidates = new Map()
  for (const app of catalogue.allApps()) {
    if (fraction(mix(app.hash, 12)) < WELL_KNOWN_SHARE || app.anchor) addCandidate(candidates, app, 0, 1)
  }
  return candidates
}

const dropPartialMatches = (
  candidates: Candidates,
  known: number,
  unknown: number,
  keywordHash: number,
): void => {
  for (const [app, { hits }] of candidates) {
    const luck = fraction(mix(mix(app.hash, keywordHash), 4))
    const share = (hits < known ? PARTIAL_SHARE : 1) * PARTIAL_SHARE ** unknown
    if (luck >= share) candidates.delete(app)
  }
}

const findCandidates = (catalogue: Catalogue, words: readonly string[], keywordHash: number): Candidates => {
  const telling = words.filter((word) => !modifiers.has(word))
  if (words.length > 0 && telling.length === 0) return findWellKnown(catalogue)
  const candidates: Candidates = new Map()
  const known = telling.filter((word) => addMatches(catalogue, candidates, word))
  if (known.length === 0) return words.length > 0 ? guess(catalogue, telling, keywordHash) : candidates
  dropPartialMatches(candidates, known.length, telling.length - known.length, keywordHash)
  for (const word of words.filter((word) => modifiers.has(word))) {
    for (const app of catalogue.appsWithTitleWord(word)) {
      if (candidates.has(app)) addCandidate(candidates, app, MODIFIER_MATCH, 0)
    }
  }
  return candidates
}

/** A slow wave between -1 and 1, of its own period (12 to 36 days) and phase. */
const wave = (day: number, hash: number): number =>
  Math.sin(2 * Math.PI * (day / (12 + (hash % 25)) + fraction(mix(hash, 13))))

/** The words of the flagship apps in the form of the index. */
const anchorWords = new Map(ANCHORS.map((anchor) => [anchor, tokenize(anchor.words.join(' '))]))

const isAnchored = (app: App, words: readonly string[]): boolean =>
  app.anchor !== undefined && (anchorWords.get(app.anchor)?.some((word) => words.includes(word)) ?? false)

const isPresent = (app: App, pairHash: number, search: Search): boolean => {
  if (!isInStore(app.events, search.day)) return false
  const lengthDays = 5 + (pairHash % 10)
  const spell = Math.floor((search.day + (app.hash % lengthDays)) / lengthDays)
  return (
    fraction(mix(pairHash, spell)) >= ABSENT_SHARE &&
    fraction(mix(app.hash, search.locationCode)) >= NOT_SOLD_SHARE
  )
}

/** What a store goes by since it ranks by other rules. */
const shuffled = (events: AppEvents, pairHash: number, day: number): number =>
  events
    .filter((event) => event.day <= day)
    .reduce((sum, event) => sum + event.shuffle * fraction(mix(pairHash, event.day)), 0)

const scoreApp = (app: App, match: number, pairHash: number, placeHash: number, day: number): number =>
  match +
  1.2 * app.popularity +
  0.6 * fraction(pairHash) +
  0.4 * fraction(mix(pairHash, placeHash)) +
  0.1 * wave(day, pairHash)

/**
 * The organic rank that a flagship app takes: its own middle of the band, give or take a few places by day
 * and place.
 */
const placeOfAnchor = (app: App, keywordHash: number, placeHash: number, day: number): number => {
  const [best, worst] = app.anchor?.band ?? [1, 1]
  const pairHash = mix(app.hash, keywordHash)
  const middle = best + (worst - best) * fraction(pairHash)
  const place = Math.round(middle + 2 * wave(day, pairHash) + 3 * fraction(mix(pairHash, placeHash)) - 1)
  return Math.min(worst, Math.max(best, place))
}

/** Moves the apps that events push up or down, the one that ends on top first; none beyond either end. */
const applyEvents = (ranked: readonly App[], words: readonly string[], day: number): readonly App[] => {
  const moved = ranked.flatMap((app, index) => {
    const places = app.events.length === 0 ? 0 : placesMoved(app.events, day, words)
    return places === 0 ? [] : [{ app, index: Math.max(0, index + places) }]
  })
  if (moved.length === 0) return ranked
  const others = ranked.filter((app) => !moved.some((each) => each.app === app))
  for (const { app, index } of moved.toSorted((left, right) => left.index - right.index)) {
    others.splice(index, 0, app)
  }
  return others
}

const rank = (
  catalogue: Catalogue,
  words: readonly string[],
  search: Search,
  seed: number,
): readonly App[] => {
  const keywordHash = mix(seed, hashText(words.join(' ')))
  const placeHash = hashText(`${search.locationCode} ${search.languageCode}`)
  const anchored = catalogue
    .flagships()
    .filter((app) => isAnchored(app, words) && isInStore(app.events, search.day))
  const candidates = findCandidates(catalogue, words, keywordHash)
  const ranked = [...candidates]
    .map(([app, { score }]) => ({ app, score, pairHash: mix(app.hash, keywordHash) }))
    .filter(({ app, pairHash }) => !anchored.includes(app) && isPresent(app, pairHash, search))
    .map(({ app, score, pairHash }) => ({
      app,
      score:
        scoreApp(app, score, pairHash, placeHash, search.day) +
        shuffled(catalogue.events, pairHash, search.day),
    }))
    .sort((left, right) => right.score - left.score || left.app.hash - right.app.hash)
    .map(({ app }) => app)
  // From the best place on, so that a later insertion moves none of the earlier ones.
  const places = anchored
    .map((app) => ({ app, place: placeOfAnchor(app, keywordHash, placeHash, search.day) }))
    .sort((left, right) => left.place - right.place)
  for (const { app, place } of places) ranked.splice(place - 1, 0, app)
  return applyEvents(ranked, words, search.day)
}

/** Makes the ranker of a store; it remembers the rankings that it made last. */
export const buildRanker = (catalogue: Catalogue, seed: number): Ranker => {
  const cached = remember<readonly App[]>(CACHED_RANKINGS)
  return (search) => {
    const words = tokenize(search.keyword).flatMap(splitUnspaced)
    const key = `${search.day} ${search.locationCode} ${search.languageCode} ${words.join(' ')}`
    return cached(key, () => rank(catalogue, words, search, seed))
  }
}
