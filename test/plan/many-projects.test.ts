/** What a plan decides it decides in time that grows with what is due, however many projects have budgets. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { disableNestedLoops } from '../../src/db/joins.ts'
import { admission, readBudgets } from '../../src/plan/admission.ts'
import { askedNow } from '../../src/plan/due.ts'
import { TIMINGS } from '../../src/timings.ts'
import { createPlanning, type Planning } from '../support/planning.ts'

const PROJECTS = 300
const KEYWORDS_EACH = 10
const SLOTS = PROJECTS * KEYWORDS_EACH

interface PlanNode {
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

let planning: Planning
before(async () => {
  planning = await createPlanning()
  await planning.setNow('2026-11-21 12:00+00')
  await planning.db.sql`
    insert into project (name, daily_usd) select 'project ' || n, 1000
      from generate_series(1, ${PROJECTS}::int) n`
  await planning.db.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select 'project ' || p, 'ios_store', 'keyword ' || p || ' ' || k, 2840, 'en'
    from generate_series(1, ${PROJECTS}::int) p cross join generate_series(1, ${KEYWORDS_EACH}::int) k`
})
after(() => planning.drop())

/** Rows that all nodes of a plan have looked at. */
function countRows(node: PlanNode): number {
  const rows =
    node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0)
  return rows * node['Actual Loops'] + (node.Plans ?? []).reduce((sum, child) => sum + countRows(child), 0)
}

test('an asker of a slot is not compared with the budget of each project', async () => {
  const rows = await planning.db.begin(async (tx) => {
    await disableNestedLoops(tx)
    const budget = { maxDayMicros: 1_000_000_000, maxMonthMicros: null, maxRunMicros: null }
    const budgets = await readBudgets(tx, budget, 0)
    const [row] = await tx<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }[]>`
      explain (analyze, timing off, format json) ${admission(askedNow(), budgets)}`
    const plan = row?.['QUERY PLAN'][0]?.Plan
    assert.ok(plan !== undefined)
    return countRows(plan)
  })
  assert.equal((await planning.preview()).planned, SLOTS)
  assert.ok(rows <= 60 * SLOTS, `${rows} rows for ${SLOTS} slots`)
})

test('a slot that more watches ask for than a transaction decides is planned alone', async (t) => {
  const planning = await createPlanning()
  t.after(() => planning.drop())
  await planning.setNow('2026-11-21 12:00+00')
  for (const project of ['a', 'b', 'c']) await planning.watch(project, ['yoga', 'run'])
  const { planAskers } = TIMINGS
  t.after(() => Object.assign(TIMINGS, { planAskers }))
  Object.assign(TIMINGS, { planAskers: 2 })
  assert.equal((await planning.plan()).planned, 2)
  const [pieces] = await planning.db.sql`select count(distinct xmin::text)::int as pieces from task`
  assert.equal(pieces?.pieces, 2)
})
