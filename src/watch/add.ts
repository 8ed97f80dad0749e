/**
 * Watches keywords, with defaults where a person says nothing: what the project does already, else the United
 * States in English. It takes the spellings that files have.
 */
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { ConfigurationError } from '../errors.ts'
import type { Store } from '../service/functions.ts'
import { WATCHES } from './kinds.ts'
import { loadPlaces, type Places } from './places.ts'
import { appOf, splitList, storeOf } from './spellings.ts'
import { Understanding } from './understand.ts'
import { findOrAdd, upsert, withoutKnownApps } from './upsert.ts'

export interface KeywordsToWatch {
  readonly keywords: readonly string[]
  readonly project?: string
  /** One or several, in any spelling. */
  readonly store?: string
  readonly apps: readonly string[]
  /** Countries in any spelling, or one location by its name or code. */
  readonly location?: string
  readonly language?: string
  /** As Postgres reads an interval. */
  readonly every?: string
  readonly depth?: number
  readonly priority?: number
  readonly tags: readonly string[]
}

export interface Watched {
  readonly project: string
  readonly store: Store
  readonly keyword: string
  readonly location: string
  readonly language: string
  readonly every: string
  readonly depth: number
  readonly priority: number
  /** False: it was watched already, and is as it was. */
  readonly isNew: boolean
  /** Apps of the project in this store: without one nobody is ranked. */
  readonly apps: number
}

export type WatchedKeywords = Awaited<ReturnType<typeof addKeywords>>

const UNITED_STATES = 'United States'
const ENGLISH = 'en'

/**
 * Adds a watch of each keyword in each store and country, and the apps to its project, unless they are there.
 * @returns them, what a person did not say (`defaults`), and what was taken for what
 * @throws ConfigurationError when it is not known for which project, or what a store is
 * @throws the database's refusal, which says what is wrong with a row; then none is added
 */
export async function addKeywords({ begin }: Pick<Database, 'begin'>, wish: KeywordsToWatch) {
  return begin(async (tx) => {
    const places = await loadPlaces(tx)
    const apps = wish.apps.map((text) => appOf(text) ?? { appId: text.trim(), store: null })
    const byDefault = new Set<string>()
    const stores = chooseStores(wish, apps, byDefault)
    const watched: Watched[] = []
    const understood: string[] = []
    for (const store of stores) {
      const own = apps.filter((app) => app.store === store || !stores.includes(app.store ?? store))
      const appIds = own.map(({ appId }) => appId)
      const inStore = await readInStore(tx, places, store, appIds, wish, byDefault)
      for (const cells of inStore.rows) watched.push(await addRow(tx, cells))
      understood.push(...inStore.understood)
    }
    const told = watched.slice(0, 1).flatMap((stored) => tellStored(wish, stored))
    return { watched, defaults: [...byDefault, ...told], understood }
  })
}

async function readInStore(
  tx: Transaction,
  places: Places,
  store: Store,
  appIds: readonly string[],
  wish: KeywordsToWatch,
  byDefault: Set<string>,
) {
  const project = wish.project ?? (await findProject(tx, store, appIds))
  if (wish.project === undefined) byDefault.add(`--project ${JSON.stringify(project)}`)
  const [, APP] = WATCHES
  const apps = appIds.map((app_id) => ({
    watch: APP,
    cells: new Map(Object.entries({ project, store, app_id })),
  }))
  await upsert(tx, await withoutKnownApps(tx, apps))
  const usual = await findUsualPlace(tx, project, store)
  if (wish.location === undefined) byDefault.add(`--location ${JSON.stringify(usual.location)}`)
  const understanding = new Understanding(places, {
    country: wish.location ?? usual.location,
    // Of another country than usual it follows from the country.
    language: wish.language ?? (wish.location === undefined ? usual.language : undefined),
  })
  const rows = wish.keywords.flatMap((keyword) =>
    understanding.read(new Map(Object.entries({ project, store, keyword }).concat(settingsOf(wish))), true),
  )
  for (const row of rows) {
    if (!row.has('language_code')) row.set('language_code', usual.language)
    if (wish.language === undefined) byDefault.add(`--language ${row.get('language_code')}`)
  }
  return { rows, understood: understanding.flush() }
}

/** Those that are said, else those of the apps, else the ios_store. */
function chooseStores(
  { store }: KeywordsToWatch,
  apps: readonly { readonly store: Store | null }[],
  byDefault: Set<string>,
): readonly Store[] {
  if (store === undefined) {
    const byApp = apps.flatMap((app) => app.store ?? [])
    const stores = byApp.length === 0 ? (['ios_store'] as const) : [...new Set(byApp)]
    byDefault.add(`--store ${stores.map(shortName).join(',')}`)
    return stores
  }
  const named = storeOf(store) === null ? splitList(store) : [store]
  return named.map((each) => {
    const found = storeOf(each)
    if (found !== null) return found
    throw new ConfigurationError(
      `There is no store ${JSON.stringify(each)}: it is ios or android, or both as ios,android.`,
    )
  })
}

