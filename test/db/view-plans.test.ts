/**
 * Questions read the partitions and pages they need, with and without planner statistics: plans are looked
 * at, and no clock.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { analyzeGrownTables } from '../../src/db/analyze.ts'
import { fillHistory } from '../bench/history.ts'
import { QUESTIONS } from '../bench/questions.ts'
import { openTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

const KEYWORDS = 40
const DAYS = 100

interface PlanNode {
  readonly 'Relation Name'?: string
  readonly 'Actual Loops': number
  readonly 'Actual Rows': number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly PlanNode[]
}

const db = lasting(openTestDatabase)
before(async () => {
  await fillHistory(db, { keywords: KEYWORDS, days: DAYS, apps: 30 }, () => undefined)
})
const nodes = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodes)]

async function explain(
  query: string,
  of = db,
): Promise<{ partitions: string[]; pages: number; rowsRead: number }> {
  const [row] = await of.sql.unsafe<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }[]>(
    `explain (analyze, buffers, timing off, format json) ${query}`,
  )
  const plan = row?.['QUERY PLAN'][0]?.Plan
  assert.ok(plan)
  const read = nodes(plan).filter((node) => node['Actual Loops'] > 0)
  const ranking = read.filter((node) => /^ranking_\d+$/.test(node['Relation Name'] ?? ''))
  return {
    partitions: [...new Set(ranking.map((node) => node['Relation Name'] ?? ''))].sort(),
    pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
    rowsRead: Math.max(0, ...read.map((node) => node['Actual Rows'] * node['Actual Loops'])),
  }
}

/**
 * Months that a day of the last ones may be of, in whichever time zone, with the days beside it; and those to
 * come, which are empty.
 */
async function partitionsOf(days: number): Promise<string[]> {
  const rows = await db.sql<{ name: string }[]>`
    select distinct 'ranking_' || to_char(now()::date - n, 'YYYYMM') as name
    from generate_series(-60, ${days + 2}::int) n`
  return rows.map(({ name }) => name)
}

/** The days that a question is of; null: all. */
const daysOf = (name: string) =>
  /a year/.test(name) ? null : /latest ranks/.test(name) ? 1 : /a month/.test(name) ? 31 : 8

for (const statistics of [false, true]) {
  describe(statistics ? 'with statistics' : 'without statistics', () => {
    before(async () => {
      if (statistics) assert.ok((await analyzeGrownTables(db)) > 0)
      const [row] = await db.sql`select reltuples >= 0 as known from pg_class where relname = 'watch_period'`
      assert.equal(row?.known, statistics)
    })

    for (const { name, query } of QUESTIONS) {
      test(
        `the question "${name}" reads its own partitions, and joins nothing row by row with all of ` +
          'another',
        async () => {
          const { partitions, rowsRead } = await explain(query)
          const days = daysOf(name)
          const allowed = days === null ? partitions : await partitionsOf(days)
          assert.deepEqual(
            partitions.filter((partition) => !allowed.includes(partition)),
            [],
          )
          // As many as there are ranks of watched apps against each other in the whole history; a join that
          // goes wrong makes millions.
          assert.ok(rowsRead <= KEYWORDS * DAYS * 12, String(rowsRead))
        },
      )
    }

    test('one app and keyword reads its own rows alone', async () => {
      const question = QUESTIONS.find(({ name }) => name === 'one app and keyword, a year')
      const { pages } = await explain(question?.query ?? '')
      // A page of the heap and three of the index for each day, and the dictionaries, but no other target.
      assert.ok(pages < DAYS * 4 + 100, String(pages))
    })

    test('what is pending in a range is what is pending at all, and in the range', async () => {
      const inRange = await db.sql`
        select * from pending_rankings('bench', current_date - 50, current_date) order by period_id, slot`
      const all = await db.sql`
        select period_id, target_id, slot from pending_ranking
        where project = 'bench' and slot >= current_date - 51 order by period_id, slot`
      assert.equal(all.length, KEYWORDS)
      assert.deepEqual([...inRange], [...all])
      const [before] = await db.sql`
        select count(*)::int as slots from pending_rankings('bench', current_date - 50, current_date - 10)`
      assert.equal(before?.slots, 0)
    })

    test('what is pending is found without the tasks that have ended', async () => {
      const { pages } = await explain(`select * from pending_slot where project = 'bench'`)
      // Of each keyword the open tasks, which are none, and its row of the history, which is none either; its
      // tasks of 90 days are in 90 pages.
      assert.ok(pages < KEYWORDS * 12 + 200, String(pages))
    })

    test('the latest ranks read the last rows of each keyword, however long the history is', async () => {
      const { pages } = await explain(`select * from rank_latest where project = 'bench'`)
      // Without statistics the apps are made once a list.
      assert.ok(pages < KEYWORDS * (statistics ? 25 : 50) + 200, String(pages))
    })
  })
}

test('one keyword of a thousand is found without the others, also without statistics', async () => {
  const largeDb = await openTestDatabase()
  try {
    await fillHistory(largeDb, { keywords: 1000, days: 2, apps: 10 }, () => undefined)
    const query = `select target_id from list_period where project = 'bench' and keyword = 'keyword 7'`
    const { pages: without } = await explain(query, largeDb)
    assert.ok((await analyzeGrownTables(largeDb)) > 0)
    const { pages: withThem } = await explain(query, largeDb)
    // The periods of the project are in thirty pages; its targets, looked up one after the other, would be
    // three thousand.
    assert.ok(without < 100 && withThem < 100, `${without} and ${withThem}`)
  } finally {
    await largeDb.close()
  }
})
