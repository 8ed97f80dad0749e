/**
 * How a transition moves money: its relation `moved` says what, and `booked` adds it to the totals by project
 * and day in the same statement. A reservation is the estimate of a task that is `planned` or `posting`,
 * split among its payers by `share_of`.
 */
import { type Statement, sql } from '../db/sql.ts'

/**
 * A select for `moved`: ends the reservations of the tasks of a relation.
 * @param relation has the columns payers, estimate_micros and reserved_at
 */
export function releasedReservations(relation: string): Statement {
  return sql`
    select y.project_id, r.reserved_at as at, 'reserved' as kind,
      -share_of(r.estimate_micros, cardinality(r.payers), y.place) as micros
    from ${sql.identifier(relation)} r
    cross join lateral unnest(r.payers) with ordinality as y (project_id, place)`
}

/** A select for `moved`: the reservations of the tasks of a relation with the same columns. */
export function newReservations(relation: string): Statement {
  return sql`
    select y.project_id, r.reserved_at as at, 'reserved' as kind,
      share_of(r.estimate_micros, cardinality(r.payers), y.place) as micros
    from ${sql.identifier(relation)} r
    cross join lateral unnest(r.payers) with ordinality as y (project_id, place)`
}

/**
 * The common table expression `booked`, which adds `moved (project_id, at, kind, micros)` to the totals of
 * the days on which it counts. `kind` is reserved, or that of a charge. It inserts and locks nothing:
 * transitions of the same day never wait for each other, and the holder of the ledger's lock folds.
 */
export const insertSpendChanges = sql`
    booked as (
      insert into spend (scope, begins_at, ends_at, reserved_micros, charged_micros, refunded_micros,
        duplicate_micros, adjusted_micros, tasks_charged)
      select d.scope, d.begins_at, d.ends_at, sum(m.reserved), sum(m.charged), sum(m.refunded),
        sum(m.duplicate), sum(m.adjusted), sum(m.tasks)
      from (
        select project_id, at,
          coalesce(sum(micros) filter (where kind = 'reserved'), 0) as reserved,
          coalesce(sum(micros) filter (where kind = 'charge'), 0) as charged,
          coalesce(sum(micros) filter (where kind = 'refund'), 0) as refunded,
          coalesce(sum(micros) filter (where kind = 'duplicate'), 0) as duplicate,
          coalesce(sum(micros) filter (where kind = 'adjustment'), 0) as adjusted,
          count(*) filter (where kind = 'charge') as tasks
        from moved group by project_id, at
      ) m
      cross join lateral money_days(m.project_id, m.at) d
      group by d.scope, d.begins_at, d.ends_at
    )`
