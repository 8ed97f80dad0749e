/**
 * What `npm run bench:reports` asks, and how fast the answer has to be at 1,000 keywords × 365 days × 100
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

export const QUESTIONS: readonly Question[] = [
  // By which a busy machine is known: it has no plan to go wrong.
  {
    name: 'for comparison: one app sought in all of a year',
    barMs: null,
    query: 'select count(array_position(app_ids, 1)) from ranking',
  },
  {
    name: 'one app and keyword, a year',
    barMs: 10,
    query:
      `select slot, rank, outcome from rank_history where project = '${PROJECT}' and app_id = '${APP}' ` +
      `and keyword = 'keyword 7' and slot >= now() - interval '365 days'`,
  },
  {
    name: 'one app, a month',
    barMs: 100,
    query: `select keyword, slot, rank, outcome from rank_history where app_id = '${APP}' and ${inMonth}`,
  },
  {
    name: 'five apps, a month',
    barMs: 500,
    query: `select app_id, keyword, slot, rank, outcome from rank_history where ${inMonth}`,
  },
  {
    name: 'one app by day, a month',
    barMs: 100,
    query: `select day, keyword, rank, outcome from rank_daily(${month}) where app_id = '${APP}'`,
  },
  {
    name: 'five apps by day, a month',
    barMs: 500,
    query: `select day, app_id, keyword, rank, outcome from rank_daily(${month})`,
  },
  { name: 'the latest ranks', barMs: 50, query: `select * from rank_latest where project = '${PROJECT}'` },
  { name: 'visibility and distribution, a month', barMs: 300, query: `select * from visibility(${month})` },
  { name: 'visibility and distribution, a year', barMs: 3000, query: `select * from visibility(${year})` },
  { name: 'share of voice, a month', barMs: null, query: `select * from share_of_voice(${month})` },
  { name: 'coverage, a month', barMs: 100, query: `select * from coverage(${month})` },
  { name: 'reasons of gaps, a month', barMs: 100, query: `select * from gap_reasons(${month})` },
  { name: 'money by keyword, a month', barMs: 100, query: `select * from spend_by_target(${month})` },
  {
    name: 'money by day, a month',
    barMs: 100,
    query: `select * from spend_daily where project = '${PROJECT}' and day >= current_date - 30`,
  },
  { name: 'what sharing saved, a month', barMs: null, query: `select * from sharing_savings(${month})` },
  { name: 'movers, a week', barMs: null, query: `select * from movers(${week})` },
  { name: 'two days like for like', barMs: null, query: `select * from visibility_change(${week})` },
  {
    name: 'two weeks like for like',
    barMs: null,
    query: `select * from visibility_change(${week}, in_days => 7)`,
  },
  { name: 'which keywords made it', barMs: null, query: `select * from visibility_movers(${week})` },
  { name: 'entered and left the top 10', barMs: null, query: `select * from entered_left_top(${week})` },
  {
    name: 'best, first, average, latest, a month',
    barMs: null,
    query: `select * from rank_summary(${month})`,
  },
  { name: 'who holds the top 10', barMs: null, query: `select * from top_holders(${week})` },
  { name: 'whom nobody watches', barMs: null, query: `select * from unwatched_apps(${week})` },
  { name: 'who overtook whom, a month', barMs: null, query: `select * from overtakes(${month})` },
]
