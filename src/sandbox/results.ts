/**
 * Results: what a task found, as `task_get` gives it in each form. The same task gives the same result for
 * ever.
 */

import type { PostedTask } from './books.ts'
import type { App, Catalogue } from './catalogue.ts'
import { buildCatalogue } from './catalogue.ts'
import { buildCharts, type ChartMaker } from './charts.ts'
import type { Deviations } from './deviations.ts'
import { isAdvertised, isInStore, type StoreEvent } from './events.ts'
import { fraction, hashText, mix, pick } from './hash.ts'
import { decodeKeyword, tokenize } from './keyword.ts'
import {
  appUrl,
  describeApp,
  SE_DOMAINS,
  showInfoItem,
  showListItem,
  showRating,
  type View,
} from './listing.ts'
import { type Form, RESULT_TYPES, type Store, type TaskFunction } from './offers.ts'
import { writeInfoPage, writeListPages, writeReviewsPages } from './pages.ts'
import { buildRanker, type Ranker } from './ranking.ts'
import type { RealApp } from './real-apps.ts'
import { remember } from './remember.ts'
import { countReviews, countWanted, listReviews } from './reviews.ts'
import { dayOf, formatTimestamp } from './timestamp.ts'

/**
 * What a task asks for. `subject` is the keyword as posted, the app id, or the collection; the answer is that
 * of the moment at which the task is done.
 */
type Question = Pick<
  PostedTask,
  'store' | 'subject' | 'locationCode' | 'languageCode' | 'depth' | 'doneAtMs'
> &
  Pick<PostedTask, 'category' | 'ageRating' | 'sortBy' | 'rating'> & { function: TaskFunction }

/** Answers questions about the two stores. */
export type Answers = {
  /** The apps of each store. */
  stores: Record<Store, { catalogue: Catalogue }>
  /**
   * How many results come back, as they are billed: never more than the depth asked for; 0 when the store
   * finds nothing.
   */
  count(question: Question): number
  /** The element of `result` in a form; only for a question of which `count` is not 0. */
  show(question: Question, form: Form): Record<string, unknown>
}

/** Paid items stand in front of this share of searches, a bundle further down in another. */
const PAID_SHARE = 0.4
const BUNDLE_SHARE = 0.25

type StoreAnswers = { catalogue: Catalogue; rank: Ranker; chart: ChartMaker; advertisers: readonly App[] }

const viewOf = (question: Question): View => ({
  locationCode: question.locationCode,
  languageCode: question.languageCode,
  day: dayOf(question.doneAtMs),
})

/** The keyword as meant, or the collection as posted. */
const headingOf = (question: Question): string =>
  question.function === 'app_searches' ? decodeKeyword(question.subject) : question.subject

/**
 * Items that are no organic results, each behind `after` organic ones: on top of the depth, and billed like
 * any result.
 */
const findExtras = (
  question: Question,
  ranked: readonly App[],
  advertisers: readonly App[],
): { kind: string; app: App; after: number }[] => {
  const day = dayOf(question.doneAtMs)
  const words = tokenize(headingOf(question))
  const extras = advertisers
    .filter(({ events }) => isAdvertised(events, day, words))
    .map((app) => ({ kind: 'search_paid', app, after: 0 }))
  const noise = mix(hashText(question.subject), dayOf(question.doneAtMs) ^ question.locationCode)
  if (fraction(mix(noise, 1)) < PAID_SHARE)
    extras.push({ kind: 'search_paid', app: pick(ranked, mix(noise, 2)), after: 0 })
  if (fraction(mix(noise, 3)) < BUNDLE_SHARE) {
    extras.push({ kind: 'search_bundle', app: pick(ranked, mix(noise, 4)), after: 3 + (mix(noise, 5) % 15) })
  }
  return extras
}

/** What a search or a chart shows, from top to bottom. */
const arrange = (
  question: Question,
  ranked: readonly App[],
  advertisers: readonly App[],
  deviations: Deviations,
): { kind: string; app: App }[] => {
  const isSearch = question.function === 'app_searches'
  const kind = isSearch ? 'search_organic' : 'list_organic'
  const found = ranked.slice(0, question.depth).map((app) => ({ kind, app }))
  // As it is sold, a search has organic items only.
  const hasExtras = isSearch && found.length > 0 && !deviations.has('types')
  const extras = hasExtras ? findExtras(question, ranked, advertisers) : []
  return found.flatMap((organic, index) => [...extras.filter(({ after }) => after === index), organic])
}

const listItems = (
  question: Question,
  listed: readonly { kind: string; app: App }[],
  deviations: Deviations,
) => {
  const view = viewOf(question)
  const groups: Record<string, number> = {}
  return listed.map(({ kind, app }, index) => {
    const group = (groups[kind] ?? 0) + 1
    groups[kind] = group
    return showListItem(question.store, app, view, { kind, group, absolute: index + 1 }, deviations)
  })
}

