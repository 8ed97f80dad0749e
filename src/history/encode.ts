/** Pure: fetched results as the rows that the history stores. */
import { createHash } from 'node:crypto'
import type { Fetched } from '../collect/fetch.ts'
import type { AppReviewsResult, InfoResult, SearchResult } from '../service/results.ts'
import type { Capture } from './captures.ts'
import { appKey, type SeenApp } from './dictionary.ts'
import type { RankingCapture } from './rankings.ts'
import type { SeenReview } from './reviews.ts'
import type { AppPage, SnapshotCapture } from './snapshots.ts'

type Of<Kind extends Fetched['kind']> = Extract<Fetched, { kind: Kind }>
/** Ids of the dictionary by `appKey`. */
type AppIds = ReadonlyMap<string, number>

/** Pure: what a search or a chart ranked, as a row of the history. */
export function toRanking(one: Of<'ranking'>, ids: AppIds): RankingCapture {
  return {
    ...captureOf(one, one.search),
    resultsCount: one.search?.resultsCount ?? 0,
    incomplete: one.incomplete,
    ...encodeRanks(one, ids),
  }
}

/** One place per organic rank up to the last, holes 0; absolute ranks only where one differs. */
function encodeRanks(one: Of<'ranking'>, ids: AppIds) {
  const items = one.search?.items ?? []
  const length = items.reduce((last, item) => Math.max(last, item.rank), 0)
  const appIds = new Array<number>(length).fill(0)
  const absolute = Array.from(appIds, (_, index) => index + 1)
  for (const item of items) {
    appIds[item.rank - 1] = ids.get(appKey(one.item.store, item.appId)) ?? 0
    absolute[item.rank - 1] = item.absolute
  }
  return { appIds, absolute: items.every((item) => item.rank === item.absolute) ? null : absolute }
}

/** Pure: an app's page as a row of the history. */
export function toSnapshot(one: Of<'snapshot'>, ids: AppIds): SnapshotCapture {
  const { info } = one
  return { ...captureOf(one, info), app: describeApp(one, info, ids, info === null ? null : toPage(info)) }
}

/** Pure: what stands above the reviews of an app, as a row of the history. */
export function toReviewsSnapshot(one: Of<'reviews'>, ids: AppIds): SnapshotCapture {
  const { reviews } = one
  return { ...captureOf(one, reviews), app: describeApp(one, reviews, ids, null) }
}

/** Pure: the reviews of an app as rows of the history. */
export function toReviews(one: Of<'reviews'>, ids: AppIds): SeenReview[] {
  const { item, reviews } = one
  const app = reviews === null ? undefined : ids.get(appKey(item.store, reviews.appId))
  if (reviews === null || app === undefined) return []
  return reviews.items.map((review) => ({
    serviceId: item.serviceId,
    app,
    reviewId: review.id,
    version: review.version,
    rating: review.rating?.value ?? null,
    title: review.title,
    text: review.reviewText,
    author: review.userProfile?.profileName ?? null,
    authorImage: review.userProfile?.profileImageUrl ?? null,
    writtenAt: review.timestamp,
    firstSeenAt: reviews.datetime,
    lastSeenAt: reviews.datetime,
  }))
}

/** Pure: raw pages, where nothing else is offered, as rows of the archive. */
export function toPages(one: Of<'pages'>): Capture {
  return captureOf(one, { datetime: one.html.datetime, checkUrl: null })
}

function captureOf(
  one: Of<'ranking' | 'snapshot' | 'reviews' | 'pages'>,
  result: Pick<SearchResult, 'datetime' | 'checkUrl'> | null,
): Capture {
  return {
    serviceId: one.item.serviceId,
    statusCode: one.statusCode,
    capturedAt: result?.datetime ?? null,
    checkUrl: result?.checkUrl ?? null,
    unitsPosted: one.unitsPosted,
    unitsReturned: one.unitsReturned,
    pages: one.html?.pages ?? [],
    problem: one.problem,
  }
}

function describeApp(
  { item }: Fetched,
  result: (Pick<AppReviewsResult, 'rating' | 'reviewsCount'> & { readonly appId: string }) | null,
  ids: AppIds,
  page: AppPage | null,
): SnapshotCapture['app'] {
  const id = result === null ? undefined : ids.get(appKey(item.store, result.appId))
  if (result === null || id === undefined) return null
  const { rating, reviewsCount } = result
  return { id, rating: rating?.value ?? null, votesCount: rating?.votesCount ?? null, reviewsCount, page }
}

function toPage(info: InfoResult): AppPage {
  const { title, description, updateNotes, icon } = info
  const images = (info.images ?? []).filter((image) => image !== null)
  const details = {
    developer: info.developer,
    developerId: info.developerId,
    developerUrl: info.developerUrl,
    developerEmail: info.developerEmail,
    developerAddress: info.developerAddress,
    developerWebsite: info.developerWebsite,
    categories: info.categories,
    languages: info.languages,
    advisories: info.advisories,
    genres: info.genres,
    tags: info.tags,
    videos: info.videos,
    similarApps: info.similarApps,
    moreAppsByDeveloper: info.moreAppsByDeveloper,
  }
  const content = { title, description, updateNotes, icon, images, details }
  const hash = `\\x${createHash('sha256').update(JSON.stringify(content)).digest('hex')}`
  return {
    priceMicros: info.price?.current == null ? null : Math.round(info.price.current * 1_000_000),
    currency: info.price?.currency ?? null,
    isFree: info.isFree,
    version: info.version,
    minimumOsVersion: info.minimumOsVersion,
    size: info.size,
    mainCategory: info.mainCategory,
    installsCount: info.installsCount,
    releasedAt: info.releasedDate,
    updatedAt: info.lastUpdateDate,
    listing: { hash, ...content },
  }
}

/** Pure: every app that a result speaks of, for the dictionary. */
export function appsOf(one: Fetched): SeenApp[] {
  const { store } = one.item
  switch (one.kind) {
    case 'ranking':
      return (one.search?.items ?? []).map(({ appId, title, developer, icon, url }) => ({
        store,
        appId,
        title,
        developer,
        icon,
        url,
      }))
    case 'snapshot': {
      if (one.info === null) return []
      const { appId, title, developer, icon, url } = one.info
      return [{ store, appId, title, developer, icon, url }]
    }
    case 'reviews': {
      if (one.reviews === null) return []
      const { appId, title } = one.reviews
      return [{ store, appId, title, developer: null, icon: null, url: null }]
    }
    default:
      return []
  }
}
