/**
 * One project's watches, history and rules, and what the rules find in what was stored since the last look.
 */

import { evaluateService, evaluateSlot, readAlertProjects, readDueSlot } from '../../src/alerts/run.ts'
import type { Transaction } from '../../src/db/database.ts'
import { createWatchlist, type Watchlist } from './watchlist.ts'

type Fields = Record<string, unknown>

export interface AlertList extends Watchlist {
  /** @returns the id of an alert_rule row; by default of the project `fitness`, named like its kind */
  addRule(fields: Fields & { kind: string }): Promise<number>
  /**
   * Looks at all that was stored since the last look, and returns the new events as `rule slot subject
   * before→after`.
   */
  look(): Promise<string[]>
}

export async function createAlertList(): Promise<AlertList> {
  const list = await createWatchlist()
  const { sql } = list
  const work = <T>(run: (tx: Transaction) => Promise<T>) =>
    sql.begin((tx) => run(tx as unknown as Transaction))
  return {
    ...list,
    async addRule(fields) {
      const [row] = await sql`
        insert into alert_rule ${sql({ project: 'fitness', name: fields.kind, ...fields })} returning id`
      return row?.id
    },
    async look() {
      const [last] = await sql`select coalesce(max(id), 0) as id from alert_event`
      for (const project of await readAlertProjects({ sql: sql as never })) {
        for (;;) {
          const slot = await readDueSlot({ sql: sql as never }, project)
          if (slot === null) break
          await work((tx) => evaluateSlot(tx, project, slot))
        }
        const budget = { maxDayMicros: 5_000_000, maxMonthMicros: null, maxRunMicros: null }
        await work((tx) => evaluateService(tx, project, budget))
      }
      const rows = await sql<{ text: string }[]>`
        select concat_ws(' ', h.rule, to_char(h.slot, 'MM-DD'), coalesce(h.keyword, h.collection), h.app_id,
          'behind ' || h.rival_id, coalesce(h.before::text, '-') || '→'
            || coalesce(h.after::text, '-')) as text
        from alert_history h where h.event_id > ${last?.id} order by 1`
      return rows.map(({ text }) => text)
    },
  }
}
