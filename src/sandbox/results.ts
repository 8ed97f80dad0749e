/** Results: what a task found, as `task_get` gives it in each form. The same task gives the same result for ever. */

import type { App, Catalogue } from './catalogue.ts'
import { buildCatalogue } from './catalogue.ts'
import { buildCharts, type ChartMaker } from './charts.ts'
import { isInStore, type StoreEvent } from './events.ts'
import { fraction, hashText, mix, pick } from './hash.ts'
import { decodeKeyword } from './keyword.ts'
import {
  appUrl,
  describeApp,
  SE_DOMAINS,
  showInfoItem,
  showListItem,
  showRating,
  type View,
} from './listing.ts'
import { type Form, findOffer, type Store, type TaskFunction } from './offers.ts'
import { writeInfoPage, writeListPages } from './pages.ts'
import { buildRanker, type Ranker } from './ranking.ts'
import type { RealApp } from './real-apps.ts'
import { countReviews, listReviews } from './reviews.ts'
import { dayOf, formatTimestamp } from './timestamp.ts'

/** What a task asks for. `subject` is the keyword as posted, the app id, or the collection. */
type Question = {
  store: Store
  function: TaskFunction
  subject: string
  category?: string
  locationCode: number
  languageCode: string
  depth: number
  /** The answer is that of this moment. */
  doneAtMs: number
}

/** Answers questions about the two stores. */
export type Answers = {
  /** How many results come back, as they are billed: never more than the depth asked for; 0 when the store finds nothing. */
  count(question: Question): number
  /** The element of `result` in a form; only for a question of which `count` is not 0. */
  show(question: Question, form: Form): Record<string, unknown>
}

/** Paid items stand in front of this share of searches, a bundle further down in another. */
const PAID_SHARE = 0.4
const BUNDLE_SHARE = 0.25

type StoreAnswers = { catalogue: Catalogue; rank: Ranker; chart: ChartMaker }

const viewOf = (question: Question): View => ({
  locationCode: question.locationCode,
  languageCode: question.languageCode,
  day: dayOf(question.doneAtMs),
})

/** Items that are no organic results, each behind `after` organic ones: on top of the depth, and billed like any result. */
const findExtras = (
  question: Question,
  ranked: readonly App[],
): { kind: string; app: App; after: number }[] => {
  const noise = mix(hashText(question.subject), dayOf(question.doneAtMs) ^ question.locationCode)
  const extras: { kind: string; app: App; after: number }[] = []
  if (fraction(mix(noise, 1)) < PAID_SHARE)
    extras.push({ kind: 'search_paid', app: pick(ranked, mix(noise, 2)), after: 0 })
  if (fraction(mix(noise, 3)) < BUNDLE_SHARE) {
    extras.push({ kind: 'search_bundle', app: pick(ranked, mix(noise, 4)), after: 3 + (mix(noise, 5) % 15) })
  }
  return extras
}

/** What a search or a chart shows, from top to bottom. */
const arrange = (question: Question, ranked: readonly App[]): { kind: string; app: App }[] => {
  const isSearch = question.function === 'app_searches'
  const kind = isSearch ? 'search_organic' : 'list_organic'
  const found = ranked.slice(0, question.depth).map((app) => ({ kind, app }))
  const extras = isSearch && found.length > 0 ? findExtras(question, ranked) : []
  return found.flatMap((organic, index) => [...extras.filter(({ after }) => after === index), organic])
}

const listItems = (question: Question, ranked: readonly App[]) => {
  const view = viewOf(question)
  const listed = arrange(question, ranked)
  const groups: Record<string, number> = {}
  return listed.map(({ kind, app }, index) => {
    const group = (groups[kind] ?? 0) + 1
    groups[kind] = group
    return showListItem(question.store, app, view, { kind, group, absolute: index + 1 })
  })
}

/** The keyword as meant, or the collection as posted. */
const headingOf = (question: Question): string =>
  question.function === 'app_searches' ? decodeKeyword(question.subject) : question.subject

const checkUrlOf = (question: Question): string => {
  const place = `location=${question.locationCode}&hl=${question.languageCode}`
  const text = encodeURIComponent(headingOf(question).toWellFormed())
  const base = `https://${SE_DOMAINS[question.store]}`
  if (question.function === 'app_searches') return `${base}/search?term=${text}&${place}`
  return `${base}/store/apps/${question.category ? `category/${question.category}/` : ''}collection/${text}?${place}`
}

/** The fields that every result shares. */
const frameOf = (question: Question) => ({
  se_domain: SE_DOMAINS[question.store],
  location_code: question.locationCode,
  language_code: question.languageCode,
})

