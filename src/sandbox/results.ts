/** What a task found, as `task_get` gives it in each form: the same for ever. */

import type { PostedTask } from './books.ts'
import { type App, buildCatalogue, type Catalogue, readRealApps } from './catalogue.ts'
import type { Deviations } from './deviations.ts'
import { isAdvertised, isInStore } from './events.ts'
import { fraction, hashText, mix, pick, remember } from './hash.ts'
import { decodeKeyword, tokenize } from './keyword.ts'
import { appUrl, SE_DOMAINS, showInfoItem, showListItem, showRating, titleOn, type View } from './listing.ts'
import { type Form, resultTypeOf, type Store, type TaskFunction } from './offers.ts'
import type { Options } from './options.ts'
import { rankChart, rankSearch } from './ranking.ts'
import { countReviews, countWanted, listReviews } from './reviews.ts'
import { dayOf, formatTimestamp } from './timestamp.ts'

/** What a task asks for; the answer is that of the moment at which it is done. */
type Question = Pick<PostedTask, 'store' | 'subject' | 'category' | 'ageRating' | 'sortBy' | 'rating'> &
  Pick<PostedTask, 'locationCode' | 'languageCode' | 'depth' | 'doneAtMs'> & { function: TaskFunction }

/** What stands in a search or a chart. */
type Place = { kind: string; app: App }

/** Paid items stand in front of this share of searches, a bundle further down in another. */
const PAID_SHARE = 0.4
const BUNDLE_SHARE = 0.25

const viewOf = ({ locationCode, languageCode, doneAtMs }: Question): View => ({
  locationCode,
  languageCode,
  day: dayOf(doneAtMs),
})

/** The keyword as meant, or the collection as posted. */
const headingOf = (question: Question): string =>
  question.function === 'app_searches' ? decodeKeyword(question.subject) : question.subject

/** Items that are no organic results, each behind `after` organic ones: billed like any result. */
const findExtras = (question: Question, ranked: readonly App[], advertisers: readonly App[]) => {
  const { day, locationCode } = viewOf(question)
  const words = tokenize(headingOf(question))
  const noise = mix(hashText(question.subject), day ^ locationCode)
  const extras = advertisers
    .filter(({ events }) => isAdvertised(events, day, words))
    .map((app) => ({ kind: 'search_paid', app, after: 0 }))
  if (fraction(mix(noise, 1)) < PAID_SHARE) {
    extras.push({ kind: 'search_paid', app: pick(ranked, mix(noise, 2)), after: 0 })
  }
  if (fraction(mix(noise, 3)) < BUNDLE_SHARE) {
    extras.push({ kind: 'search_bundle', app: pick(ranked, mix(noise, 4)), after: 3 + (mix(noise, 5) % 15) })
  }
  return extras
}

const checkUrlOf = ({ store, function: fn, category, ...question }: Question, heading: string): string => {
  const place = `location=${question.locationCode}&hl=${question.languageCode}`
  const text = encodeURIComponent(heading.toWellFormed())
  const base = `https://${SE_DOMAINS[store]}`
  if (fn === 'app_searches') return `${base}/search?term=${text}&${place}`
  return `${base}/store/apps/${category ? `category/${category}/` : ''}collection/${text}?${place}`
}

/** The fields that every result shares. */
const frameOf = (question: Question, items: readonly unknown[]) => ({
  se_domain: SE_DOMAINS[question.store],
  location_code: question.locationCode,
  language_code: question.languageCode,
  datetime: formatTimestamp(question.doneAtMs),
  items_count: items.length,
  items,
})

const showList = (
  question: Question,
  ranked: readonly App[],
  listed: readonly Place[],
  deviations: Deviations,
) => {
  const { store } = question
  const view = viewOf(question)
  const isSparse = deviations.has('nulls')
  const groups: Record<string, number> = {}
  const items = listed.map(({ kind, app }, index) => {
    const group = (groups[kind] ?? 0) + 1
    groups[kind] = group
    return showListItem(store, app, view, { kind, group, absolute: index + 1 }, deviations)
  })
  return {
    keyword: headingOf(question),
    ...frameOf(question, items),
    check_url: isSparse && store === 'ios_store' ? null : checkUrlOf(question, headingOf(question)),
    se_results_count: isSparse && store === 'android_store' ? 0 : ranked.length,
  }
}

