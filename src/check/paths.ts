/** What the service calls the stores, and which of its lists it has. */
import type { AppDataClient } from '../service/client.ts'
import { isObject } from '../service/fields.ts'
import type { Store } from '../service/functions.ts'
import { askIfOffered, type CheckedService, read, rowsIn } from './checked-service.ts'
import { differs, type Finding, holds, obstacle } from './finding.ts'

const STORES: readonly Store[] = ['ios_store', 'android_store']
const SPECIFIED_NAMES = 'ios_store,android_store'
const SOLD_NAMES = 'apple,google'
/** More rows than these take a while to load. */
const MANY_PLACES = 20_000

const probe = (store: Store) => read(`/v3/app_data/${store}/categories`)

/** Without the names of the stores nothing else can be asked: then this is the only finding. */
export async function checkStoreNames(service: CheckedService): Promise<Finding> {
  const about = 'names of the stores'
  const { client } = service
  const path = client.dialect.toService('/v3/app_data/ios_store/')
  if ((await askIfOffered(client, probe('ios_store'))) !== null) {
    const isSpecified = path.includes('ios_store')
    return isSpecified
      ? holds(about, 'Paths name the stores ios_store and android_store.')
      : differs(
          about,
          `Paths name the stores ${namesIn(client)}.`,
          'They are called so; tables keep their names.',
        )
  }
  for (const names of [SPECIFIED_NAMES, SOLD_NAMES]) {
    if (await answersTo(service, names)) {
      return obstacle(about, 'No path that storerank calls is there.', `Set APP_DATA_STORES=${names}.`)
    }
  }
  return obstacle(
    about,
    'Paths are neither those of the specification nor those of the service as it is sold.',
    'Check APP_DATA_URL, or set APP_DATA_STORES to the two segments that stand for the stores.',
  )
}

function namesIn({ dialect }: AppDataClient): string {
  return STORES.map((store) => dialect.toService(`/v3/app_data/${store}/`).split('/')[3]).join(' and ')
}

async function answersTo(service: CheckedService, names: string): Promise<boolean> {
  const client = service.openNamed(names)
  try {
    return (await askIfOffered(client, probe('ios_store'))) !== null
  } finally {
    await client.close()
  }
}

/** The reference lists: whether they are there, and how long. */
export async function checkLists({ client }: CheckedService): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const store of STORES) {
    const languages = await askIfOffered(client, read(`/v3/app_data/${store}/languages`))
    const codes = rowsIn(languages).map((row) => (isObject(row) ? String(row.language_code) : ''))
    findings.push(describeLanguages(store, codes))
    const locations = await askIfOffered(client, read(`/v3/app_data/${store}/locations`))
    findings.push(describeLocations(store, rowsIn(locations).length, locations?.rawBytes ?? 0))
  }
  return findings
}

function describeLanguages(store: Store, codes: readonly string[]): Finding {
  const about = `languages of ${store}`
  if (codes.length === 0) return obstacle(about, 'The list is empty or missing.', 'Ask the service why.')
  const regional = codes.filter((code) => code.includes('-'))
  if (regional.length === 0) return holds(about, `${codes.length} languages.`)
  return differs(
    about,
    `${codes.length} languages, with regional ones such as ${regional[0]}.`,
    'A watch takes them as they are; everything but android keywords needs one.',
  )
}

function describeLocations(store: Store, count: number, bytes: number): Finding {
  const about = `locations of ${store}`
  if (count === 0) return obstacle(about, 'The list is empty or missing.', 'Ask the service why.')
  if (count < MANY_PLACES) return holds(about, `${count} locations.`)
  return differs(
    about,
    `${count} locations in ${Math.round(bytes / 1_000_000)} MB.`,
    'They are loaded in parts, and hold nothing else up.',
  )
}

/** What the service sells beyond its specification. */
export async function checkOffers({ client }: CheckedService): Promise<Finding[]> {
  const charts = await askIfOffered(
    client,
    read('/v3/app_data/ios_store/app_list/tasks_ready', 'tasks_ready'),
  )
  const reviews = await askIfOffered(
    client,
    read('/v3/app_data/android_store/app_reviews/tasks_ready', 'tasks_ready'),
  )
  const androidCharts = await askIfOffered(
    client,
    read('/v3/app_data/android_store/app_list/tasks_ready', 'tasks_ready'),
  )
  const all = await askIfOffered(client, read('/v3/app_data/tasks_ready', 'tasks_ready'))
  const empty = [charts, reviews, androidCharts, all].find((reply) => reply?.task?.resultCount === 0)
  return [
    describeOffer('charts of ios_store', charts !== null),
    describeOffer('reviews of android_store', reviews !== null),
    all === null
      ? holds('ready lists', 'Each function of a store has its own list.')
      : differs('ready lists', 'One list has the results of all functions.', 'It is asked instead of eight.'),
    describeEmptyList(empty?.task?.result),
  ]
}

function describeOffer(about: string, isThere: boolean): Finding {
  return isThere
    ? differs(about, 'The service sells them, though its specification has none.', 'They can be watched.')
    : holds(about, 'The service has none: a watch on them is a gap that says so.')
}

function describeEmptyList(result: unknown): Finding {
  const about = 'an empty list'
  if (result === undefined) return holds(about, 'No list is empty now.')
  return result === null
    ? differs(about, 'It is null.', 'With a count of 0 that is read as empty.')
    : holds(about, 'It is a list without rows.')
}