const showList = (question: Question, ranked: readonly App[]) => {
  const items = listItems(question, ranked)
  return {
    keyword: headingOf(question),
    ...frameOf(question),
    check_url: checkUrlOf(question),
    datetime: formatTimestamp(question.doneAtMs),
    se_results_count: ranked.length,
    items_count: items.length,
    items,
  }
}

const showInfo = (question: Question, catalogue: Catalogue, app: App) => {
  const item = showInfoItem(catalogue, app, viewOf(question))
  return {
    app_id: app.id,
    ...frameOf(question),
    check_url: item.url,
    datetime: formatTimestamp(question.doneAtMs),
    se_results_count: 1,
    items_count: 1,
    items: [item],
  }
}

const showReviews = (question: Question, app: App) => {
  const view = viewOf(question)
  const items = listReviews(app, question.doneAtMs, question.depth)
  return {
    app_id: app.id,
    type: 'app_reviews',
    ...frameOf(question),
    check_url: `${appUrl(question.store, app, view)}?see-all=reviews`,
    datetime: formatTimestamp(question.doneAtMs),
    title: describeApp(question.store, app, view).title,
    rating: showRating(app, view.day),
    reviews_count: null,
    items_count: items.length,
    items,
  }
}

const showPages = (question: Question, pages: readonly string[]) => {
  const datetime = formatTimestamp(question.doneAtMs)
  return {
    ...(question.function === 'app_info' ? { app_id: question.subject } : { keyword: headingOf(question) }),
    type: findOffer(question.store, question.function).seType,
    ...frameOf(question),
    datetime,
    items_count: pages.length,
    items: pages.map((html, index) => ({ page: index + 1, date: datetime, html })),
  }
}

const openStore = (
  store: Store,
  seed: number,
  realApps: readonly RealApp[],
  events: readonly StoreEvent[],
): StoreAnswers => {
  const catalogue = buildCatalogue(store, seed, realApps, events)
  return { catalogue, rank: buildRanker(catalogue, seed), chart: buildCharts(catalogue, seed) }
}

const buildAnswers = (seed: number, realApps: readonly RealApp[], events: readonly StoreEvent[]): Answers => {
  const stores = {
    ios_store: openStore('ios_store', seed, realApps, events),
    android_store: openStore('android_store', seed, [], events),
  }
  const findApp = (question: Question) => {
    const app = stores[question.store].catalogue.findApp(question.subject)
    return app && isInStore(app.events, dayOf(question.doneAtMs)) ? app : undefined
  }
  const listApps = (question: Question): readonly App[] => {
    const { rank, chart } = stores[question.store]
    if (question.function === 'app_searches')
      return rank({ keyword: headingOf(question), ...viewOf(question) })
    const { subject: collection, category } = question
    return chart({ collection, ...(category !== undefined && { category }), ...viewOf(question) })
  }
  const requireApp = (question: Question): App => {
    const app = findApp(question)
    if (!app) throw new Error(`The store has no app ${question.subject}`)
    return app
  }
  return {
    count: (question) => {
      if (question.function === 'app_info') return Number(findApp(question) !== undefined)
      if (question.function !== 'app_reviews') {
        return Math.min(question.depth, arrange(question, listApps(question)).length)
      }
      const app = findApp(question)
      return app ? Math.min(question.depth, countReviews(app, question.doneAtMs)) : 0
    },
    show: (question, form) => {
      if (question.function === 'app_reviews') return showReviews(question, requireApp(question))
      const view = viewOf(question)
      if (question.function === 'app_info') {
        const { catalogue } = stores[question.store]
        const app = requireApp(question)
        return form === 'advanced'
          ? showInfo(question, catalogue, app)
          : showPages(question, [writeInfoPage(showInfoItem(catalogue, app, view), view)])
      }
      const ranked = listApps(question)
      if (form === 'advanced') return showList(question, ranked)
      return showPages(question, writeListPages(headingOf(question), ranked.slice(0, question.depth), view))
    },
  }
}

/** The answers made last without real apps and events: sandboxes of one seed in one process share them. */
let invented: { seed: number; answers: Answers } | undefined

/** Opens both stores of a seed, with real apps for the ios_store if there are any, and with what happens to apps of both. */
export const openAnswers = (
  seed: number,
  realApps: readonly RealApp[],
  events: readonly StoreEvent[],
): Answers => {
  if (realApps.length + events.length > 0) return buildAnswers(seed, realApps, events)
  if (invented?.seed !== seed) invented = { seed, answers: buildAnswers(seed, [], []) }
  return invented.answers
}
