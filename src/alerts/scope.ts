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

/** The kinds of rules that a project has. */
export type Kinds = ReadonlySet<string>

/** Whether a rule `r` means a list `l`: its store, keyword and tags. */
export function meansList(tx: Transaction): Fragment {
  return tx`(r.store is null or r.store = l.store) and (r.keyword is null or r.keyword = l.keyword)
    and (r.tag is null or r.tag = any(l.tags))` as Fragment
}

/** Whether a rule `r` means an app `a`: by its id, else by its role. */
export function meansApp(tx: Transaction): Fragment {
  return tx`case when r.app_id is not null then r.app_id = a.app_id else r.role in (a.role, 'any') end` as Fragment
}

/** Whether a rule `r` tells a change to `after` from `before`, where less is better. */
export function tellsRank(tx: Transaction, before: Fragment, after: Fragment): Fragment {
  return tx`case r.direction when 'up' then ${after} < ${before} when 'down' then ${after} > ${before} else true end` as Fragment
}
