/** A service that has its answers ready (canned.ts), and a database with the tasks that it knows. */
import type { Database } from '../../src/db/database.ts'
import { makePartitionsAhead } from '../../src/history/partitions.ts'
import { type Delivery, listKeywords } from './bodies.ts'
import { startPartner } from './talk.ts'

/** One posted and paid task of each keyword a day. */
export async function prepareTasks(db: Database, results: number): Promise<Delivery[]> {
  const keywords = listKeywords()
  await db.sql`insert into project (name) values ('bench')`
  await db.sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', keyword, 2840, 'en' from unnest(${keywords}::text[]) keyword`
  await makePartitionsAhead(db, 2 + Math.ceil(results / keywords.length / 28))
  const tasks = await db.sql<Delivery[]>`
    with numbered as (
      select n, (n / ${keywords.length})::int as day, t.id as target_id, t.subject
      from generate_series(0, ${results - 1}) n join (
        select id, subject, row_number() over (order by id) - 1 as place from target) t
          on t.place = n % ${keywords.length}
    ),
    made as (
      insert into task (target_id, slot, slot_ends_at, state, depth, priority, estimate_micros, payers,
        service_id, posted_at,
        overdue_at, ask_at, endpoint)
      select target_id, date_trunc('day', now(), 'UTC') + make_interval(days => day),
        now() + interval '1 year', 'posted', 100, 1, 1200,
        array(select id from project), gen_random_uuid()::text, now(), now() + interval '1 day',
          now() + interval '1 day',
        endpoint_of('ios_store', 'app_searches')
      from numbered order by n
      returning *
    ),
    charged as (
      insert into charge (kind, project_id, amount_micros, target_id, slot, service_id)
      select 'charge', payers[1], 1200, target_id, slot, service_id from made
    )
    select m.service_id as id, m.id || '.1' as tag, t.subject as keyword from made m
      join target t on t.id = m.target_id order by m.id`
  await db.sql`select recount_spend()`
  // What autovacuum does in time; these tables are a second old.
  await db.sql`vacuum analyze`
  return [...tasks]
}

/** The other process. */
export async function startService(tasks: readonly Delivery[]) {
  const service = startPartner('canned.ts')
  return { ...service, ...(await service.ask<{ url: string }>(tasks)) }
}
