/**
 * Watches one keyword, with defaults where a person says nothing: what the project does already, else the
 * United States in English.
 */
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import { sql, type Value } from '../db/sql.ts'
import { ConfigurationError } from '../errors.ts'
import type { Store } from '../service/functions.ts'
import { WATCHES } from './kinds.ts'

export interface KeywordToWatch {
  readonly keyword: string
  readonly project?: string
  readonly store?: Store
  readonly appIds: readonly string[]
  /** The name of a location, or its code. */
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
  readonly location: string
  readonly language: string
  readonly every: string
  readonly depth: number
  readonly priority: number
  /** False: it was watched already, and is as it was. */
  readonly isNew: boolean
  /** Apps of the project in this store: without one nobody is ranked. */
  readonly apps: number
  /** What a person did not say, and why it is so. */
  readonly defaults: readonly string[]
}

const UNITED_STATES = 'United States'
const ENGLISH = 'en'

/**
 * Adds the watch, and the apps to its project, unless they are there.
 * @throws ConfigurationError when it is not known for which project
 * @throws the database's refusal, which says what is wrong with the row
 */
export async function addKeyword({ begin }: Pick<Database, 'begin'>, wish: KeywordToWatch): Promise<Watched> {
  return begin(async (tx) => {
    const { project, store, location, language, defaults } = await settle(tx, wish)
    const place = /^\d+$/.test(location) ? { location_code: Number(location) } : { location_name: location }
    const row = {
      project,
      store,
      keyword: wish.keyword,
      ...place,
      language_code: language,
      ...settingsOf(wish),
    }
    for (const appId of wish.appIds) {
      await tx`insert into app_watch ${sql.row({ project, store, app_id: appId })} on conflict do nothing`
    }
    const [added] = await tx<{ id: number }[]>`
      insert into keyword_watch ${sql.row(row)} on conflict do nothing returning id`
    const id = added?.id ?? (await findKeyword(tx, row))
    const [stored] = await tx<Pick<Watched, 'every' | 'depth' | 'priority' | 'apps'>[]>`
      select every::text, depth, priority,
        (select count(*) from app_watch a where a.project = k.project and a.store = k.store
          and a.enabled) as apps
      from keyword_watch k where id = ${id}`
    if (stored === undefined) throw new Error('The row that was stored is not there.')
    const isNew = added !== undefined
    const told = [...defaults, ...tellStored(wish, stored)]
    return { project, store, location, language, isNew, ...stored, defaults: told }
  })
}

/** What a person said of how it is measured; the table has the defaults of the rest. */
function settingsOf({
  every,
  depth,
  priority,
  tags,
}: KeywordToWatch): Record<string, string | number | string[]> {
  const given = { every, depth, priority, tags: tags.length === 0 ? undefined : [...tags] }
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

function tellStored(
  wish: KeywordToWatch,
  { every, depth, priority }: Pick<Watched, 'every' | 'depth' | 'priority'>,
): string[] {
  const all = { every: every === '1 day' ? '1d' : JSON.stringify(every), depth, priority }
  return Object.entries(all).flatMap(([name, value]) =>
    wish[name as keyof typeof all] === undefined ? [`--${name} ${value}`] : [],
  )
}

/** Written once more as it is, because only the table knows in which form it keeps a keyword. */
async function findKeyword(tx: Transaction, row: Record<string, Value>): Promise<number> {
  const [found] = await tx<{ id: number }[]>`
    insert into keyword_watch ${sql.row(row)}
    on conflict (${WATCHES[0].unique}) do update set project = excluded.project returning id`
  if (found === undefined) throw new Error('The row that is in the way is not there.')
  return found.id
}

interface Settled {
  readonly project: string
  readonly store: Store
  readonly location: string
  readonly language: string
  readonly defaults: readonly string[]
}

/** Fills in what a person did not say. */
async function settle(tx: Transaction, wish: KeywordToWatch): Promise<Settled> {
  const defaults: string[] = []
  const choose = <Value extends string>(given: Value | undefined, usual: Value, option: string): Value => {
    if (given === undefined) defaults.push(option)
    return given ?? usual
  }
  const byApp = storeOf(wish.appIds)
  const store = choose(wish.store, byApp, `--store ${shortName(byApp)}`)
  const known = wish.project ?? (await findProject(tx, store, wish.appIds))
  const project = choose(wish.project, known, `--project ${JSON.stringify(known)}`)
  const usual = await findUsualPlace(tx, project, store)
  const location = choose(wish.location, usual.location, `--location ${JSON.stringify(usual.location)}`)
  const language = choose(wish.language, usual.language, `--language ${usual.language}`)
  return { project, store, location, language, defaults }
}

/** Apps of the ios_store are numbers. */
function storeOf(appIds: readonly string[]): Store {
  return appIds.length > 0 && appIds.every((id) => !/^\d+$/.test(id)) ? 'android_store' : 'ios_store'
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

/** Where most keywords of the project are looked at. */
async function findUsualPlace(
  db: SqlRunner,
  project: string,
  store: Store,
): Promise<{ location: string; language: string }> {
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
  /** When it was measured last. */
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