const checkUrlOf = (question: Question): string => {
  const place = `location=${question.locationCode}&hl=${question.languageCode}`
  const text = encodeURIComponent(headingOf(question).toWellFormed())
  const base = `https://${SE_DOMAINS[question.store]}`
  if (question.function === 'app_searches') return `${base}/search?term=${text}&${place}`
  const category = question.category ? `category/${question.category}/` : ''
  return `${base}/store/apps/${category}collection/${text}?${place}`
}

/** The fields that every result shares. */
const frameOf = (question: Question) => ({
  se_domain: SE_DOMAINS[question.store],
  location_code: question.locationCode,
  language_code: question.languageCode,
})

const showList = (
  question: Question,
  ranked: readonly App[],
  listed: readonly { kind: string; app: App }[],
  deviations: Deviations,
) => {
  const items = listItems(question, listed, deviations)
  const isSparse = deviations.has('nulls')
  return {
    keyword: headingOf(question),
    ...frameOf(question),
    check_url: isSparse && question.store === 'ios_store' ? null : checkUrlOf(question),
    datetime: formatTimestamp(question.doneAtMs),
    se_results_count: isSparse && question.store === 'android_store' ? 0 : ranked.length,
    items_count: items.length,
    items,
  }
}

const showInfo = (question: Question, catalogue: Catalogue, app: App, deviations: Deviations) => {
  const item = showInfoItem(catalogue, app, viewOf(question), deviations)
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

/** What is added to the address of an app for its reviews. */
const ALL_REVIEWS = { ios_store: '?see-all=reviews', android_store: '&showAllReviews=true' }

const showReviews = (question: Question, app: App, deviations: Deviations) => {
  const view = viewOf(question)
  const items = listReviews(app, question.doneAtMs, question, deviations)
  return {
    app_id: app.id,
    type: 'app_reviews',
    ...frameOf(question),
    check_url: appUrl(question.store, app, view) + ALL_REVIEWS[question.store],
    datetime: formatTimestamp(question.doneAtMs),
    title: describeApp(question.store, app, view).title,
    rating: showRating(app, view.day),
    reviews_count: question.store === 'ios_store' ? null : countReviews(app, question.doneAtMs),
    items_count: items.length,
    items,
  }
}

const showPages = (question: Question, pages: readonly string[]) => {
  const datetime = formatTimestamp(question.doneAtMs)
  return {
    ...(question.function === 'app_info' || question.function === 'app_reviews'
      ? { app_id: question.subject }
      : { keyword: headingOf(question) }),
    type: RESULT_TYPES[question.function],
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
  const advertisers = catalogue.allApps().filter((app) => app.events.some(({ paid }) => paid === true))
  return { catalogue, rank: buildRanker(catalogue, seed), chart: buildCharts(catalogue, seed), advertisers }
}

const buildAnswers = (
  seed: number,
  realApps: readonly RealApp[],
  events: readonly StoreEvent[],
  deviations: Deviations,
): Answers => {
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
    const { subject: collection, category, ageRating } = question
    return chart({ collection, category, ageRating, ...viewOf(question) })
  }
  const arrangeApps = (question: Question, ranked: readonly App[]) =>
    arrange(question, ranked, stores[question.store].advertisers, deviations)
  const requireApp = (question: Question): App => {
    const app = findApp(question)
    if (!app) throw new Error(`The store has no app ${question.subject}`)
    return app
  }
  const showAsPages = (question: Question): readonly string[] => {
    const view = viewOf(question)
    if (question.function === 'app_info') {
      const { catalogue } = stores[question.store]
      return [writeInfoPage(showInfoItem(catalogue, requireApp(question), view, deviations), view)]
    }
    if (question.function === 'app_reviews') {
      const app = requireApp(question)
      return writeReviewsPages(app, listReviews(app, question.doneAtMs, question, deviations), view)
    }
    return writeListPages(headingOf(question), listApps(question).slice(0, question.depth), view)
  }
  return {
    stores,
    count: (question) => {
      if (question.function === 'app_info') return Number(findApp(question) !== undefined)
      if (question.function !== 'app_reviews') {
        return Math.min(question.depth, arrangeApps(question, listApps(question)).length)
      }
      const app = findApp(question)
      return app ? countWanted(app, question.doneAtMs, question) : 0
    },
    show: (question, form) => {
      if (form === 'html') return showPages(question, showAsPages(question))
      if (question.function === 'app_reviews') return showReviews(question, requireApp(question), deviations)
      if (question.function === 'app_info') {
        return showInfo(question, stores[question.store].catalogue, requireApp(question), deviations)
      }
      const ranked = listApps(question)
      return showList(question, ranked, arrangeApps(question, ranked), deviations)
    },
  }
}

/**
 * The answers made last without real apps and events: sandboxes of one seed and one form in one process share
 * them.
 */
const invented = remember<Answers>(2)

/**
 * Opens both stores of a seed, with real apps for the ios_store if there are any, and with what happens to
 * apps of both.
 */
export const openAnswers = (
  seed: number,
  realApps: readonly RealApp[],
  events: readonly StoreEvent[],
  deviations: Deviations,
): Answers => {
  const build = () => buildAnswers(seed, realApps, events, deviations)
  if (realApps.length + events.length > 0) return build()
  return invented(JSON.stringify([seed, ...[...deviations].sort()]), build)
}