const showInfo = (question: Question, catalogue: Catalogue, app: App, deviations: Deviations) => {
  const item = showInfoItem(catalogue, app, viewOf(question), deviations)
  return { app_id: app.id, ...frameOf(question, [item]), check_url: item.url, se_results_count: 1 }
}

/** What is added to the address of an app for its reviews. */
const ALL_REVIEWS = { ios_store: '?see-all=reviews', android_store: '&showAllReviews=true' }

const showReviews = (question: Question, app: App, deviations: Deviations) => {
  const { store, doneAtMs } = question
  const view = viewOf(question)
  const items = listReviews(app, doneAtMs, question, deviations)
  return {
    app_id: app.id,
    type: 'app_reviews',
    ...frameOf(question, items),
    check_url: appUrl(store, app, view) + ALL_REVIEWS[store],
    title: titleOn(app, view.day),
    rating: showRating(app, view.day),
    reviews_count: store === 'ios_store' ? null : countReviews(app, doneAtMs),
  }
}

/** Apps on one page of a search or a chart: the next ones come when the reader scrolls. */
const APPS_PER_PAGE = 30

/** Reviews on one page. */
const REVIEWS_PER_PAGE = 150

/** Escapes a text for the content or an attribute of an element. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (sign) => `&${{ '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }[sign] ?? '#39'};`)

const writePage = (title: string, view: View, lines: readonly string[]): string =>
  [
    `<!doctype html><html lang="${escapeHtml(view.languageCode)}"><head><meta charset="utf-8">`,
    `<title>${escapeHtml(title)} – Apps</title></head><body><h1>${escapeHtml(title)}</h1>`,
    ...lines,
    '</body></html>',
  ].join('\n')

/** At least one page where there is a line. */
const writePages = (title: string, view: View, lines: readonly string[], perPage: number): string[] =>
  Array.from({ length: Math.ceil(lines.length / perPage) }, (_, page) =>
    writePage(title, view, lines.slice(page * perPage, (page + 1) * perPage)),
  )

/** The pages of a search or a chart under a heading. */
export const writeListPages = (heading: string, apps: readonly App[], view: View): string[] => {
  const cards = apps.map((app) => {
    const url = escapeHtml(appUrl('android_store', app, view))
    return `<a href="${url}">${escapeHtml(app.title)}</a> <span>${escapeHtml(app.developer)}</span>`
  })
  return writePages(heading, view, cards, APPS_PER_PAGE)
}

/** The pages of an app's reviews. */
export const writeReviewsPages = (
  app: App,
  reviews: ReturnType<typeof listReviews>,
  view: View,
): string[] => {
  const texts = reviews.map(
    ({ id, rating, timestamp, review_text }) =>
      `<article id="${escapeHtml(id)}">${rating.value} ${timestamp} ${escapeHtml(review_text)}</article>`,
  )
  return writePages(app.title, view, texts, REVIEWS_PER_PAGE)
}

/** The page of an app. */
export const writeInfoPage = (item: ReturnType<typeof showInfoItem>, view: View): string => {
  const { developer, price, version, last_update_date, main_category, description } = item
  const facts = [developer, price.displayed_price, version, last_update_date, main_category, description]
  return writePage(item.title, view, [
    ...facts.map((fact) => `<p>${escapeHtml(fact ?? 'Varies with device')}</p>`),
    ...item.images.map((url) => `<img src="${escapeHtml(url)}" alt="Screenshot">`),
  ])
}

const showPages = (question: Question, pages: readonly string[]) => {
  const date = formatTimestamp(question.doneAtMs)
  const isOfApp = question.function === 'app_info' || question.function === 'app_reviews'
  return {
    ...(isOfApp ? { app_id: question.subject } : { keyword: headingOf(question) }),
    type: resultTypeOf(question.function),
    ...frameOf(
      question,
      pages.map((html, index) => ({ page: index + 1, date, html })),
    ),
  }
}

