/**
 * A kind of rules is an entry: what it tells of, which columns of `alert_rule` it takes, the statement that
 * finds events, and the sentence that tells one. The view `alert_kind`, what `alert_rule` refuses and the
 * table of docs/alerts.md are made of it.
 */
import type { ToldEvent } from '../event.ts'

export interface AlertKind {
  readonly name: string
  /** To go on with "tells of". */
  readonly tells: string
  /** What else there is to know of its columns. */
  readonly more?: string
  /** Columns of `alert_rule` that some kinds take and others do not. */
  readonly takes?: readonly string[]
  /** Those of them that have to be given. */
  readonly needs?: readonly string[]
  /** What the column `threshold` counts, and what it may be. Where there is one, it has to be given. */
  readonly threshold?: { readonly counts: string; readonly from: number; readonly to: number }
  /** An event is of a day of the project, and not of one measurement. */
  readonly isOfDay?: true
  readonly source: Source
  /**
   * Selects events of the rules `rule r`, from what people ask and from what the source names. Beside the
   * columns of `alert_rule` it has `r.days`, of compared_with, and `r.is_of_day`. Selected are rule_id,
   * subject (`target:app`, say), slot, and of the other columns of `alert_event` what there is to say. An
   * event is told once for each rule, subject and slot; and not where another one in the same direction lies
   * between compared_slot and slot.
   */
  readonly select: string
  /** The sentence, without the list and the place that stand before it. */
  readonly sentence: (event: ToldEvent) => string
}

export interface Source {
  /** Whether it is looked at when something was stored of a slot, or at each look. */
  readonly by: 'slot' | 'clock'
  /** Common table expressions that its kinds share, in one statement, for targets: null is all. */
  readonly shared?: (targets: string) => string
}

/** Parameters of every statement. */
export const PROJECT = '$1::text'
/** Of a slot's. */
export const SLOT = '$2::timestamptz'
/** The targets of which something was stored in the slot. */
export const DUE_TARGETS = '$3::text::integer[]'
/** Of the clock's: the budgets of the settings. */
export const DAY_LIMIT_MICROS = '$2::bigint'
export const MONTH_LIMIT_MICROS = '$3::bigint'
export const PARAMETERS: Readonly<Record<Source['by'], string>> = {
  slot: [PROJECT, SLOT, DUE_TARGETS].join(),
  clock: [PROJECT, DAY_LIMIT_MICROS, MONTH_LIMIT_MICROS].join(),
}

export const STORE_AND_APP = ['store', 'app_id', 'role'] as const
export const LISTS = ['keyword', 'tag'] as const

/** Whether a rule `r` means the list of a row `m`. */
export const MEANS_LIST = `(r.store is null or r.store = m.store) and (r.tag is null or r.tag = any(m.tags))
      and (r.keyword is null or exists (
        select from target t
        where t.id = m.target_id and t.function = 'app_searches' and t.subject = r.keyword
      ))`

/** Whether a rule `r` means the app of a row `m`: by its id, else by its role. */
export const MEANS_APP =
  "case when r.app_id is null then r.role in (m.role, 'any') else r.app_id = m.app_id end"

/** From nothing to as much as there may be. */
export const ANY_AMOUNT = { from: 0.0001, to: 1_000_000 }

/** What was stored of a slot, and at each look: a statement for each kind. */
export const OF_SLOT: Source = { by: 'slot' }
export const OF_CLOCK: Source = { by: 'clock' }

/**
 * `rank` is rank_comparison for each number of days that rules compare with: `is_due` where something was
 * stored in the slot now. `standing` sums it up for the rules of a day: what an app has, and in the row
 * without an app what there is.
 */
export const RANKS: Source = {
  by: 'slot',
  shared: (targets) => `
    rank as materialized (
      select s.days, m.*, m.slot = ${SLOT} and m.target_id in (select unnest(${DUE_TARGETS})) as is_due
      from (
        select days, max(top) filter (where is_of_day) as top,
          case when count(distinct coalesce(tag, '')) = 1 then min(tag) end as tag
        from rule where days is not null group by days
      ) s
      cross join lateral rank_comparison(${PROJECT}, ${SLOT}, make_interval(hours => 24 * s.days), s.top,
        in_tag => s.tag, in_targets => ${targets}) m
    ),
    standing as materialized (
      select r.id as rule_id, m.store, m.list, m.app, count(*) as due,
        count(*) filter (where m.is_compared) as compared,
        sum(m.weight) filter (where m.is_compared) as weight,
        coalesce(sum(m.worth), 0) as worth, coalesce(sum(m.worth_before), 0) as worth_before,
        count(*) filter (where m.is_compared and m.rank <= least(r.top, m.depth_before)) as in_top,
        count(*) filter (where m.is_compared and m.rank_before <= least(r.top, m.depth)) as in_top_before
      from rule r
      join rank m on m.days = r.days and (m.app is null or ${MEANS_APP}) and ${MEANS_LIST}
      where r.is_of_day
      group by r.id, m.store, m.list, m.app
    )`,
}
