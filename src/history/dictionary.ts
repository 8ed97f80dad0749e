/**
 * The dictionary of apps: (store, app_id) ↔ int id. It selects before it inserts, because a conflict uses
 * up an id, and commits before the captures that use its ids.
 */
import type { Database } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { Store } from '../service/functions.ts'
import { createWritten } from './numbers.ts'

export interface SeenApp {
  readonly appId: string
  readonly title: string | null
  readonly developer: string | null
  readonly icon: string | null
  readonly url: string | null
}

/** Apps of one store, in any order, each as often as it was seen. */
export interface SeenApps {
  readonly store: Store
  readonly apps: readonly SeenApp[]
}

export type AppIds = (store: Store, appId: string) => number | undefined

export type Dictionary = ReturnType<typeof createDictionary>

/** Ids are cached after their commit only. When there are so many the cache begins again. */
const MAX_CACHED = 200_000
/**
 * Titles differ by country: an app is updated at most this often. The cache begins again when it is as old.
 */
const REFRESH_AFTER_MS = 20 * 3_600_000

type App = SeenApp & { readonly store: Store }

/** Numbers alone, because an object for each app made a look-up twice as slow. */
type Cache = Readonly<Record<Store, Map<string, number>>>

export function createDictionary(db: Database, nowMs: () => number = Date.now, maxCached = MAX_CACHED) {
  let cache: Cache = { ios_store: new Map(), android_store: new Map() }
  let beganAtMs = nowMs()
  /** A cache that ends is replaced and not emptied: another batch may still read its ids out of it. */
  const present = (): Cache => {
    const isFull = cache.ios_store.size + cache.android_store.size >= maxCached
    if (isFull || nowMs() - beganAtMs >= REFRESH_AFTER_MS) {
      cache = { ios_store: new Map(), android_store: new Map() }
      beganAtMs = nowMs()
    }
    return cache
  }
  return {
    /** Numbers of these apps, as this process knows them. */
    written: createWritten(),
    /** Upserts these apps and returns their ids. */
    resolveAppIds: async (seen: readonly SeenApps[]): Promise<AppIds> => {
      const known = present()
      const missing = new Map<string, App>()
      for (const { store, apps } of seen)
        for (const app of apps)
          if (!known[store].has(app.appId)) missing.set(`${store} ${app.appId}`, { ...app, store })
      if (missing.size > 0) {
        const rows = await upsertApps(db, [...missing.values()])
        for (const { store, appId, id } of rows) known[store].set(appId, id)
      }
      return (store, appId) => known[store].get(appId)
    },
  }
}

const COLUMNS = 'store text, appId text, title text, developer text, icon text, url text'

type AppRow = Pick<App, 'store' | 'appId'> & { readonly id: number }

/** One statement behind a lock: without it two writers could deadlock. */
async function upsertApps(db: Database, apps: readonly App[]): Promise<AppRow[]> {
  return db.begin(async (tx) => {
    await tx`select wait_for_lock('dictionary')`
    return tx<AppRow[]>`
      with seen as (
        select s.*, a.id from ${sql.rows('s', apps, COLUMNS)} left join app a using (store, app_id)
      ),
      changed as (
        update app a set updated_at = storerank_now(), title = coalesce(s.title, a.title),
          developer = coalesce(s.developer, a.developer), icon = coalesce(s.icon, a.icon),
          url = coalesce(s.url, a.url),
          former_developers = case when s.developer <> a.developer
            then coalesce(a.former_developers, '[]') || jsonb_build_object('developer', a.developer,
              'until', (storerank_now() at time zone 'UTC')::date)
            else a.former_developers end
        from seen s
        where a.id = s.id
          and (a.title is null or a.updated_at < storerank_now()
            - make_interval(secs => ${REFRESH_AFTER_MS / 1000}))
          and (a.title, a.developer, a.icon, a.url) is distinct from (coalesce(s.title, a.title),
            coalesce(s.developer, a.developer), coalesce(s.icon, a.icon), coalesce(s.url, a.url))
      ),
      made as (
        insert into app (store, app_id, title, developer, icon, url, updated_at)
        select store, app_id, title, developer, icon, url, storerank_now() from seen where id is null
        on conflict (store, app_id) do update set app_id = excluded.app_id
        returning id, store, app_id
      )
      select id, store, app_id as "appId" from seen where id is not null
      union all select id, store, app_id from made`
  })
}
