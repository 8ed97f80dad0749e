/** What rules are looked at in: a project, and one slot of it whose measurements no rule has seen. */
import type { Fragment } from 'postgres'
import type { Transaction } from '../db/database.ts'

export interface AlertProject {
  readonly id: number
  readonly name: string
  readonly timezone: string
  readonly enabled: boolean
}

/** The slot of what is due, as Postgres writes it: with its microseconds. */
export interface DueScope {
  readonly project: AlertProject
  readonly slot: string
}

/** Kinds that sum up a day, over the lists that were measured in other slots of it too. */
export const OF_DAY = ['visibility_moved', 'share_of_voice_moved', 'top_count_moved', 'new_app']
/** Kinds that compare a measurement, or a day, with the one so many days before. */
export const COMPARING = ['rank_moved', 'top_crossed', 'overtaken', ...OF_DAY]

/** How many days before something is compared with. */
export interface Compared {
  readonly days: number
  /** Whether each rule that compares so names a store, a keyword or a tag. */
  readonly isScoped: boolean
  /** Whether a kind that sums up a day compares so. */
  readonly isOfDay: boolean
  /** The deepest top N of which a rule asks who is in it. */
  readonly top: number
}

/** An app that rules compare. */
export interface MeantApp {
  readonly app: number
  readonly isIos: boolean
  /** By days, how far down its rank matters; null: as far as was looked. */
  readonly reaches: ReadonlyMap<number, number | null>
  /** Whether a rule asks what its ranks of a day are worth together. */
  readonly isSummed: boolean
}

/** What the rules of a project ask for. */
export interface Asked {
  readonly kinds: ReadonlySet<string>
  readonly comparedWith: ReadonlySet<string>
  readonly compared: readonly Compared[]
  readonly apps: readonly MeantApp[]
}

/** Whether a rule `r` means a list `l`, which has the scopes of rules that mean it. A rule without a scope means all. */
export function meansList(tx: Transaction): Fragment {
  return tx`(r.scope is null or r.scope = any(l.scopes))` as Fragment
}

/** Whether a rule `r` means an app `a`, or that of another row: by its id, else by its role. */
export function meansApp(tx: Transaction, row = 'a'): Fragment {
  return tx`case when r.app_id is not null then r.app_id = ${tx(row)}.app_id else r.role in (${tx(row)}.role, 'any') end` as Fragment
}

/** One query after the other. */
export function joinAll(tx: Transaction, queries: readonly Fragment[]): Fragment {
  return tx`${queries.map((query, n) => (n === 0 ? tx`${query}` : tx` union all ${query}`))}` as Fragment
}

/** One after the other, with commas between; nothing of none. */
export function listAll(tx: Transaction, parts: readonly Fragment[]): Fragment {
  return tx`${parts.length === 0 ? tx`` : parts.map((part, n) => (n === 0 ? tx`${part}` : tx`, ${part}`))}` as Fragment
}

/** Whether a rule `r` tells a change to `after` from `before`, where less is better. */
export function tellsRank(tx: Transaction, before: Fragment, after: Fragment): Fragment {
  return tx`case r.direction when 'up' then ${after} < ${before} when 'down' then ${after} > ${before} else true end` as Fragment
}
