/**
 * The apps of a store: thousands of invented ones, the same for the same seed, the flagship apps, and the
 * real apps of a file when there is one. Finds apps by word and by id; says nothing about their order.
 */

import { readFileSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import { z } from 'zod'
import { type AppEvents, eventsByApp, type StoreEvent, WHOLE_STORE } from './events.ts'
import { fraction, hashText, mix, pick } from './hash.ts'
import { tokenize } from './keyword.ts'
import type { Store } from './offers.ts'
import { ANCHORS, type Anchor, COMPANY_ENDS, inventName, TITLE_ENDS, TOPICS, type Topic } from './words.ts'

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

/** Enough that a head word finds more than the default depth, and few enough to start fast. */
const APPS_PER_TOPIC = 180
/** The best-rated app of a store has about this many votes. */
const MOST_VOTES = 4_000_000
const CHARGED_PRICES_USD = [0.99, 1.99, 2.99, 3.99, 4.99, 9.99]
const NO_EVENTS: AppEvents = []

const inventId = (store: Store, name: string, phrase: string, noise: number): string => {
  if (store === 'ios_store') return String(310_000_000 + (noise % 1_400_000_000))
  const word = tokenize(phrase).find((token) => /^[a-z]+$/.test(token)) ?? 'app'
  return `com.${name.toLowerCase()}.${word}${noise % 100}`
}

const inventTitle = (name: string, phrase: string, noise: number): string => {
  const whole = `${phrase}${pick(TITLE_ENDS, mix(noise, 3))}`
  const forms = [`${name}: ${whole}`, `${phrase} – ${name}`, `${name} ${phrase}`, `${whole} by ${name}`]
  return pick(forms, mix(noise, 4))
}

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
  const { title, developer, priceUsd } = anchor
  const id = anchor.ids[store]
  const topic = topicOfWord.get(anchor.topic)
  return {
    ...{ id, title, developer, topic, category: topic?.categories[store] ?? '', priceUsd },
    ...{ hash: hashText(id), popularity: 0.8, rating: 4.6, votes: 180_000 },
    anchor,
    events: NO_EVENTS,
  }
}

const RealApp = z
  .object({
    app_id: z.string().regex(/^\d{6,12}$/),
    title: z.string().min(1),
    genre: z.string(),
    rating: z.coerce.number().min(0).max(5),
    ratings_count: z.coerce.number().int().nonnegative(),
    price_usd: z.coerce.number().nonnegative(),
  })
  .transform(({ app_id: id, title, genre, rating, ratings_count: votes, price_usd: priceUsd }): App => {
    const hash = hashText(id)
    const word = tokenize(title).find((token) => topicOfWord.has(token))
    return {
      id,
      title,
      developer: `${inventName(hash, mix(hash, 1))} ${pick(COMPANY_ENDS, mix(hash, 2))}`,
      category: genre.toLowerCase().replaceAll('&', 'and').replace(/\s+/g, '_'),
      topic: word === undefined ? undefined : topicOfWord.get(word),
      hash,
      popularity: Math.min(1, Math.log(1 + votes) / Math.log(MOST_VOTES)),
      rating,
      votes,
      priceUsd,
      events: NO_EVENTS,
    }
  })

/**
 * Reads real apps of the ios_store: CSV with the columns app_id, title, genre, rating, ratings_count,
 * price_usd. Throws with the number of the record when one has another form.
 */
export const readRealApps = (file: string): App[] => {
  const rows: unknown[] = parse(readFileSync(file), { columns: true, bom: true, skip_empty_lines: true })
  return rows.map((row, index) => {
    const { data, error } = RealApp.safeParse(row)
    if (data) return data
    const [issue] = error.issues
    throw new Error(`${file}, record ${index + 1}: column ${issue?.path.join('.')}: ${issue?.message}`)
  })
}

/** An index of apps under each of their keys. */
const indexBy = <Key>(apps: readonly App[], keysOf: (app: App) => readonly Key[]) => {
  const pairs = apps.flatMap((app) => keysOf(app).map((key) => ({ key, app })))
  const groups = Map.groupBy(pairs, ({ key }) => key)
  const index = new Map([...groups].map(([key, group]) => [key, group.map(({ app }) => app)]))
  return (key: Key): readonly App[] => index.get(key) ?? []
}

/**
 * The apps of one store and the index over their titles, topics and developers. Where an id stands twice,
 * flagship beats real app beats invention. Throws when an event names an app that the store does not have.
 */
export const buildCatalogue = (
  store: Store,
  seed: number,
  realApps: readonly App[] = [],
  events: readonly StoreEvent[] = [],
) => {
  const flagships = ANCHORS.map((anchor) => describeAnchor(store, anchor))
  const invented = TOPICS.flatMap((topic) =>
    Array.from({ length: APPS_PER_TOPIC }, (_, number) => inventApp(store, seed, topic, number)),
  )
  const byId = new Map<string, App>()
  for (const app of [...flagships, ...realApps, ...invented]) if (!byId.has(app.id)) byId.set(app.id, app)
  const byApp = eventsByApp(events, store)
  for (const [id, own] of byApp) {
    const app = byId.get(id)
    if (app) app.events = own
    else if (id !== WHOLE_STORE) {
      throw new Error(`An event names the app ${id}, which the ${store} does not have.`)
    }
  }
  const apps = [...byId.values()]
  return {
    store,
    /** What happens to the store as a whole. */
    events: byApp.get(WHOLE_STORE) ?? NO_EVENTS,
    flagships,
    /** Apps of the whole store, in no order that means anything. */
    apps,
    findApp: (id: string) => byId.get(id),
    appsWithTitleWord: indexBy(apps, (app) => tokenize(app.title)),
    appsOfTopic: indexBy(apps, (app) => (app.topic ? [app.topic] : [])),
    appsOfDeveloper: indexBy(apps, (app) => [app.developer]),
  }
}
export type Catalogue = ReturnType<typeof buildCatalogue>
