/**
 * The dashboards of grafana/: made by their script, whole, and answered by the database to one who may only
 * read.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { writeDashboards } from '../../grafana/source/dashboards.ts'
import { DATA_SOURCE } from '../../grafana/source/query.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { fillHistory } from '../bench/history.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  type Chosen,
  checkColumns,
  checkLines,
  choose,
  type Dashboard,
  fill,
  readDashboards,
} from './panels.ts'

const DASHBOARDS = readDashboards()
const PROVISIONED = join(import.meta.dirname, '../../grafana/provisioning/datasources/storerank.yaml')
const WIDTH = 24

describe('the files', () => {
  test('are what the script makes: `npm run grafana` writes them anew', () => {
    const made = writeDashboards()
    assert.equal(made.length, DASHBOARDS.size)
    for (const { path, text } of made) assert.equal(readFileSync(path, 'utf8'), text, path)
  })

  for (const [name, dashboard] of DASHBOARDS) {
    describe(name, () => {
      test('is a classic dashboard that Grafana 10 and later load', () => {
        assert.equal(dashboard.schemaVersion, 42)
        assert.match(dashboard.uid, /^storerank-\w+$/)
      })

      test('has ids of its own for each panel, a title and a sentence', () => {
        const ids = dashboard.panels.map(({ id }) => id)
        assert.equal(new Set(ids).size, ids.length)
        for (const { title, description } of dashboard.panels) {
          assert.notEqual(title, '')
          assert.match(description, /\.$/, title)
        }
      })

      test('fills its grid without a gap in a line and without an overlap', () => {
        const taken = new Set<string>()
        for (const { title, gridPos } of dashboard.panels) {
          const { x, y, w, h } = gridPos
          assert.ok(x + w <= WIDTH, title)
          for (let column = x; column < x + w; column += 1)
            for (let line = y; line < y + h; line += 1) {
              assert.ok(!taken.has(`${column} ${line}`), title)
              taken.add(`${column} ${line}`)
            }
        }
        const height = Math.max(...dashboard.panels.map(({ gridPos }) => gridPos.y + gridPos.h))
        assert.equal(taken.size, WIDTH * height)
      })

      test('asks no data source but ours', () => {
        const asked = [
          ...dashboard.panels.flatMap((panel) => [panel, ...panel.targets]),
          ...dashboard.templating.list.filter(({ type }) => type === 'query'),
          ...(dashboard.annotations.list ?? []).flatMap((each) => [each, each.target]),
        ]
        for (const { datasource } of asked) assert.deepEqual(datasource, DATA_SOURCE)
        const provisioned = readFileSync(PROVISIONED, 'utf8')
        assert.match(provisioned, new RegExp(`^ {4}uid: ${DATA_SOURCE.uid}$`, 'm'))
      })
    })
  }
})

describe('every query', () => {
  let database: TestDatabase
  let db: Database
  /** A week in the middle of the month before this one. */
  const month = new Date()
  month.setUTCDate(0)
  const day = (number: number) => `${month.toISOString().slice(0, 7)}-${number}`
  const WEEK = { from: `${day(10)}T00:00:00Z`, to: `${day(16)}T23:59:59Z` }
  const PARTITION = month.toISOString().slice(0, 7).replace('-', '')

  before(async () => {
    database = await createTestDatabase()
    db = openDatabase(database.url)
    await fillHistory(db, { keywords: 6, days: 95, apps: 20 }, () => undefined)
  })
  after(async () => {
    await db.close()
    await database.drop()
  })

  const ask = async (sql: string) => {
    const [, rows] = await database.sql.begin((tx) => [tx`set local role storerank_reader`, tx.unsafe(sql)])
    return rows
  }

  const open = (dashboard: Dashboard) => choose(dashboard, WEEK, { project: 'bench' }, ask)

  for (const [name, dashboard] of DASHBOARDS) {
    test(`of ${name} is answered with the columns that its panel draws`, async () => {
      const chosen = await open(dashboard)
      for (const panel of dashboard.panels) {
        const rows = await ask(fill(panel.targets[0]?.rawSql ?? '', chosen, dashboard.templating.list))
        checkColumns(panel, rows)
        checkLines(panel, rows)
      }
      for (const { target } of dashboard.annotations.list ?? []) {
        const { columns } = await ask(fill(target.rawSql, chosen, dashboard.templating.list))
        assert.deepEqual(
          columns.map((column) => column.name),
          ['time', 'text', 'tags'],
        )
      }
    })
  }

  /** The months of the history that the panels of ranks read. */
  async function readPartitions(chosen: Chosen): Promise<Set<string>> {
    const { panels, templating } = DASHBOARDS.get('ranks') as Dashboard
    const read = new Set<string>()
    for (const { targets } of panels) {
      const sql = fill(targets[0]?.rawSql ?? '', chosen, templating.list)
      const [row] = await ask(`explain (analyze, timing off, costs off, format json) ${sql}`)
      const scans = JSON.stringify(row?.['QUERY PLAN']).matchAll(
        /"Relation Name":\s*"(?:ranking|app_snapshot)_(\d+)"[^{}]*?"Actual Loops":\s*([1-9])/g,
      )
      for (const [, partition = ''] of scans) read.add(partition)
    }
    return read
  }

  test('of the ranks reads the months of its range, and no others', async () => {
    const chosen = await open(DASHBOARDS.get('ranks') as Dashboard)
    assert.deepEqual([...(await readPartitions(chosen))], [PARTITION])
    const [before] = await ask(`select to_char(date '${day(10)}' - interval '1 month', 'YYYY-MM') as month`)
    const wider = await readPartitions({ ...chosen, from: `${before?.month}-10T00:00:00Z` })
    assert.deepEqual([...wider].sort(), [String(before?.month).replace('-', ''), PARTITION])
  })

  test('takes values of any kind: quotes in them stay quotes', async () => {
    const dashboard = DASHBOARDS.get('ranks') as Dashboard
    const chosen = await open(dashboard)
    for (const name of chosen.values.keys()) chosen.values.set(name, ["it's'; drop table x", '\\'])
    chosen.values.set('tag', ["'"])
    chosen.values.set('project', ["'"])
    chosen.values.set('store', ["'"])
    for (const { targets } of dashboard.panels)
      await ask(fill(targets[0]?.rawSql ?? '', chosen, dashboard.templating.list))
  })
})
