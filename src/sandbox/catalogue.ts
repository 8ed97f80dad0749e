/**
 * The apps of a store: thousands of invented ones, the same for the same seed, the flagship apps, and the
 * real apps of a catalogue file when there is one. Finds apps by word and by id; says nothing about their
 * order.
 */

import { ANCHORS, type Anchor } from './anchors.ts'
import { type AppEvents, eventsByApp, type StoreEvent, WHOLE_STORE } from './events.ts'
import { fraction, hashText, mix, pick } from './hash.ts'
import { tokenize } from './keyword.ts'
import type { Store } from './offers.ts'
import type { RealApp } from './real-apps.ts'
import { COMPANY_ENDS, inventName, TITLE_ENDS, TOPICS, type Topic } from './words.ts'

/** One app of a store. `hash` is its own noise, `popularity` between 0 and 1. */
export type App = {
  id: string
  title: string
  developer: string
  category: string
  topic: Topic | undefined
  hash: number
  popularity: number
  rating: number
  votes: number
  priceUsd: number
  anchor?: Anchor
  /** What happens to it beyond the drift of the store. */
  events: AppEvents
}

/** The apps of one store and the index over their titles, topics and developers. */
export type Catalogue = {
  store: Store
  /** What happens to the store as a whole. */
  events: AppEvents
  findApp(id: string): App | undefined
  appsWithTitleWord(word: string): readonly App[]
  appsOfTopic(topic: Topic): readonly App[]
  appsOfDeveloper(developer: string): readonly App[]
  /** Apps of the whole store, in no order that means anything. */
  allApps(): readonly App[]
  flagships(): readonly App[]
}

/**
 * Enough that a head word finds more than the default depth of either store, and few enough to start fast.
 */
const APPS_PER_TOPIC = 180
/** The best-rated app of a store has about this many votes. */
const MOST_VOTES = 4_000_000
const CHARGED_PRICES_USD = [0.99, 1.99, 2.99, 3.99, 4.99, 9.99]

const inventId = (store: Store, name: string, phrase: string, noise: number): string => {
  if (store === 'ios_store') return String(310_000_000 + (noise % 1_400_000_000))
  const word = tokenize(phrase).find((token) => /^[a-z]+$/.test(token)) ?? 'app'
  return `com.${name.toLowerCase()}.${word}${noise % 100}`
}

const inventTitle = (name: string, phrase: string, noise: number): string => {
  const end = pick(TITLE_ENDS, mix(noise, 3))
  const forms = [
    `${name}: ${phrase}${end}`,
    `${phrase} – ${name}`,
    `${name} ${phrase}`,
    `${phrase}${end} by ${name}`,
  ]
  return pick(forms, mix(noise, 4))
}

const NO_EVENTS: AppEvents = []

const inventApp = (store: Store, seed: number, topic: Topic, number: number): App => {
  const noise = mix(mix(seed, hashText(`${store} ${topic.heads[0]}`)), number)
  const name = inventName(mix(noise, 1), mix(noise, 2))
  const phrase = pick(topic.phrases, mix(noise, 5))
  const popularity = fraction(mix(noise, 6)) ** 2
  return {
    id: inventId(store, name, phrase, mix(noise, 7)),
    title: inventTitle(name, phrase, noise),
    developer: `${name} ${pick(COMPANY_ENDS, hashText(name))}`,
    category: topic.categories[store],
    topic,
    hash: noise,
    popularity,
    rating: 2.5 + 2.4 * Math.sqrt(fraction(mix(noise, 8))),
    votes: Math.round(MOST_VOTES ** popularity * (1 + fraction(mix(noise, 9)))),
    priceUsd: mix(noise, 10) % 8 === 0 ? pick(CHARGED_PRICES_USD, mix(noise, 11)) : 0,
    events: NO_EVENTS,
  }
}

const topicOfWord = new Map(
  TOPICS.flatMap((topic) => tokenize(topic.heads.join(' ')).map((head) => [head, topic])),
)

const describeAnchor = (store: Store, anchor: Anchor): App => {
  const topic = topicOfWord.get(anchor.topic)
  return {
    id: anchor.ids[store],
    title: anchor.title,
    developer: anchor.developer,
    category: topic?.categories[store] ?? '',
    topic,
    hash: hashText(anchor.ids[store]),
    popularity: 0.8,
    rating: 4.6,
    votes: 180_000,
    priceUsd: anchor.priceUsd,
    anchor,
    events: NO_EVENTS,
  }
}

const describeRealApp = (app: RealApp): App => {
  const hash = hashText(app.id)
  const word = tokenize(app.title).find((token) => topicOfWord.has(token))
  return {
    ...app,
    developer: `${inventName(hash, mix(hash, 1))} ${pick(COMPANY_ENDS, mix(hash, 2))}`,
    topic: word === undefined ? undefined : topicOfWord.get(word),
    hash,
    popularity: Math.min(1, Math.log(1 + app.votes) / Math.log(MOST_VOTES)),
    events: NO_EVENTS,
  }
}

const inventApps = (store: Store, seed: number): App[] =>
  TOPICS.flatMap((topic) =>
    Array.from({ length: APPS_PER_TOPIC }, (_, number) => inventApp(store, seed, topic, number)),
  )

const groupBy = <Key>(apps: readonly App[], keysOf: (app: App) => readonly Key[]): Map<Key, App[]> => {
  const groups = new Map<Key, App[]>()
  for (const app of apps) {
    for (const key of keysOf(app)) {
      const group = groups.get(key)
      if (group) group.push(app)
      else groups.set(key, [app])
    }
  }
  return groups
}

/** Returns those of the whole store. */
const addEvents = (
  apps: ReadonlyMap<string, App>,
  events: readonly StoreEvent[],
  store: Store,
): AppEvents => {
  const byApp = eventsByApp(events, store)
  for (const [id, own] of byApp) {
    const app = apps.get(id)
    if (id === WHOLE_STORE) continue
    if (!app) throw new Error(`An event names the app ${id}, which the ${store} does not have.`)
    app.events = own
  }
  return byApp.get(WHOLE_STORE) ?? NO_EVENTS
}

/**
 * Makes a store. Where an id stands twice, flagship beats real app beats invention. Throws when an event
 * names an app that the store does not have.
 */
export const buildCatalogue = (
  store: Store,
  seed: number,
  realApps: readonly RealApp[],
  events: readonly StoreEvent[] = [],
): Catalogue => {
  const flagships = ANCHORS.map((anchor) => describeAnchor(store, anchor))
  const all = new Map<string, App>()
  for (const app of [...flagships, ...realApps.map(describeRealApp), ...inventApps(store, seed)]) {
    if (!all.has(app.id)) all.set(app.id, app)
  }
  const ofStore = addEvents(all, events, store)
  const apps = [...all.values()]
  const byTitleWord = groupBy(apps, (app) => tokenize(app.title))
  const byTopic = groupBy(apps, (app) => (app.topic ? [app.topic] : []))
  const byDeveloper = groupBy(apps, (app) => [app.developer])
  return {
    store,
    events: ofStore,
    findApp: (id) => all.get(id),
    appsWithTitleWord: (word) => byTitleWord.get(word) ?? [],
    appsOfTopic: (topic) => byTopic.get(topic) ?? [],
    appsOfDeveloper: (developer) => byDeveloper.get(developer) ?? [],
    allApps: () => apps,
    flagships: () => flagships,
  }
}