/** A row that is there stays as it is. */
async function addRow(tx: Transaction, cells: ReadonlyMap<string, string>): Promise<Watched> {
  const { id, added } = oneRow(await findOrAdd(tx, [{ watch: WATCHES[0], cells }]))
  const rows = await tx<Watched[]>`
    select project, store, keyword, coalesce(location_name,
        (select l.name from location l where l.store = k.store and l.code = k.location_code),
        location_code::text) as location,
      language_code as language, every::text, depth, priority, ${added}::boolean as "isNew",
      (select count(*) from app_watch a where a.project = k.project and a.store = k.store
        and a.enabled) as apps
    from keyword_watch k where id = ${id}`
  return oneRow(rows)
}

/** What a person said of how it is measured; the table has the defaults of the rest. */
function settingsOf({ every, depth, priority, tags }: KeywordsToWatch): [string, string][] {
  const list = tags.length === 0 ? undefined : JSON.stringify(tags.flatMap(splitList))
  return Object.entries({ every, depth, priority, tags: list }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  )
}

function tellStored(
  wish: KeywordsToWatch,
  { every, depth, priority }: Pick<Watched, 'every' | 'depth' | 'priority'>,
): string[] {
  const all = { every: every === '1 day' ? '1d' : JSON.stringify(every), depth, priority }
  return Object.entries(all).flatMap(([name, value]) =>
    wish[name as keyof typeof all] === undefined ? [`--${name} ${value}`] : [],
  )
}

export function shortName(store: Store): string {
  return store === 'ios_store' ? 'ios' : 'android'
}

/** The only one that watches one of the apps, else the only one there is. */
async function findProject(db: SqlRunner, store: Store, appIds: readonly string[]): Promise<string> {
  const all = await db<{ name: string; hasApp: boolean }[]>`
    select name, exists (select from app_watch a
      where a.project = p.name and a.store = ${store} and a.app_id = any(${[...appIds]}::text[])) as "hasApp"
    from project p order by name`
  const owners = all.filter(({ hasApp }) => hasApp)
  const [only, other] = owners.length > 0 ? owners : all
  if (only !== undefined && other === undefined) return only.name
  const names = all.slice(0, 10).map(({ name }) => name)
  throw new ConfigurationError(
    names.length === 0
      ? 'There is no project yet: give one a name of your own with --project.'
      : `Give the project with --project: ${names.join(', ')}${all.length > names.length ? ', …' : ''}, ` +
          'or a new one.',
  )
}

async function findUsualPlace(db: SqlRunner, project: string, store: Store) {
  const [usual] = await db<{ location: string; language: string }[]>`
    select coalesce(k.location_name, l.name, k.location_code::text) as location, k.language_code as language
    from keyword_watch k left join location l on l.store = k.store and l.code = k.location_code
    where k.project = ${project} and k.store = ${store}
    group by 1, 2 order by count(*) desc, 1, 2 limit 1`
  return usual ?? { location: UNITED_STATES, language: ENGLISH }
}

export interface Proposal {
  readonly project: string
  readonly store: Store
  readonly keyword: string
  readonly location: string
  readonly locationCode: number
  readonly language: string
  readonly rank: number
  readonly slot: Date
}

/**
 * Keywords of other projects, or that are not watched any more, on which an app ranks in the last
 * measurement, and which no project of the app watches in the same place.
 * @param project for this one; without, for each project that watches the app
 */
export async function proposeKeywords(
  { sql: db }: Pick<Database, 'sql'>,
  appId: string,
  project?: string,
): Promise<Proposal[]> {
  return db<Proposal[]>`
    select p.project, t.store, t.subject as keyword, coalesce(l.name, t.location_code::text) as location,
      t.location_code as "locationCode", t.language_code as language, found.rank, latest.slot
    from app a
    join (select distinct w.project, w.store from app_watch w
      where w.app_id = ${appId} and (${project ?? null}::text is null or w.project = ${project ?? null})
      union select ${project ?? null}::text, a.store from app a where a.app_id = ${appId}
        and ${project ?? null}::text is not null) p
      on p.store = a.store
    join target t on t.store = a.store and t.function = 'app_searches'
    cross join lateral (
      select r.slot, r.app_ids from ranking_row r where r.target_id = t.id and r.gap is null
        order by r.slot desc limit 1
    ) latest
    cross join lateral (select array_position(latest.app_ids, a.id) as rank) found
    left join location l on l.store = t.store and l.code = t.location_code
    where a.app_id = ${appId} and found.rank is not null
      and not exists (select from watch_period w where w.target_id = t.id and w.project = p.project
        and w.ended_at is null)
    order by p.project, found.rank, t.subject, location`
}
