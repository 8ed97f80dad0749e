/** Advanced results: what a task found, as `task_get/advanced` gives it. The same task gives the same result for ever. */

import type { App, Catalogue } from './catalogue.ts'
import { buildCatalogue } from './catalogue.ts'
import type { Fact } from './facts.ts'
import { fraction, hashText, mix, pick } from './hash.ts'
import { decodeKeyword } from './keyword.ts'
import { SE_DOMAINS, showInfoItem, showSearchItem, type View } from './listing.ts'
import type { Store } from './offers.ts'
import { buildRanker, type Ranker } from './ranking.ts'
import { dayOf, formatTimestamp } from './timestamp.ts'

/** What a task asks for. `subject` is the keyword as posted, or the app id. */
export type Question = {
  store: Store
  function: 'app_searches' | 'app_info'
  subject: string
  locationCode: number
  languageCode: string
  depth: number
  /** The answer is that of this moment. */
  doneAtMs: number
}

/** Answers questions about the two stores. */
export type Answers = {
  /** How many results the store has within the depth asked for; 0 when it finds nothing. */
  count(question: Question): number
  /** The element of `result`; undefined when the store finds nothing. */
  show(question: Question): Record<string, unknown> | undefined
}

/** Paid items stand in front of this share of searches, a bundle further down in another. */
const PAID_SHARE = 0.4
const BUNDLE_SHARE = 0.25

type StoreAnswers = { catalogue: Catalogue; rank: Ranker }

const viewOf = (question: Question): View => ({
  locationCode: question.locationCode,
  languageCode: question.languageCode,
  day: dayOf(question.doneAtMs),
})

/** Items that are no organic results, each behind `after` organic ones. They count neither for depth nor for billing. */
const findExtras = (
  question: Question,
  ranked: readonly App[],
): { kind: string; app: App; after: number }[] => {
  const noise = mix(hashText(question.subject), dayOf(question.doneAtMs) ^ question.locationCode)
  const extras: { kind: string; app: App; after: number }[] = []
  if (fraction(mix(noise, 1)) < PAID_SHARE)
    extras.push({ kind: 'paid', app: pick(ranked, mix(noise, 2)), after: 0 })
  if (fraction(mix(noise, 3)) < BUNDLE_SHARE) {
    extras.push({ kind: 'bundle', app: pick(ranked, mix(noise, 4)), after: 3 + (mix(noise, 5) % 15) })
  }
  return extras
}

const listItems = (question: Question, ranked: readonly App[]) => {
  const view = viewOf(question)
  const found = ranked.slice(0, question.depth).map((app) => ({ kind: 'organic', app }))
  const extras = findExtras(question, ranked).filter(({ after }) => after < found.length)
  const listed = found.flatMap((organic, index) => [
    ...extras.filter(({ after }) => after === index),
    organic,
  ])
  const groups: Record<string, number> = {}
  return listed.map(({ kind, app }, index) => {
    const group = (groups[kind] ?? 0) + 1
    groups[kind] = group
    return showSearchItem(question.store, app, view, { kind, group, absolute: index + 1 })
  })
}

const showSearch = (question: Question, ranked: readonly App[]) => {
  const keyword = decodeKeyword(question.subject)
  const items = listItems(question, ranked)
  return {
    keyword,
    se_domain: SE_DOMAINS[question.store],
    location_code: question.locationCode,
    language_code: question.languageCode,
    check_url: `https://${SE_DOMAINS[question.store]}/search?term=${encodeURIComponent(keyword.toWellFormed())}&location=${question.locationCode}&hl=${question.languageCode}`,
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
    se_domain: SE_DOMAINS[question.store],
    location_code: question.locationCode,
    language_code: question.languageCode,
    check_url: item.url,
    datetime: formatTimestamp(question.doneAtMs),
    se_results_count: 1,
    items_count: 1,
    items: [item],
  }
}

/** Makes both stores from a seed; `facts` are real apps for the ios_store. */
export const buildAnswers = (seed: number, facts: readonly Fact[]): Answers => {
  const open = (store: Store, known: readonly Fact[]): StoreAnswers => {
    const catalogue = buildCatalogue(store, seed, known)
    return { catalogue, rank: buildRanker(catalogue, seed) }
  }
  const stores = { ios_store: open('ios_store', facts), android_store: open('android_store', []) }
  const rank = (question: Question) =>
    stores[question.store].rank({ keyword: decodeKeyword(question.subject), ...viewOf(question) })
  const findApp = (question: Question) => stores[question.store].catalogue.findApp(question.subject)
  return {
    count: (question) =>
      question.function === 'app_info'
        ? Number(findApp(question) !== undefined)
        : Math.min(question.depth, rank(question).length),
    show: (question) => {
      if (question.function === 'app_info') {
        const app = findApp(question)
        return app && showInfo(question, stores[question.store].catalogue, app)
      }
      const ranked = rank(question)
      return ranked.length > 0 ? showSearch(question, ranked) : undefined
    },
  }
}
