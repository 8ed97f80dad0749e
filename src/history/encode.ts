/** Pure: fetched results as the rows that the history stores. */
import { createHash } from 'node:crypto'
import type { Fetched } from '../collect/fetch.ts'
import type { InfoResult, SearchResult } from '../service/results.ts'
import type { AppDetails, Capture, RankingCapture, SnapshotCapture } from './captures.ts'
import { appKey, type SeenApp } from './dictionary.ts'
import type { PagesCapture } from './pages.ts'

/** Pure: a search result as a row of the history. */
export function toRanking(
  one: Extract<Fetched, { kind: 'ranking' }>,
  ids: ReadonlyMap<string, number>,
): RankingCapture {
  return {
    ...captureOf(one, one.search),
    resultsCount: one.search?.resultsCount ?? 0,
    ...encodeRanks(one, ids),
  }
}

/** One place per organic rank up to the last, holes 0; absolute ranks only where one differs. */
function encodeRanks(one: Extract<Fetched, { kind: 'ranking' }>, ids: ReadonlyMap<string, number>) {
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
export function toSnapshot(
  one: Extract<Fetched, { kind: 'snapshot' }>,
  ids: ReadonlyMap<string, number>,
): SnapshotCapture {
  const { info, item } = one
  const id = info === null ? undefined : ids.get(appKey(item.store, info.appId))
  return { ...captureOf(one, info), app: info === null || id === undefined ? null : toDetails(info, id) }
}

/** Pure: raw pages as rows of the archive. */
export function toPages(one: Extract<Fetched, { kind: 'pages' }>): PagesCapture {
  const { datetime, items } = one.html
  return { ...captureOf(one, { datetime, checkUrl: null }), pages: items }
}

function captureOf(
  one: Extract<Fetched, { kind: 'ranking' | 'snapshot' | 'pages' }>,
  result: Pick<SearchResult, 'datetime' | 'checkUrl'> | null,
): Capture {
  return {
    serviceId: one.item.serviceId,
    statusCode: one.statusCode,
    capturedAt: result?.datetime ?? null,
    checkUrl: result?.checkUrl ?? null,
    unitsPosted: one.unitsPosted,
    unitsReturned: one.unitsReturned,
  }
}

function toDetails(info: InfoResult, id: number): AppDetails {
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
    id,
    rating: info.rating?.value ?? null,
    votesCount: info.rating?.votesCount ?? null,
    reviewsCount: info.reviewsCount,
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
  if (one.kind === 'ranking') {
    return (one.search?.items ?? []).map(({ appId, title, developer, icon, url }) => ({
      store,
      appId,
      title,
      developer,
      icon,
      url,
    }))
  }
  if (one.kind !== 'snapshot' || one.info === null) return []
  const { appId, title, developer, icon, url } = one.info
  return [{ store, appId, title, developer, icon, url }]
}
