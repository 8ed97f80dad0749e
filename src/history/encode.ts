/** Pure: fetched results as the rows that the history stores. */
import { createHash } from 'node:crypto'
import type { Fetched } from '../collect/fetch.ts'
import type { InfoResult } from '../service/results.ts'
import type { RankedApp, SearchResult } from '../service/search-result.ts'
import type { Capture, RankingCapture, SeenReview, SnapshotCapture, SnapshotColumns } from './captures.ts'
import type { AppIds, SeenApps } from './dictionary.ts'
import type { SeenNumbers } from './numbers.ts'

type Of<Kind extends Fetched['kind']> = Extract<Fetched, { kind: Kind }>

/** Pure: what a search or a chart ranked, as a row of the history. */
export function toRanking(fetched: Of<'ranking'>, idOf: AppIds): RankingCapture {
  const { item, search, incomplete } = fetched
  const { apps, absolute, paid, resultsCount } = search ?? NOTHING_FOUND
  const numberOf = (app: RankedApp | null) => (app === null ? 0 : (idOf(item.store, app.appId) ?? 0))
  return {
    ...captureOf(fetched, search),
    resultsCount,
    incomplete,
    appIds: apps.map(numberOf),
    absolute,
    paid: paid.map(({ app, place }) => ({ id: numberOf(app), place })),
  }
}

const NOTHING_FOUND = { apps: [], absolute: null, paid: [], resultsCount: 0 }

/** Pure: the numbers of all apps that a search or a chart shows; none when it does not say where and when. */
export function toNumbers(fetched: Fetched, idOf: AppIds): SeenNumbers[] {
  if (fetched.kind !== 'ranking') return []
  const { item, search } = fetched
  const { locationCode, datetime } = search ?? { locationCode: null, datetime: null }
  if (locationCode === null || datetime === null) return []
  const day = datetime.toISOString().slice(0, 10)
  return listedApps(fetched).flatMap(({ appId, numbers }): SeenNumbers[] => {
    const id = idOf(item.store, appId)
    return id === undefined ? [] : [{ id, locationCode, day, numbers }]
  })
}

/** Pure: an app's page, or what stands above its reviews, as a row of the history. */
export function toSnapshot(fetched: Of<'snapshot' | 'reviews'>, idOf: AppIds): SnapshotCapture {
  const { item } = fetched
  const result = resultOf(fetched)
  const capture = captureOf(fetched, result)
  const app = result === null ? undefined : idOf(item.store, result.appId)
  if (result === null || app === undefined) return capture
  const { rating, reviewsCount } = result
  const said = { app, rating: rating?.value ?? null, votesCount: rating?.votesCount ?? null, reviewsCount }
  return { ...capture, ...said, ...('installsCount' in result ? pageOf(result) : {}) }
}

/** Pure: the reviews of an app as rows of the history. */
export function toReviews(fetched: Of<'reviews'>, idOf: AppIds): SeenReview[] {
  const { item, reviews } = fetched
  const app = reviews === null ? undefined : idOf(item.store, reviews.appId)
  if (reviews === null || app === undefined) return []
  return reviews.items.map(({ id, rating, reviewText, userProfile, timestamp, ...review }) => ({
    ...{ serviceId: item.serviceId, app, reviewId: id, text: reviewText, writtenAt: timestamp },
    ...pick(review, ['version', 'title', 'helpfulCount', 'responses']),
    rating: rating?.value ?? null,
    author: userProfile?.profileName ?? null,
    authorImage: userProfile?.profileImageUrl ?? null,
    firstSeenAt: reviews.datetime,
    lastSeenAt: reviews.datetime,
  }))
}

/** Pure: raw pages, where nothing else is offered, as rows of the archive. */
export function toPages(fetched: Of<'pages'>): Capture {
  return captureOf(fetched, { datetime: fetched.html.datetime, checkUrl: null })
}

function captureOf(
  fetched: Of<'ranking' | 'snapshot' | 'reviews' | 'pages'>,
  result: Pick<SearchResult, 'datetime' | 'checkUrl'> | null,
): Capture {
  return {
    serviceId: fetched.item.serviceId,
    statusCode: fetched.statusCode,
    capturedAt: result?.datetime ?? null,
    checkUrl: result?.checkUrl ?? null,
    resultsReturned: fetched.resultsReturned,
    pages: fetched.html?.pages ?? [],
    problem: fetched.problem,
  }
}

/** In the order in which they are hashed. */
const DETAILS = [
  ...(['subtitle', 'developer', 'developerId', 'developerUrl', 'developerEmail'] as const),
  ...(['developerAddress', 'developerWebsite', 'categories', 'languages', 'advisories'] as const),
  ...(['genres', 'tags', 'videos', 'similarApps', 'moreAppsByDeveloper'] as const),
] as const

function pick<Row extends object, Field extends keyof Row>(row: Row, fields: readonly Field[]) {
  return Object.fromEntries(fields.map((field) => [field, row[field]])) as Pick<Row, Field>
}

function pageOf(info: InfoResult): SnapshotColumns & Pick<SnapshotCapture, 'listing'> {
  const { title, description, updateNotes, icon } = info
  const images = (info.images ?? []).filter((image) => image !== null)
  const content = { title, description, updateNotes, icon, images, details: pick(info, DETAILS) }
  const hash = createHash('sha256').update(JSON.stringify(content)).digest()
  return {
    priceMicros: info.price?.current == null ? null : Math.round(info.price.current * 1_000_000),
    currency: info.price?.currency ?? null,
    ...pick(info, ['isFree', 'version', 'minimumOsVersion', 'size', 'mainCategory', 'installsCount']),
    releasedAt: info.releasedDate,
    updatedAt: info.lastUpdateDate,
    listingHash: hash,
    listing: { hash, ...content },
  }
}

function listedApps({ search }: Of<'ranking'>): RankedApp[] {
  if (search === null) return []
  return [...search.apps.filter((app) => app !== null), ...search.paid.map(({ app }) => app)]
}

/** Pure: every app that a result speaks of, for the dictionary. */
export function appsOf(fetched: Fetched): SeenApps {
  const { store } = fetched.item
  if (fetched.kind === 'ranking') return { store, apps: listedApps(fetched) }
  const isAbout = fetched.kind === 'snapshot' || fetched.kind === 'reviews'
  const app = isAbout ? resultOf(fetched) : null
  return { store, apps: app === null ? [] : [{ developer: null, icon: null, url: null, ...app }] }
}

const resultOf = (fetched: Of<'snapshot' | 'reviews'>) =>
  fetched.kind === 'snapshot' ? fetched.info : fetched.reviews
