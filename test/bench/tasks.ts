/** Tasks that the service of a bench knows (service.ts), and the service. */
import type { Database } from '../../src/db/database.ts'
import { makePartitionsAhead } from '../../src/history/retention.ts'
import { type Delivery, listKeywords } from './bodies.ts'
import { type Partner, startPartner } from './talk.ts'

/** Each of so many is of another kind where they are mixed; by its index. */
export const ONE_IN = 20
const OVERDUE = 0
/** Still being posted: nobody knows its id yet. */
export const UNSETTLED = 2

/**
 * One paid task of each keyword a day.
 * @param mixed some are overdue or still being posted; else all are posted
 */
export async function prepareTasks(db: Database, results: number, mixed = false): Promise<Delivery[]> {
  const keywords = listKeywords()
  await db.sql`insert into project (name) values ('bench')`
  await db.sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', keyword, 2840, 'en' from unnest(${keywords}::text[]) keyword`
  await makePartitionsAhead(db, 2 + Math.ceil(results / keywords.length / 28))
  await db.sql`
    insert into post (store, function, state, token)
    select 'ios_store', 'app_searches', 'sending', gen_random_uuid()
    from generate_series(1, ${mixed ? Math.ceil(results / ONE_IN / 100) : 0}::int)`
  const tasks = await db.sql<Delivery[]>`
    with numbered as (
      select n, (n / ${keywords.length}::int)::int as day, t.id as target_id, t.subject, p.id as post_id,
        ${mixed}::bool and n % ${ONE_IN}::int = ${OVERDUE}::int as is_overdue, p.id is null as is_posted
      from generate_series(0, ${results - 1}::int) n
      join (select id, subject, row_number() over (order by id) - 1 as place from target) t
        on t.place = n % ${keywords.length}::int
      left join (select id, row_number() over (order by id) - 1 as place from post) p
        on n % ${ONE_IN}::int = ${UNSETTLED}::int and p.place = n / ${ONE_IN * 100}::int
    ),
    made as (
      insert into task (target_id, slot, slot_ends_at, state, depth, priority, estimate_micros, payers,
        post_id, service_id, posted_at, overdue_at, ask_at, endpoint)
      select target_id, date_trunc('day', now(), 'UTC') + make_interval(days => day),
        now() + interval '1 year', case when is_posted then 'posted' else 'posting' end, 100, 1, 1200,
        array(select id from project), post_id, case when is_posted then gen_random_uuid()::text end,
        case when is_posted then now() - interval '1 hour' end,
        case when is_overdue then now() when is_posted then now() + interval '1 day' end,
        case when is_overdue then now() when is_posted then now() + interval '1 day' end,
        case when is_posted then endpoint_of('ios_store', 'app_searches') end
      from numbered order by n
      returning *
    ),
    charged as (
      insert into charge (kind, project_id, amount_micros, target_id, slot, service_id)
      select 'charge', payers[1], 1200, target_id, slot, service_id from made where service_id is not null
    )
    select coalesce(m.service_id, gen_random_uuid()::text) as id, m.id || '.1' as tag, n.subject as keyword
    from made m join numbered n on n.target_id = m.target_id
      and m.slot = date_trunc('day', now(), 'UTC') + make_interval(days => n.day)
    order by n.n`
  await db.sql`select recount_spend()`
  // What autovacuum does in time; these tables are a second old.
  await db.sql`vacuum analyze`
  return [...tasks]
}

export interface Service extends Partner {
  readonly url: string
}

export async function startService(tasks: readonly Delivery[]): Promise<Service> {
  const service = startPartner('service.ts')
  return { ...service, ...(await service.ask<{ url: string }>(tasks)) }
}
