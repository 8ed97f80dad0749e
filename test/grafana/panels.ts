/**
 * What the dashboards ask: every query of their panels, variables and annotations, and the SQL that Grafana
 * makes of it.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type postgres from 'postgres'

const FOLDER = join(import.meta.dirname, '../../grafana/dashboards')

interface Target {
  readonly rawSql: string
  readonly format: string
  readonly datasource: unknown
}

type Matcher = { readonly id: string; readonly options: string }

export interface Panel {
  readonly id: number
  readonly title: string
  readonly description: string
  readonly type: 'timeseries' | 'table' | 'stat'
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly datasource: unknown
  readonly targets: readonly Target[]
  readonly fieldConfig?: { readonly overrides: readonly { readonly matcher: Matcher }[] }
}

export interface Variable {
  readonly name: string
  readonly type: 'query' | 'textbox'
  readonly query: string
  readonly datasource?: unknown
  readonly includeAll?: boolean
  readonly allValue?: string
}

export interface Dashboard {
  readonly uid: string
  readonly schemaVersion: number
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly Variable[] }
  readonly annotations: { readonly list?: readonly { datasource: unknown; target: Target }[] }
}

/** By the names of their files. */
export function readDashboards(): Map<string, Dashboard> {
  return new Map(
    readdirSync(FOLDER)
      .sort()
      .map((file) => [file.replace('.json', ''), JSON.parse(readFileSync(join(FOLDER, file), 'utf8'))]),
  )
}

/** What is chosen on a dashboard: the range, and of each variable its values; null is all of them. */
export interface Chosen {
  readonly from: string
  readonly to: string
  readonly values: Map<string, readonly string[] | null>
}

/** The SQL that Grafana sends: its macros and variables replaced as it does. */
export function fill(sql: string, { from, to, values }: Chosen, variables: readonly Variable[]): string {
  const filled = sql
    .replaceAll('$__timeFrom()', `'${from}'`)
    .replaceAll('$__timeTo()', `'${to}'`)
    .replaceAll(/\$__timeFilter\(([^)]*)\)/g, (_, column) => `${column} BETWEEN '${from}' AND '${to}'`)
    .replaceAll(/\$\{(\w+):sqlstring\}/g, (_, name) => {
      const chosen = values.get(name)
      assert.ok(chosen !== undefined, `the variable ${name} is one of the dashboard, and stands before`)
      if (chosen === null) return variables.find((each) => each.name === name)?.allValue ?? ''
      return chosen.map((value) => `'${value.replaceAll("'", "''")}'`).join(',')
    })
  assert.doesNotMatch(filled, /\$/)
  return filled
}

const TIME = [1184]
const NUMBERS = [20, 21, 23, 700, 701, 1700]
const TEXT = 25

type Rows = postgres.RowList<postgres.Row[]>

/** Refuses columns of which the panel can make nothing. */
export function checkColumns({ title, type, targets, fieldConfig }: Panel, { columns }: Rows): void {
  const names = columns.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length, `${title}: each column has a name of its own`)
  const numbers = columns.filter((column) => NUMBERS.includes(column.type))
  assert.ok(type === 'table' || numbers.length > 0, `${title}: there is a number`)
  if (targets[0]?.format === 'time_series') {
    assert.equal(names[0], 'time')
    assert.ok(TIME.includes(columns[0]?.type ?? 0), `${title}: time is an instant`)
    const rest = columns.slice(1).filter((column) => !numbers.includes(column))
    assert.ok(rest.length === 0 || rest.every(({ name, type }) => name === 'metric' && type === TEXT), title)
    assert.ok(rest.length === 0 || numbers.length === 1, `${title}: one value for each metric`)
  }
  for (const { matcher } of fieldConfig?.overrides ?? []) {
    const matches = (name: string) =>
      matcher.id === 'byName' ? name === matcher.options : new RegExp(matcher.options).test(name)
    assert.ok(names.some(matches), `${title}: there is a column ${matcher.options}`)
  }
}

/**
 * Refuses a line of a graph that has two values at one instant, which Grafana would draw over one another.
 */
export function checkLines({ title }: Panel, rows: Rows): void {
  if (!rows.columns.some(({ name }) => name === 'metric')) return
  const points = rows.map(({ time, metric }) => `${time.toISOString()} ${metric}`)
  assert.equal(new Set(points).size, points.length, `${title}: one value at a time`)
}

/**
 * Chooses as Grafana does when a dashboard is opened: all, where that can be chosen, or the first of the
 * answer.
 * @param given values of some variables instead
 */
export async function choose(
  { templating }: Dashboard,
  range: { readonly from: string; readonly to: string },
  given: Readonly<Record<string, string>>,
  ask: (sql: string) => Promise<Rows>,
): Promise<Chosen> {
  const chosen: Chosen = { ...range, values: new Map() }
  for (const { name, type, query, includeAll } of templating.list) {
    if (type === 'textbox') {
      chosen.values.set(name, [query])
      continue
    }
    const rows = await ask(fill(query, chosen, templating.list))
    const names = rows.columns.map((column) => column.name)
    assert.ok(names.length === 1 || ['__value', '__text'].every((each) => names.includes(each)), name)
    const values = rows.map((row) => row.__value ?? row[names[0] ?? ''])
    const value = given[name] ?? values[0]
    assert.ok(values.includes(value), `${name} has the value ${value}`)
    chosen.values.set(name, includeAll && given[name] === undefined ? null : [value])
  }
  return chosen
}
