/** What the service calls the stores, and which of its lists it has. */
import type { AppDataClient } from '../service/client.ts'
import { isObject } from '../service/fields.ts'
import type { Store } from '../service/functions.ts'
import { askIfOffered, type Finding, holds, judge, obstacle, rowsIn } from './finding.ts'

const STORES: readonly Store[] = ['ios_store', 'android_store']
/** Of the specification, and of the service as it is sold. */
const KNOWN_NAMES = ['ios_store,android_store', 'apple,google']
/** More rows than these take a while to load. */
const MANY_PLACES = 20_000

const hasOurPaths = async (client: AppDataClient) =>
  (await askIfOffered(client, '/v3/app_data/ios_store/categories')) !== null

/**
 * Without the names of the stores nothing else can be asked: then this is the only finding.
 * @param openNamed a client that calls the stores by other names
 */
export async function checkStoreNames(
  client: AppDataClient,
  openNamed: (names: string) => AppDataClient,
): Promise<Finding> {
  const about = 'names of the stores'
  if (await hasOurPaths(client)) {
    const named = STORES.map((store) => client.dialect.toService(`/v3/app_data/${store}/`).split('/')[3])
    return judge(
      about,
      named[0] === 'ios_store',
      'Paths name the stores ios_store and android_store.',
      `Paths name the stores ${named.join(' and ')}. They are called so; tables keep their names.`,
    )
  }
  for (const names of KNOWN_NAMES) {
    const other = openNamed(names)
    const isThere = await hasOurPaths(other).finally(() => other.close())
    if (isThere)
      return obstacle(about, `No path that storerank calls is there. Set APP_DATA_STORES=${names}.`)
  }
  return obstacle(
    about,
    'Paths are neither those of the specification nor those of the service as it is sold. ' +
      'Check APP_DATA_URL, or set APP_DATA_STORES to the two segments that stand for the stores.',
  )
}

/** The reference lists: whether they are there, and how long. */
export async function checkLists(client: AppDataClient): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const store of STORES) {
    const languages = rowsIn(await askIfOffered(client, `/v3/app_data/${store}/languages`))
    const codes = languages.map((row) => (isObject(row) ? String(row.language_code) : ''))
    const regional = codes.find((code) => code.includes('-'))
    const locations = await askIfOffered(client, `/v3/app_data/${store}/locations`)
    const places = rowsIn(locations).length
    const megabytes = Math.round((locations?.rawBytes ?? 0) / 1_000_000)
    findings.push(
      describeList(
        `languages of ${store}`,
        codes.length,
        regional === undefined,
        `${codes.length} languages.`,
        `${codes.length} languages, with regional ones such as ${regional}. ` +
          'A watch takes them as they are; everything but android keywords needs one.',
      ),
      describeList(
        `locations of ${store}`,
        places,
        places < MANY_PLACES,
        `${places} locations.`,
        `${places} locations in ${megabytes} MB. They are loaded in parts, and hold nothing else up.`,
      ),
    )
  }
  return findings
}

function describeList(
  about: string,
  rows: number,
  isUsual: boolean,
  says: string,
  otherwise: string,
): Finding {
  return rows === 0
    ? obstacle(about, 'The list is empty or missing. Ask the service why.')
    : judge(about, isUsual, says, otherwise)
}

/** What the service sells beyond its specification. */
export async function checkOffers(client: AppDataClient): Promise<Finding[]> {
  const askReady = (path: string) => askIfOffered(client, `/v3/app_data/${path}tasks_ready`, 'tasks_ready')
  const charts = await askReady('ios_store/app_list/')
  const reviews = await askReady('android_store/app_reviews/')
  const androidCharts = await askReady('android_store/app_list/')
  const all = await askReady('')
  const empty = [charts, reviews, androidCharts, all].find((reply) => reply?.task?.resultCount === 0)
  const describeOffer = (about: string, isMissing: boolean) =>
    judge(
      about,
      isMissing,
      'The service has none: a watch on them is a gap that says so.',
      'The service sells them, though its specification has none. They can be watched.',
    )
  return [
    describeOffer('charts of ios_store', charts === null),
    describeOffer('reviews of android_store', reviews === null),
    judge(
      'ready lists',
      all === null,
      'Each function of a store has its own list.',
      'One list has the results of all functions. It is asked instead of eight.',
    ),
    !empty?.task
      ? holds('an empty list', 'No list is empty now.')
      : judge(
          'an empty list',
          empty.task.result !== null,
          'It is a list without rows.',
          'It is null. With a count of 0 that is read as empty.',
        ),
  ]
}
