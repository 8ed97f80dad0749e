/** What people write about ranks: what a rank is worth, and notes on days. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { migrate } from '../../src/db/migrate.ts'
import { createTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

const database = lasting(createTestDatabase)

async function refusals(table: string, valid: object, rules: Record<string, readonly object[]>) {
  const { sql } = database
  for (const [rule, rows] of Object.entries(rules)) {
    for (const row of rows) {
      const insert = sql`insert into ${sql(table)} ${sql({ ...valid, ...row })}`
      await assert.rejects(insert, { constraint_name: `${table}_${rule}` }, JSON.stringify(row))
    }
  }
  const checks = await sql<{ name: string }[]>`
    select conname as name from pg_constraint where conrelid = ${table}::regclass and contype = 'c'`
  const named = Object.keys(rules).filter((rule) => !rule.startsWith('project_'))
  assert.deepEqual(checks.map(({ name }) => name).sort(), named.map((rule) => `${table}_${rule}`).sort())
}

describe('what a rank is worth', () => {
  test('is delivered as two curves, which fall from rank to rank and end at 100', async () => {
    const rows = await database.sql`
      select curve, count(*)::int as ranks, max(rank) as last, max(weight) filter (where rank = 2) as second,
        bool_and(falls) as falls
      from (select *, weight > lead(weight, 1, 0) over (partition by curve order by rank) as falls
        from rank_weight) w
      group by 1 order by 1`
    assert.deepEqual(
      [...rows],
      [
        { curve: 'clicks', ranks: 100, last: 100, second: 0.157, falls: true },
        { curve: 'reciprocal', ranks: 100, last: 100, second: 0.5, falls: true },
      ],
    )
  })

  test('stays as people have made it, whatever is migrated after that', async () => {
    const { sql, url } = database
    await sql`update rank_weight set weight = 0.9 where curve = 'reciprocal' and rank = 2`
    await sql`delete from rank_weight where curve = 'clicks' and rank > 50`
    await sql`insert into rank_weight values ('top 3', 1, 2), ('top 3', 3, 1)`
    await sql`update drizzle.objects set hash = 'another'`
    assert.equal(await migrate(url), true)
    const [row] = await sql`
      select (select weights[2] from rank_weights('reciprocal')) as edited,
        (select cardinality(weights) from rank_weights('clicks')) as kept,
        (select weights from rank_weights('top 3')) as own,
        (select weights from rank_weights('none')) as none`
    assert.deepEqual(row, { edited: 0.9, kept: 50, own: [2, 0, 1], none: null })
  })

  test('is a number of bounds, under a name', async () => {
    await refusals(
      'rank_weight',
      { curve: 'mine', rank: 1, weight: 1 },
      {
        curve_1_to_100_trimmed: [{ curve: '' }, { curve: ' a' }, { curve: 'x'.repeat(101) }],
        curve_without_control_characters: [{ curve: 'a\tb' }],
        rank_1_to_1000: [{ rank: 0 }, { rank: 1001 }],
        weight_of_rank_0_to_1000000: [{ weight: -1 }, { weight: 1e7 }, { weight: 'NaN' }],
        weight_of_rank_1_positive: [{ weight: 0 }],
      },
    )
  })
})

describe('a note on a day', () => {
  test('is one line on a day, of a project that there is, on an app of either store or on all', async () => {
    const { sql } = database
    await sql`insert into project (name) values ('fitness')`
    const valid = { project: 'fitness', day: '2026-03-10', text: 'Campaign' }
    await refusals('annotation', valid, {
      project_project_name_fk: [{ project: 'fitnes' }],
      day_2000_to_2200: [{ day: '1999-12-31' }, { day: '2200-01-02' }],
      app_id_form: [
        { app_id: '' },
        { app_id: '12' },
        { app_id: 'yoga' },
        { app_id: `com.${'x'.repeat(252)}` },
      ],
      text_1_to_1000_trimmed: [{ text: '' }, { text: ' a' }, { text: 'x'.repeat(1001) }],
      text_without_control_characters: [{ text: 'a\nb' }, { text: 'a\u202eb' }],
    })
    for (const appId of [null, '1480010017', 'com.acme.yoga'])
      await sql`insert into annotation ${sql({ ...valid, app_id: appId })}`
    const again = sql`insert into annotation ${sql({ ...valid, app_id: null })}`
    await assert.rejects(again, { constraint_name: 'annotation_same_row_twice' })
    await sql`update project set name = 'sport' where name = 'fitness'`
    assert.equal((await sql`select from annotation where project = 'sport'`).count, 3)
  })
})
