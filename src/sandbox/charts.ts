/**
 * The charts of a store: the apps of a collection, drifting by a few places from day to day. A pure function of
 * (seed, collection, category, location, day).
 */

import type { App, Catalogue } from './catalogue.ts'
import { isInStore } from './events.ts'
import { fraction, hashText, mix } from './hash.ts'
import { remember } from './remember.ts'

/** Which chart, and where and when. `day` counts UTC days since 1970; without a category it is that of the whole store. */
type Chart = { collection: string; category?: string; locationCode: number; day: number }

/** The apps of a chart, best first; empty when the store has none. */
export type ChartMaker = (chart: Chart) => readonly App[]

/** No store shows more of a chart. */
const CHART_LENGTH = 500
const CACHED_CHARTS = 500

/** Words in the name of a collection that choose among the apps; any other name is a selection of its own. */
const isListed = (collection: string, app: App): boolean => {
  if (collection.includes('paid')) return app.priceUsd > 0
  if (collection.includes('free')) return app.priceUsd === 0
  return true
}

/** A category holds its own apps, and `game` those of every kind of game. */
const isOfCategory = (category: string | undefined, app: App): boolean =>
  category === undefined || app.category === category || app.category.startsWith(`${category}_`)

const rankApps = (catalogue: Catalogue, { collection, category, locationCode, day }: Chart, seed: number) => {
  const chartHash = mix(seed, hashText(collection))
  const scoreOf = (app: App): number => {
    const hash = mix(app.hash, chartHash)
    // The tide of an app turns every 10 to 29 days.
    const tide = Math.sin((2 * Math.PI * (day + (hash % 30))) / (10 + (hash % 20)))
    return app.popularity + 0.3 * fraction(hash) + 0.2 * fraction(mix(hash, locationCode)) + 0.02 * tide
  }
  return catalogue
    .allApps()
    .filter((app) => isListed(collection, app) && isOfCategory(category, app) && isInStore(app.events, day))
    .map((app) => ({ app, score: scoreOf(app) }))
    .sort((left, right) => right.score - left.score || left.app.hash - right.app.hash)
    .slice(0, CHART_LENGTH)
    .map(({ app }) => app)
}

/** Makes the charts of a store; it remembers those that it made last. */
export const buildCharts = (catalogue: Catalogue, seed: number): ChartMaker => {
  const cached = remember<readonly App[]>(CACHED_CHARTS)
  return (chart) => {
    const key = JSON.stringify([chart.collection, chart.category, chart.locationCode, chart.day])
    return cached(key, () => rankApps(catalogue, chart, seed))
  }
}
