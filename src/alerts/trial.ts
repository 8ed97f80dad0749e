/**
 * What the rules would have told over the past days, sending nothing: the same statements on temporary tables
 * of the same names, which hide the real ones, in a transaction that is rolled back. What goes by the clock
 * (money, jobs, the service) is not tried.
 */
import type { Database, Transaction } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import { applyCooldowns, type Line, toLines } from './content.ts'
import { type AlertProject, evaluateSlot, readAlertProjects } from './evaluate.ts'
import { type EventRow, readEvents } from './event.ts'

export interface TrialDay {
  readonly project: string
  readonly day: string
  readonly lines: readonly Line[]
  /** Held back by cooldowns. */
  readonly held: number
}

const LIMIT_MS = 30 * 60_000
const ALL_LINES = 1_000_000

/** @param days back from the present of the database */
export async function tryRules(
  db: Database,
  days: number,
  signal: AbortSignal,
  project?: string,
): Promise<TrialDay[]> {
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

async function tryProject(
  tx: Transaction,
  project: AlertProject,
  days: number,
  signal: AbortSignal,
): Promise<TrialDay[]> {
  const slots = await tx<{ slot: string; day: string }[]>`
    select distinct h.slot::text as slot, h.slot as at,
      to_char(h.slot at time zone ${project.timezone}::text, 'YYYY-MM-DD') as day
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
    order by at`
  const toldSlots = new Map<string, Date>()
  const results: TrialDay[] = []
  for (const { slot, day } of slots) {
    signal.throwIfAborted()
    const found = await trySlot(tx, project, slot)
    if (found.length === 0) continue
    const keyOf = (event: EventRow) => `${event.rule_id} ${event.subject}`
    const { told, suppressed } = applyCooldowns(
      found.map((event) => ({ ...event, told_slot: toldSlots.get(keyOf(event)) ?? null })),
    )
    for (const event of told) toldSlots.set(keyOf(event), event.slot)
    results.push({
      project: project.name,
      day,
      lines: toLines(told, ALL_LINES).lines,
      held: suppressed.length,
    })
  }
  return results
}

async function trySlot(tx: Transaction, project: AlertProject, slot: string): Promise<EventRow[]> {
  await tx`
    insert into alert_due (project_id, slot, target_ids)
    select ${project.id}::integer, ${slot}::timestamptz, array_agg(p.target_id)
    from watch_period p
    where p.project = ${project.name} and p.ended_at is null and p.target_id is not null
      and (exists (select from ranking_row r where r.target_id = p.target_id and r.slot = ${slot}::timestamptz
          and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, r.slot, r.gap))
        or exists (
          select from app_snapshot s where s.target_id = p.target_id and s.slot = ${slot}::timestamptz
          and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, s.slot, s.gap)))
    having count(*) > 0`
  const [message] = await tx<{ id: string }[]>`
    insert into alert_message (channel_id, project_id) values (0, ${project.id}) returning id`
  if ((await evaluateSlot(tx, { project, slot })) === 0 || message === undefined) return []
  await tx`update alert_event set message_id = ${message.id} where message_id is null`
  return readEvents(tx, message.id)
}
