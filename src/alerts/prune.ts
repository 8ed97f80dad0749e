/** What alerts have told, and what nobody has rules for any more, is forgotten. */
import type { Database } from '../db/database.ts'
import { pruneTables } from '../db/pieces.ts'
import { sql } from '../db/sql.ts'

/** A cooldown lasts 366 days at most, and a comparison with the best rank 400. */
const DAYS = 400

const OLD_ALERTS = {
  /**
   * No cooldown and no comparison looks at them any more. The latest event of each rule and subject stays,
   * however old: it says that what is still so was told already.
   */
  events: {
    table: 'alert_event',
    age: 'found_at',
    days: DAYS,
    where: sql`r.slot < storerank_now() - make_interval(days => ${DAYS})
        and not exists (select from alert_message m where m.id = r.message_id and m.state = 'pending')
        and exists (
          select from alert_event l
          where l.rule_id = r.rule_id and l.subject = r.subject and l.slot > r.slot)`,
  },
  /** They have ended, and have no event left; the last digest says that its hour has passed. */
  messages: {
    table: 'alert_message',
    age: 'ended_at',
    days: DAYS,
    where: sql`r.state <> 'pending' and not exists (select from alert_event e where e.message_id = r.id)
        and (r.digest_at is null or r.channel_id is null or exists (
          select from alert_message l
          where l.channel_id = r.channel_id and l.project_id = r.project_id
            and l.digest_at > r.digest_at))`,
  },
}

/** @returns how many rows of each went */
export async function pruneAlerts(db: Database, signal?: AbortSignal) {
  const pruned = await pruneTables(db, 'Pruning old alerts', OLD_ALERTS, signal)
  await db.sql`
    delete from alert_due d where not exists (
      select from alert_rule r join project p on p.name = r.project where p.id = d.project_id)`
  return pruned
}
