/**
 * What the benches of questions ask, and how fast the answer has to be at 1,000 keywords × 365 days × 100
 * apps.
 */
import { PROJECT } from './history.ts'

export interface Question {
  readonly name: string
  /** Milliseconds of CPU at the database; null: none is promised. */
  readonly barMs: number | null
  readonly query: string
}

/** An own app that stands in most results. */
const APP = '1000000001'
const month = `'${PROJECT}', current_date - 30, current_date`
const year = `'${PROJECT}', current_date - 364, current_date`
const week = `'${PROJECT}', current_date - 7, current_date - 1`
const inMonth = `project = '${PROJECT}' and slot >= now() - interval '30 days'`

const ROWS: readonly (readonly [name: string, barMs: number | null, query: string])[] = [
  // By which a busy machine is known: it has no plan to go wrong.
  [
    'for comparison: one app sought in all of a year',
    null,
    'select count(array_position(app_ids, 1)) from ranking',
  ],
  [
    'one app and keyword, a year',
    10,
    `select slot, rank, outcome from rank_history where project = '${PROJECT}' and app_id = '${APP}' ` +
      `and keyword = 'keyword 7' and slot >= now() - interval '365 days'`,
  ],
  [
    'one app, a month',
    100,
    `select keyword, slot, rank, outcome from rank_history where app_id = '${APP}' and ${inMonth}`,
  ],
  [
    'five apps, a month',
    500,
    `select app_id, keyword, slot, rank, outcome from rank_history where ${inMonth}`,
  ],
  [
    'one app by day, a month',
    100,
    `select day, keyword, rank, outcome from rank_daily(${month}) where app_id = '${APP}'`,
  ],
  ['five apps by day, a month', 500, `select day, app_id, keyword, rank, outcome from rank_daily(${month})`],
  ['the latest ranks', 50, `select * from rank_latest where project = '${PROJECT}'`],
  ['visibility and distribution, a month', 300, `select * from visibility(${month})`],
  ['visibility and distribution, a year', 3000, `select * from visibility(${year})`],
  ['share of voice, a month', null, `select * from share_of_voice(${month})`],
  ['coverage, a month', 100, `select * from coverage(${month})`],
  ['reasons of gaps, a month', 100, `select * from gap_reasons(${month})`],
  ['money by keyword, a month', 100, `select * from spend_by_target(${month})`],
  [
    'money by day, a month',
    100,
    `select * from spend_daily where project = '${PROJECT}' and day >= current_date - 30`,
  ],
  ['what sharing saved, a month', null, `select * from sharing_savings(${month})`],
  ['movers, a week', null, `select * from movers(${week})`],
  ['two days like for like', null, `select * from visibility_change(${week})`],
  ['two weeks like for like', null, `select * from visibility_change(${week}, in_days => 7)`],
  ['which keywords made it', null, `select * from visibility_movers(${week})`],
  ['entered and left the top 10', null, `select * from entered_left_top(${week})`],
  ['best, first, average, latest, a month', null, `select * from rank_summary(${month})`],
  ['who holds the top 10', null, `select * from top_holders(${week})`],
  ['whom nobody watches', null, `select * from unwatched_apps(${week})`],
  ['who overtook whom, a month', null, `select * from overtakes(${month})`],
]

export const QUESTIONS: readonly Question[] = ROWS.map(([name, barMs, query]) => ({ name, barMs, query }))
