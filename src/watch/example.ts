/**
 * The example watchlist of a first run: two projects, both stores, keywords that are hard to spell, and one each of what else
 * can be watched: a chart, the reviews of an app, the raw pages of a search.
 */
import type { Database } from '../db/database.ts'
import type { Store } from '../service/functions.ts'

interface ExampleKeywords {
  readonly project: string
  readonly store: Store
  readonly locationCode: number
  readonly languageCode: string
  readonly keywords: readonly string[]
  /** Keeps the raw pages beside the ranks. */
  readonly html?: boolean
}

interface ExampleApp {
  readonly project: string
  readonly store: Store
  readonly appId: string
  readonly role: 'own' | 'competitor'
  readonly reviews?: boolean
}

const UNITED_STATES = { locationCode: 2840, languageCode: 'en' }
const JAPAN = { locationCode: 2392, languageCode: 'ja' }
const FRANCE = { locationCode: 2250, languageCode: 'fr' }

const KEYWORDS: readonly ExampleKeywords[] = [
  {
    project: 'fitness',
    store: 'ios_store',
    ...UNITED_STATES,
    keywords: [
      'yoga',
      'meditation',
      'home workout',
      'breathing',
      'stretch',
      'pilates',
      'hiit',
      'calm',
      'naïve',
      '100% free',
    ],
  },
  { project: 'fitness', store: 'ios_store', ...JAPAN, keywords: ['ヨガ', '瞑想'] },
  { project: 'fitness', store: 'ios_store', ...FRANCE, keywords: ['méditation'] },
  {
    project: 'fitness',
    store: 'android_store',
    ...UNITED_STATES,
    keywords: ['meditation', 'workout'],
  },
  { project: 'fitness', store: 'android_store', ...UNITED_STATES, keywords: ['yoga'], html: true },
  {
    project: 'learning',
    store: 'ios_store',
    ...UNITED_STATES,
    keywords: ['c++', '3+ math', 'maths for kids', 'learn japanese', 'puzzle', 'calm'],
  },
  { project: 'learning', store: 'ios_store', ...JAPAN, keywords: ['日本語', '算数'] },
  {
    project: 'learning',
    store: 'android_store',
    ...UNITED_STATES,
    keywords: ['c++', '100% free', 'multiplication', 'learn japanese'],
  },
]

const APPS: readonly ExampleApp[] = [
  { project: 'fitness', store: 'ios_store', appId: '1480010017', role: 'own', reviews: true },
  { project: 'fitness', store: 'ios_store', appId: '1480010025', role: 'competitor' },
  { project: 'fitness', store: 'ios_store', appId: '1480010041', role: 'competitor' },
  { project: 'fitness', store: 'android_store', appId: 'com.ashlune.yoga', role: 'own' },
  { project: 'fitness', store: 'android_store', appId: 'com.stilmora.meditation', role: 'competitor' },
  { project: 'learning', store: 'ios_store', appId: '1480010058', role: 'own' },
  { project: 'learning', store: 'ios_store', appId: '1480010082', role: 'competitor' },
  { project: 'learning', store: 'ios_store', appId: '1480010108', role: 'competitor' },
  { project: 'learning', store: 'android_store', appId: 'com.numberwren.math', role: 'own' },
  { project: 'learning', store: 'android_store', appId: 'com.kotobrook.japanese', role: 'competitor' },
]

const CHART = { project: 'learning', collection: 'topselling_free', category: 'education' }

/**
 * Inserts the example into a database that never had a watch; elsewhere it does nothing. Call it only where tasks cost nothing: on
 * the embedded database and the sandbox.
 * @returns whether it did
 */
export async function insertExampleWatchlist(db: Database): Promise<boolean> {
  const keywords = KEYWORDS.flatMap((group) => group.keywords.map((keyword) => ({ ...group, keyword })))
  return db.begin(async (tx) => {
    await tx`lock table keyword_watch, chart_watch, app_watch in share row exclusive mode`
    const everWatched = await tx`
      select from keyword_watch union all select from chart_watch union all select from app_watch
      union all select from watch_period limit 1`
    if (everWatched.length > 0) return false
    await tx`
      insert into keyword_watch (project, store, keyword, location_code, language_code, html)
      select * from unnest(
        ${keywords.map((row) => row.project)}::text[], ${keywords.map((row) => row.store)}::text[],
        ${keywords.map((row) => row.keyword)}::text[], ${keywords.map((row) => row.locationCode)}::int[],
        ${keywords.map((row) => row.languageCode)}::text[],
        ${keywords.map((row) => String(row.html ?? false))}::text[]::boolean[])`
    await tx`
      insert into chart_watch (project, collection, category, location_code, language_code)
      values (${CHART.project}, ${CHART.collection}, ${CHART.category}, ${UNITED_STATES.locationCode},
        ${UNITED_STATES.languageCode})`
    await tx`
      insert into app_watch (project, store, app_id, role, info, reviews, location_code, language_code)
      select *, ${UNITED_STATES.locationCode}::int, ${UNITED_STATES.languageCode}
      from unnest(
        ${APPS.map((row) => row.project)}::text[], ${APPS.map((row) => row.store)}::text[],
        ${APPS.map((row) => row.appId)}::text[], ${APPS.map((row) => row.role)}::text[],
        ${APPS.map((row) => String(row.role === 'own'))}::text[]::boolean[],
        ${APPS.map((row) => String(row.reviews ?? false))}::text[]::boolean[])`
    return true
  })
}
