/** What the service calls the stores in its paths: as specified, or, as it is sold, `apple` and `google`. */

import type { Store } from './functions.ts'

/** The segment that stands for each store in a path of the service. */
export type StoreNames = Readonly<Record<Store, string>>

const SPECIFIED: StoreNames = { ios_store: 'ios_store', android_store: 'android_store' }
export const STORES_AS_SOLD: StoreNames = { ios_store: 'apple', android_store: 'google' }

/** DataForSEO's dummy data: every task has the same id, so that nothing can be followed there. */
export const DUMMY_HOST = 'sandbox.dataforseo.com'
/** Where the service is sold. */
const HOSTS_AS_SOLD = ['api.dataforseo.com', 'api.dataforapps.com', DUMMY_HOST]

export type Dialect = ReturnType<typeof dialectOf>

/** How the service at an address speaks. @param names what a person set; else by its host */
export function dialectOf(baseUrl: URL, names?: StoreNames) {
  const theirs = names ?? (HOSTS_AS_SOLD.includes(baseUrl.hostname) ? STORES_AS_SOLD : SPECIFIED)
  const ours = Object.fromEntries(Object.entries(theirs).map(([store, name]) => [name, store]))
  return {
    /** A path of ours, as the service is called. */
    toService: (path: string) => renameStore(path, theirs),
    /** A path as the service names it, in our words. */
    toOurs: (path: string) => renameStore(path, ours),
  }
}

/** Names as a person sets them, that of the iOS store first: `apple,google`. Null for anything else. */
export function readStoreNames(text: string): StoreNames | null {
  const [, ios, android] = /^([\w-]{1,40})\s*,\s*([\w-]{1,40})$/.exec(text) ?? []
  return ios && android && ios !== android ? { ios_store: ios, android_store: android } : null
}

/** The path of a URL, which the service gives with its host or without (spec: Task id history record). */
export function pathOfUrl(url: string): string {
  return url.replace(/^https?:\/\/[^/?#]*/, '')
}

function renameStore(path: string, names: Readonly<Record<string, string>>): string {
  return path.replace(/^(\/v3\/app_data\/)([\w-]+)(?=\/)/, (whole, head: string, name: string) =>
    Object.hasOwn(names, name) ? head + names[name] : whole,
  )
}

/** The store that an answer names, as specified or as sold; null for any other name. */
export function storeOfName(name: unknown): Store | null {
  const stores = Object.keys(SPECIFIED) as Store[]
  return stores.find((store) => name === SPECIFIED[store] || name === STORES_AS_SOLD[store]) ?? null
}
