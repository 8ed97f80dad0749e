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

/** What a rule may name: only lists of this store, this keyword, with this tag. */
export interface ListScope {
  readonly store: string | null
  readonly keyword: string | null
  readonly tag: string | null
}

/** How many days before something is compared with. */
export interface Compared {
  readonly days: number
  /** The scopes of the rules that compare so; null: one of them means all lists. */
  readonly scopes: readonly number[] | null
  /** Whether a kind that sums up a day compares so. */
  readonly isOfDay: boolean
  /** The deepest top N of which a rule asks who is in it. */
  readonly top: number
  /** Whether that is the top of each rule that looks for new apps. */
  readonly isTopOfNew: boolean
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

/** A rule that looks for new apps. */
export interface NewAppRule {
  readonly id: number
  readonly days: number
  readonly scope: number | null
  readonly top: number
  /** Whether the first apps of a pair are as many as its top. */
  readonly isWholeTop: boolean
}

/** What the rules of a project ask for. */
export interface Asked {
  /** The rules by their ids, each with its scope, the place in `scopes` from 1 on; null: it means all lists. */
  readonly rules: ReadonlyMap<number, number | null>
  readonly scopes: readonly ListScope[]
  readonly kinds: ReadonlySet<string>
  readonly comparedWith: ReadonlySet<string>
  readonly compared: readonly Compared[]
  readonly newAppRules: readonly NewAppRule[]
  /** Each N of the top N in which rules count keywords. */
  readonly countedTops: readonly number[]
  readonly apps: readonly MeantApp[]
}

/** Whether a rule `r` means a list `l`, of which `scopes` says by scope whether it is in it. A rule without a scope means all. */
export function meansList(tx: Transaction): Fragment {
  return tx`(r.scope is null or l.scopes[r.scope])` as Fragment
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
