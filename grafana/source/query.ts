/**
 * Queries of the one data source: SQL on the database of storerank as `storerank_reader`. Grafana replaces
 * `$__timeFrom()`, `$__timeTo()` and `$__timeFilter(…)` by the range of the time picker, and variables by
 * what is chosen.
 */
import type { Builder, Dataquery } from '@grafana/grafana-foundation-sdk/cog'
import {
  QueryVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard'

/** Its `uid` is the one of provisioning/datasources. */
export const DATA_SOURCE = { type: 'grafana-postgresql-datasource', uid: 'storerank' }

export type Format = 'table' | 'time_series'

/**
 * A query of a panel. A `time_series` has the columns `time` and, one line each, `metric` and `value`, or
 * else one column for each line.
 */
export function query(rawSql: string, format: Format): Builder<Dataquery> {
  const built = {
    refId: 'A',
    datasource: DATA_SOURCE,
    editorMode: 'code',
    rawQuery: true,
    format,
    rawSql: rawSql.trim(),
    _implementsDataqueryVariant: () => undefined,
  }
  return { build: () => built }
}

/**
 * The chosen value of a variable as a literal of SQL, several with commas between. All of them are `null`.
 */
export const quoted = (variable: string): string => `\${${variable}:sqlstring}`

/** True of the chosen values, and of everything while all of them are. */
export const isChosen = (column: string, variable: string): string =>
  `${column} in (${quoted(variable)}) is not false`

/**
 * A day as an instant: midnight in UTC, which is the time zone of the dashboards, so that the axis names the
 * day.
 */
export const atMidnight = (column: string): string => `${column}::timestamp at time zone 'UTC'`

/** A choice that the database gives: the columns `__value` and `__text`, or one column. */
export function choice(name: string, label: string, sql: string): QueryVariableBuilder {
  const text = sql.trim()
  return new QueryVariableBuilder(name)
    .label(label)
    .datasource(DATA_SOURCE)
    .query(text)
    .definition(text)
    .refresh(VariableRefresh.OnDashboardLoad)
    .sort(VariableSort.Disabled)
}

/** Several may be chosen, or all. */
export const withAll = (variable: QueryVariableBuilder): QueryVariableBuilder =>
  variable.includeAll(true).allValue('null').current({ text: 'All', value: '$__all' })
