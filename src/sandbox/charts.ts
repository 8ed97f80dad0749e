/** Charts: a pure function of (seed, collection, category, location, day), drifting by a few places a day. */

import type { PostedTask } from './books.ts'
import type { App, Catalogue } from './catalogue.ts'
import { isInStore } from './events.ts'
import { fraction, hashText, mix, remember } from './hash.ts'
import type { Store } from './offers.ts'

/** Which chart, and where and when; without a category it is that of the whole store. */
type Chart = Pick<PostedTask, 'category' | 'ageRating'> & {
  collection: string
  locationCode: number
  day: number
}

/** The collections of each store, as they are sold. */
export const COLLECTIONS = {
  ios_store: 'top_free_ios top_paid_ios top_grossing_ios new_ios new_free_ios new_paid_ios'.split(' '),
  android_store: (
    'featured topselling_free topselling_paid topgrossing topselling_new_free topselling_new_paid ' +
    'movers_shakers'
  ).split(' '),
}

/** No store shows more of a chart. */
const CHART_LENGTHS: Record<Store, number> = { ios_store: 1000, android_store: 500 }
/** Share of the apps that are for children of an age. */
const OF_AGE_SHARE = 0.4
const CACHED_CHARTS = 500

/** Words in the name of a collection that choose among the apps; any other name is a selection of its own. */
const isListed = (collection: string, app: App): boolean => {
  if (collection.includes('paid')) return app.priceUsd > 0
  if (collection.includes('free')) return app.priceUsd === 0
  return true
}

/** What an age group of the category family is chosen from. */
const FAMILY = /^(education|parenting|game_)/

/** A category holds its own apps, and `game` those of every kind of game. */
const isOfCategory = ({ category, ageRating }: Chart, app: App): boolean =>
  category === undefined ||
  (ageRating !== undefined && FAMILY.test(app.category)) ||
  app.category === category ||
  app.category.startsWith(`${category}_`)

const rankApps = (catalogue: Catalogue, chart: Chart, seed: number) => {
  const { collection, ageRating, locationCode, day } = chart
  const chartHash = mix(seed, hashText(collection))
  const scoreOf = (app: App): number => {
    const hash = mix(app.hash, chartHash)
    // The tide of an app turns every 10 to 29 days.
    const tide = Math.sin((2 * Math.PI * (day + (hash % 30))) / (10 + (hash % 20)))
    return app.popularity + 0.3 * fraction(hash) + 0.2 * fraction(mix(hash, locationCode)) + 0.02 * tide
  }
  return catalogue.apps
    .filter((app) => isListed(collection, app) && isOfCategory(chart, app) && isInStore(app.events, day))
    .filter((app) => ageRating === undefined || fraction(mix(app.hash, hashText(ageRating))) < OF_AGE_SHARE)
    .map((app) => ({ app, score: scoreOf(app) }))
    .sort((left, right) => right.score - left.score || left.app.hash - right.app.hash)
    .slice(0, CHART_LENGTHS[catalogue.store])
    .map(({ app }) => app)
}

/** Makes what gives the apps of a chart, best first; it remembers the charts that it made last. */
export const buildCharts = (catalogue: Catalogue, seed: number) => {
  const cached = remember<readonly App[]>(CACHED_CHARTS)
  return (chart: Chart): readonly App[] => {
    const { collection, category, ageRating, locationCode, day } = chart
    const key = [collection, category, ageRating, locationCode, day].join()
    return cached(key, () => rankApps(catalogue, chart, seed))
  }
}
