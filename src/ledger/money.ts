/**
 * How a transition moves money: it adds what it reserves, releases and charges to the totals by project and
 * day. A reservation is the estimate of a task that is `planned` or `posting`, split by `share_of`.
 */
import { type Statement, sql } from '../db/sql.ts'

/** What a relation of tasks returns for `releasedReservations` and `newReservations`. */
export const RESERVATION = sql`k.payers, k.estimate_micros, k.reserved_at`

/** Ends the reservations of the tasks of a relation. */
export const releasedReservations = (relation: string): Statement => reservations(relation, sql`-`)

/** The reservations of the tasks of a relation. */
export const newReservations = (relation: string): Statement => reservations(relation, sql``)

function reservations(relation: string, sign: Statement): Statement {
  return sql`
    select y.project_id, r.reserved_at as at, 'reserved' as kind,
      ${sign}share_of(r.estimate_micros, cardinality(r.payers), y.place) as micros
    from ${sql.identifier(relation)} r
    cross join lateral unnest(r.payers) with ordinality as y (project_id, place)`
}

/** The rows of `charge` that a relation has inserted. */
export function newCharges(relation: string): Statement {
  return sql`select project_id, at, kind, amount_micros as micros from ${sql.identifier(relation)}`
}

/** Sums of `micros` by `kind`, in the order of the columns of `spend`. */
export const CHARGED_BY_KIND = sql`
  coalesce(sum(micros) filter (where kind = 'charge'), 0) as charged,
  coalesce(sum(micros) filter (where kind = 'refund'), 0) as refunded,
  coalesce(sum(micros) filter (where kind = 'duplicate'), 0) as duplicate,
  coalesce(sum(micros) filter (where kind = 'adjustment'), 0) as adjusted`

/**
 * Common table expressions that add moves (project_id, at, kind, micros) to the totals of their days. `kind`
 * is reserved, or that of a charge. They lock nothing: the holder of the ledger's lock folds.
 */
export function insertSpendChanges(...moves: readonly Statement[]): Statement {
  return sql`
    moved as (${sql.join(moves, ' union all ')}),
    booked as (
      insert into spend (scope, begins_at, ends_at, reserved_micros, charged_micros, refunded_micros,
        duplicate_micros, adjusted_micros, tasks_charged)
      select d.scope, d.begins_at, d.ends_at, sum(m.reserved), sum(m.charged), sum(m.refunded),
        sum(m.duplicate), sum(m.adjusted), sum(m.tasks)
      from (
        select project_id, at,
          coalesce(sum(micros) filter (where kind = 'reserved'), 0) as reserved,
          ${CHARGED_BY_KIND},
          count(*) filter (where kind = 'charge') as tasks
        from moved group by project_id, at
      ) m
      cross join lateral money_days(m.project_id, m.at) d
      group by d.scope, d.begins_at, d.ends_at
    )`
}
