/** What rules are looked at in: a project, and one slot of it whose measurements no rule has seen. */
import type { Fragment } from 'postgres'
import type { Transaction } from '../db/database.ts'

export interface AlertProject {
  readonly id: number
  readonly name: string
  readonly timezone: string
}

/** The slot of what is due, as Postgres writes it: with its microseconds. */
export interface DueScope {
  readonly project: AlertProject
  readonly slot: string
}

/** How many days before something is compared with. */
export interface Compared {
  readonly days: number
  /** Whether each rule that compares so names a store, a keyword or a tag. */
  readonly isScoped: boolean
}

/** What the rules of a project ask for. */
export interface Kinds {
  readonly kinds: ReadonlySet<string>
  readonly comparedWith: ReadonlySet<string>
  readonly compared: readonly Compared[]
}

/** Whether a rule `r` means a list `l`: its store, keyword and tags. */
export function meansList(tx: Transaction): Fragment {
  return tx`(r.store is null or r.store = l.store) and (r.keyword is null or r.keyword = l.keyword)
    and (r.tag is null or r.tag = any(l.tags))` as Fragment
}

/** Whether a rule `r` means an app `a`, or that of another row: by its id, else by its role. */
export function meansApp(tx: Transaction, row = 'a'): Fragment {
  return tx`case when r.app_id is not null then r.app_id = ${tx(row)}.app_id else r.role in (${tx(row)}.role, 'any') end` as Fragment
}

/** One query after the other. */
export function joinAll(tx: Transaction, queries: readonly Fragment[]): Fragment {
  return tx`${queries.map((query, n) => (n === 0 ? tx`${query}` : tx` union all ${query}`))}` as Fragment
}

/** Whether a rule `r` tells a change to `after` from `before`, where less is better. */
export function tellsRank(tx: Transaction, before: Fragment, after: Fragment): Fragment {
  return tx`case r.direction when 'up' then ${after} < ${before} when 'down' then ${after} > ${before} else true end` as Fragment
}
