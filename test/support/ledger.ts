/**
 * The books as a test sees and makes them: what is reserved, a charge of the past, and totals that fit what
 * was changed by hand.
 */

import type { AnySql } from './database.ts'

export interface Reservation {
  readonly taskId: string
  readonly attempt: number
  readonly project: string
  readonly micros: number
  readonly at: Date
}

/** What planned and posting tasks have reserved, a row for each payer. */
export async function readReservations(sql: AnySql): Promise<Reservation[]> {
  const rows = await sql<Reservation[]>`
    select k.id as "taskId", k.attempt, p.name as project,
      share_of(k.estimate_micros, cardinality(k.payers), y.place) as micros,
      k.reserved_at as at
    from task k cross join lateral unnest(k.payers) with ordinality as y (project_id, place)
      join project p on p.id = y.project_id
    where k.state in ('planned', 'posting')
    order by k.id, p.name`
  return [...rows]
}

export interface PastCharge {
  readonly project: string
  readonly micros: number
  readonly at?: string | Date
  readonly kind?: 'charge' | 'refund' | 'duplicate' | 'adjustment'
  readonly serviceId?: string
}

/** Writes a charge that no task of this database made, and counts it. */
export async function insertCharge(sql: AnySql, charge: PastCharge): Promise<void> {
  const at = charge.at === undefined ? null : new Date(charge.at).toISOString()
  await sql`
    insert into charge (kind, project_id, amount_micros, at, target_id, slot, service_id)
    select ${charge.kind ?? 'charge'}, id, ${charge.micros}, coalesce(${at}::timestamptz, storerank_now()), 0,
      coalesce(${at}::timestamptz, storerank_now()), coalesce(${charge.serviceId ?? null}, uuid_v7()::text)
    from project where name = ${charge.project}`
  await recount(sql)
}

/** After tasks or charges were changed by hand. */
export async function recount(sql: AnySql): Promise<void> {
  await sql`select recount_spend()`
}

/** Rows only where the totals and the books differ. */
export async function readSpendDifferences(sql: AnySql): Promise<object[]> {
  return [...(await sql<object[]>`select * from spend_difference order by scope, begins_at, kind`)]
}

/** What waits for another attempt does so no longer. */
export async function endAttemptPauses(sql: AnySql): Promise<void> {
  await sql`update task set not_before = null where state = 'planned' and not_before is not null`
}

/**
 * As if the service had said before what it takes: posts of one kind are then sent side by side from the
 * first one on.
 */
export async function rememberPrices(sql: AnySql): Promise<void> {
  await sql`
    insert into charged_price (store, function, priority, unit_micros)
    select store, function, priority, unit_micros from unit_price
    on conflict do nothing`
}

/** Gives the projects another time zone, as if their money had always counted by it. */
export async function setTimeZone(sql: AnySql, timezone: string): Promise<void> {
  await sql`update project set timezone = ${timezone}`
  await sql`update money_zone set timezone = ${timezone}`
  await recount(sql)
}
