/** Prunes what alerts have told, and what nobody has rules for any more. */
import type { Database } from '../db/database.ts'
import { deleteInPieces, ROWS_AT_ONCE } from '../db/pieces.ts'
import { sql } from '../db/sql.ts'

/** A cooldown lasts 366 days at most, and a comparison with the best rank 400. */
const KEEP_DAYS = 400

export interface PrunedAlerts {
  readonly events: number
  readonly messages: number
}

/**
 * Deletes events that no cooldown and no comparison looks at any more, and messages that ended and have none
 * left. The latest event of each rule and subject stays, however old: it says that what is still so was told
 * already.
 */
export async function pruneAlerts(db: Database, signal?: AbortSignal): Promise<PrunedAlerts> {
  const keep = sql`make_interval(days => ${KEEP_DAYS})`
  const events = await deleteInPieces(
    db,
    'Pruning old alerts',
    async (tx) => {
      const pruned = await tx`
        delete from alert_event where id = any(array(
          select e.id from alert_event e
          where e.found_at < clock_timestamp() - ${keep} and e.slot < storerank_now() - ${keep}
            and not exists (select from alert_message m where m.id = e.message_id and m.state = 'pending')
            and exists (
              select from alert_event l
              where l.rule_id = e.rule_id and l.subject = e.subject and l.slot > e.slot)
          limit ${ROWS_AT_ONCE}))`
      return pruned.count
    },
    signal,
  )
  const messages = await deleteInPieces(
    db,
    'Pruning old alerts',
    async (tx) => {
      const pruned = await tx`
        delete from alert_message where id = any(array(
          select m.id from alert_message m
          where m.state <> 'pending' and m.ended_at < (select clock_timestamp() - ${keep})
            and not exists (select from alert_event e where e.message_id = m.id)
            and (m.digest_at is null or m.channel_id is null or exists (
              select from alert_message l
              where l.channel_id = m.channel_id and l.project_id = m.project_id
                and l.digest_at > m.digest_at))
          limit ${ROWS_AT_ONCE}))`
      return pruned.count
    },
    signal,
  )
  await db.sql`
    delete from alert_due d where not exists (
      select from alert_rule r join project p on p.name = r.project where p.id = d.project_id)`
  return { events, messages }
}