/** Searches and charts that are remembered; one of 400 apps takes about 4 KB. */
const CACHED_LISTS = 5000

type AnswerOptions = Pick<Options, 'seed' | 'catalogFile' | 'events'>

const buildStore = (store: Store, { seed, catalogFile, events }: AnswerOptions) => {
  const realApps = catalogFile && store === 'ios_store' ? readRealApps(catalogFile) : []
  const catalogue = buildCatalogue(store, seed, realApps, events)
  const cached = remember<readonly App[]>(CACHED_LISTS)
  return {
    catalogue,
    advertisers: catalogue.apps.filter((app) => app.events.some(({ paid }) => paid)),
    /** The apps of a search or a chart, best first. */
    listApps: (question: Question): readonly App[] => {
      const { function: fn, subject, category, ageRating } = question
      const view = viewOf(question)
      return cached(JSON.stringify([fn, subject, category, ageRating, view]), () =>
        fn === 'app_searches'
          ? rankSearch(catalogue, headingOf(question), view, seed)
          : rankChart(catalogue, { ...question, collection: subject, day: view.day }, seed),
      )
    },
  }
}

/** The stores built last without real apps and events: sandboxes of one seed in one process share them. */
const invented = remember<ReturnType<typeof buildStore>>(4)

const openStore = (store: Store, options: AnswerOptions) => {
  const isInvented = options.catalogFile === undefined && options.events.length === 0
  const build = () => buildStore(store, options)
  return isInvented ? invented(`${store} ${options.seed}`, build) : build()
}

/** Opens both stores of a seed, with real apps for the ios_store and with events if there are any. */
export const openAnswers = (options: AnswerOptions, deviations: Deviations) => {
  const stores = {
    ios_store: openStore('ios_store', options),
    android_store: openStore('android_store', options),
  }
  const findApp = ({ store, subject, doneAtMs }: Question): App | undefined => {
    const app = stores[store].catalogue.findApp(subject)
    return app && isInStore(app.events, dayOf(doneAtMs)) ? app : undefined
  }
  /** What a search or a chart shows, from top to bottom; as it is sold, a search has organic items only. */
  const arrange = (question: Question, ranked: readonly App[]): Place[] => {
    const isSearch = question.function === 'app_searches'
    const kind = isSearch ? 'search_organic' : 'list_organic'
    const found = ranked.slice(0, question.depth).map((app) => ({ kind, app }))
    const hasExtras = isSearch && found.length > 0 && !deviations.has('types')
    const extras = hasExtras ? findExtras(question, ranked, stores[question.store].advertisers) : []
    return found.flatMap((organic, index) => [...extras.filter(({ after }) => after === index), organic])
  }
  return {
    stores,
    /** How many results come back, as they are billed: never more than the depth asked for. */
    count: (question: Question): number => {
      if (question.function === 'app_info') return Number(findApp(question) !== undefined)
      if (question.function !== 'app_reviews') {
        return Math.min(question.depth, arrange(question, stores[question.store].listApps(question)).length)
      }
      const app = findApp(question)
      return app ? countWanted(app, question.doneAtMs, question) : 0
    },
    /** The element of `result` in a form; only for a question of which `count` is not 0. */
    show: (question: Question, form: Form): Record<string, unknown> => {
      const { catalogue, listApps } = stores[question.store]
      const view = viewOf(question)
      if (question.function === 'app_searches' || question.function === 'app_list') {
        const ranked = listApps(question)
        if (form === 'advanced') return showList(question, ranked, arrange(question, ranked), deviations)
        const pages = writeListPages(headingOf(question), ranked.slice(0, question.depth), view)
        return showPages(question, pages)
      }
      const app = findApp(question)
      if (!app) throw new Error(`The store has no app ${question.subject}`)
      if (question.function === 'app_info') {
        if (form === 'advanced') return showInfo(question, catalogue, app, deviations)
        return showPages(question, [writeInfoPage(showInfoItem(catalogue, app, view, deviations), view)])
      }
      if (form === 'advanced') return showReviews(question, app, deviations)
      const reviews = listReviews(app, question.doneAtMs, question, deviations)
      return showPages(question, writeReviewsPages(app, reviews, view))
    },
  }
}
