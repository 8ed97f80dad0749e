/**
 * The dictionary of apps: (store, app_id) ↔ int id. It selects before it inserts, because `on conflict do nothing` uses up an id of the
 * sequence per existing row, and commits before the captures that use its ids.
 */
import type { Database } from '../db/database.ts'
import type { Store } from '../service/functions.ts'

export interface SeenApp {
  readonly store: Store
  readonly appId: string
  readonly title: string | null
  readonly developer: string | null
  readonly icon: string | null
  readonly url: string | null
}

export interface Dictionary {
  /** Upserts these apps. Returns their ids by `appKey`. */
  resolveAppIds(apps: readonly SeenApp[]): Promise<ReadonlyMap<string, number>>
}

/** Ids are cached after their commit only. When the bound is reached the cache is emptied. */
const MAX_CACHED = 200_000
/** Titles differ by country, so every capture would rewrite them: an app is updated at most this often. */
const REFRESH_AFTER_MS = 20 * 3_600_000

export function appKey(store: string, appId: string): string {
  return `${store} ${appId}`
}

interface CachedApp {
  readonly id: number
  readonly checkedAtMs: number
}

export function createDictionary(
  db: Database,
  nowMs: () => number = Date.now,
  maxCached = MAX_CACHED,
): Dictionary {
  const cache = new Map<string, CachedApp>()
  return {
    resolveAppIds: async (apps) => {
      const ids = new Map<string, number>()
      const missing = new Map<string, SeenApp>()
      for (const app of apps) {
        const key = appKey(app.store, app.appId)
        const cached = cache.get(key)
        if (cached !== undefined && nowMs() - cached.checkedAtMs < REFRESH_AFTER_MS) ids.set(key, cached.id)
        else missing.set(key, app)
      }
      if (missing.size === 0) return ids
      if (cache.size + missing.size > maxCached) cache.clear()
      for (const row of await upsertApps(db, [...missing.values()])) {
        const key = appKey(row.store, row.appId)
        ids.set(key, row.id)
        cache.set(key, { id: row.id, checkedAtMs: nowMs() })
      }
      return ids
    },
  }
}

interface AppRow {
  readonly id: number
  readonly store: Store
  readonly appId: string
}

/** One statement behind a lock: without it two writers could deadlock. */
async function upsertApps(db: Database, apps: readonly SeenApp[]): Promise<AppRow[]> {
  return db.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtext('storerank'), hashtext('dictionary'))`
    return tx<AppRow[]>`
      with seen as materialized (
        select s.*, a.id from unnest(
          ${apps.map((app) => app.store)}::text[], ${apps.map((app) => app.appId)}::text[],
          ${apps.map((app) => app.title)}::text[], ${apps.map((app) => app.developer)}::text[],
          ${apps.map((app) => app.icon)}::text[], ${apps.map((app) => app.url)}::text[]
        ) as s (store, app_id, title, developer, icon, url) left join app a using (store, app_id)
      ),
      changed as (
        update app a set updated_at = storerank_now(), title = coalesce(s.title, a.title),
          developer = coalesce(s.developer, a.developer), icon = coalesce(s.icon, a.icon), url = coalesce(s.url, a.url)
        from seen s
        where a.id = s.id
          and (a.title is null or a.updated_at < storerank_now() - make_interval(secs => ${REFRESH_AFTER_MS / 1000}))
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
