/**
 * What the rules would have told over the past days, sending nothing: the same statements on temporary tables
 * of the same names, which hide the real ones, in a transaction that is rolled back. What goes by the clock
 * (money, jobs, the service) is not tried.
 */
import type { Database, Transaction } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import { applyCooldowns, toLines } from './content.ts'
import { type EventRow, readEvents } from './event.ts'
import { type AlertProject, evaluateSlot, readAlertProjects } from './run.ts'

export type TrialDay = Awaited<ReturnType<typeof tryProject>>[number]

const LIMIT_MS = 30 * 60_000
const ALL_LINES = 1_000_000

/** @param days back from the present of the database */
export async function tryRules(db: Database, days: number, signal: AbortSignal, project?: string) {
  const told: TrialDay[] = []
  const work = async (tx: Transaction) => {
    // Read while its tables are the real ones, so that their names in it are taken for the temporary ones.
    const [view] = await tx<{ text: string }[]>`select pg_get_viewdef('alert_history'::regclass) as text`
    for (const table of ['alert_due', 'alert_message', 'alert_event']) {
      const real = sql.identifier(`public.${table}`)
      await tx`create temp table ${sql.identifier(table)} (like ${real} including all) on commit drop`
    }
    await tx.unsafe(`create temp view alert_history as ${view?.text}`)
    const projects = await readAlertProjects({ sql: tx })
    for (const each of projects.filter(({ name }) => project === undefined || name === project)) {
      told.push(...(await tryProject(tx, each, days, signal)))
    }
    throw new TrialOver()
  }
  await db.begin(work, { name: 'The trial of the rules', limitMs: LIMIT_MS }).catch((error) => {
    if (!(error instanceof TrialOver)) throw error
  })
  return told
}

class TrialOver extends Error {}

async function tryProject(tx: Transaction, project: AlertProject, days: number, signal: AbortSignal) {
  const slots = await tx<{ slot: string; day: string }[]>`
    with noted as (
      insert into alert_due (project_id, slot, target_ids)
      select ${project.id}::integer, h.slot, array_agg(distinct p.target_id)
      from watch_period p
      join (
        select target_id, slot, gap from ranking_row
        where slot > storerank_now() - make_interval(days => ${days}::integer)
        union all
        select target_id, slot, gap from app_snapshot
        where slot > storerank_now() - make_interval(days => ${days}::integer)
      ) h on h.target_id = p.target_id
        and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, h.slot, h.gap)
      where p.project = ${project.name} and p.ended_at is null
      group by h.slot
      returning slot
    )
    select slot::text as slot, to_char(slot at time zone ${project.timezone}::text, 'YYYY-MM-DD') as day
    from noted order by noted.slot`
  const toldSlots = new Map<string, Date>()
  const keyOf = (event: EventRow) => `${event.rule_id} ${event.subject}`
  const results = []
  for (const { slot, day } of slots) {
    signal.throwIfAborted()
    if ((await evaluateSlot(tx, project, slot)) === 0) continue
    const found = await readNewEvents(tx, project)
    const { told, suppressed } = applyCooldowns(
      found.map((event) => ({ ...event, told_slot: toldSlots.get(keyOf(event)) ?? null })),
    )
    for (const event of told) toldSlots.set(keyOf(event), event.slot)
    const { lines } = toLines(told, ALL_LINES)
    // Held back by cooldowns.
    const held = suppressed.length
    results.push({ project: project.name, day, lines, held })
  }
  return results
}

/** As events of a message, which they become. */
async function readNewEvents(tx: Transaction, project: AlertProject): Promise<EventRow[]> {
  const [message] = await tx<{ id: string }[]>`
    with message as (
      insert into alert_message (channel_id, project_id) values (0, ${project.id}) returning id
    )
    update alert_event set message_id = (select id from message) where message_id is null
    returning message_id as id`
  return message === undefined ? [] : readEvents(tx, message.id)
}
