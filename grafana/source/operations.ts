/** The dashboard of operators: whether all is well, what it costs, and what to do about what is not. */
import { GraphDrawStyle, StackingConfigBuilder, StackingMode } from '@grafana/grafana-foundation-sdk/common'
import {
  DashboardBuilder,
  DashboardCursorSync,
  TextBoxVariableBuilder,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { figure, graph, linkToOthers, orangeFromOne, placePanels, table } from './panel.ts'
import { atMidnight, quoted } from './query.ts'

const stacked = () => new StackingConfigBuilder().mode(StackingMode.Normal).group('A')

/** Limits that are settings of the runners, which the database does not have. */
const variables = () => [
  new TextBoxVariableBuilder('day_limit')
    .label('MAX_USD_PER_DAY')
    .defaultValue('5')
    .current({ text: '5', value: '5' }),
  new TextBoxVariableBuilder('month_limit')
    .label('MAX_USD_PER_MONTH')
    .defaultValue('')
    .current({ text: '', value: '' }),
]

/** One kind of open_work: zero is good. */
const count = (title: string, kind: string, description: string) =>
  figure({
    title,
    description,
    sql: `select count from open_work where kind = '${kind}'`,
  }).thresholds(orangeFromOne())

const figures = () => ({
  height: 4,
  panels: [
    [
      4,
      figure({
        title: 'Due',
        description:
          'Slots that are due and not measured: not planned yet, on their way, or out of reach of the ' +
          'budget.',
        sql:
          `select sum(count) as due from open_work where kind in ('unplanned', 'planned', 'posting', ` +
          `'posted', 'budget_cut')`,
      }),
    ],
    [4, count('Overdue', 'overdue', 'Results that are late, and are asked for by their ids.')],
    [4, count('Cut by the budget', 'budget_cut', 'Due slots that the budget does not reach.')],
    [4, count('Posts of unknown outcome', 'unknown_post', 'Their answer was lost; they are looked for.')],
    [4, count('Posts held back', 'held_post', 'Ready and not sent: the problems below say why.')],
    [
      4,
      figure({
        title: 'Balance',
        description: 'Of the account, as the service said last.',
        sql: 'select balance_usd as balance from account_history order by at desc limit 1',
      })
        .unit('currencyUSD')
        .noValue('not known'),
    ],
  ] as const,
})

const problems = () => ({
  height: 10,
  panels: [
    [
      24,
      table({
        title: 'Problems, and what to do',
        description:
          'What keeps watches from being measured now, and what went wrong with tasks and books in the ' +
          'range. docs/operations.md has more of each kind.',
        sql: `
select at, about, kind, subject, message from (
  select 1 as place, since as at, 'open work' as about, kind, null as subject, message from open_work
    where message is not null
  union all
  select 1, at, 'job', 'failed', job, error from job_outcome where state = 'failed'
  union all
  select 1, null, 'account', 'balance', null, message from low_balance() message where message is not null
  union all
  select 1, since, 'service', status, concat_ws(' ', api, endpoint),
    'The service says so of itself. While it is a major_outage of task_post nothing is posted.'
  from service_state where status <> 'ok'
  union all
  select case problem when 'money' then 4 else 3 end, null, coalesce('watch of ' || project, watch_table),
    problem, subject, message from watch_problem
  union all
  select 2, at, 'task', kind, subject, message from task_problem
  where $__timeFilter(at) or kind in ('overdue', 'unknown', 'service_failure')
  union all
  select 2, at, 'audit', kind, coalesce(subject, path), message from audit_problem where $__timeFilter(at)
) p
order by place, at desc nulls last, about, kind, subject limit 500`,
      })
        .noValue('None.')
        .overrideByName('message', [{ id: 'custom.width', value: 900 }]),
    ],
  ] as const,
})

const jobs = () => ({
  height: 11,
  panels: [
    [
      14,
      table({
        title: 'Jobs',
        description: 'The last run of each job, and the runs of the past 24 hours by how they ended.',
        sql: `
select job, state, extract(epoch from now() - last_success_at)::float8 as "since success", done, failed,
  missed, at as "last end", error
from job_outcome order by job`,
      })
        .overrideByName('since success', [{ id: 'unit', value: 's' }])
        .noValue('No job has run yet: start `storerank start`, or `storerank run`.'),
    ],
    [
      10,
      table({
        title: 'Open work',
        description:
          'What no plan has looked at yet, tasks by state, and posts that are not settled, with the ' +
          'oldest of each.',
        sql: `select kind, count, since from open_work order by array_position(
  array['unplanned', 'planned', 'posting', 'posted', 'overdue', 'budget_cut', 'unknown_post', 'held_post',
    'refused_task', 'restored', 'no_run', 'no_room', 'read_only', 'clock'], kind)`,
      }),
    ],
  ] as const,
})

const HOUR = `date_bin('1 hour', ended_at, timestamptz '2001-01-01 00:00Z') as time`

const work = () => ({
  height: 9,
  panels: [
    [
      8,
      graph({
        title: 'Results by hour',
        description: 'Tasks by how they ended: collected is stored in the history.',
        sql: `
select ${HOUR}, count(*) filter (where state = 'collected') as stored, count(*)
  filter (where state = 'failed') as failed
from ended_task where $__timeFilter(ended_at) group by 1 order by 1`,
      })
        .drawStyle(GraphDrawStyle.Bars)
        .fillOpacity(70)
        .stacking(stacked()),
    ],
    [
      8,
      graph({
        title: 'From due to stored',
        description: 'Of the results of each hour: half of them came sooner, and 95 of 100.',
        sql: `
select ${HOUR}, percentile_cont(0.5) within group (order by extract(epoch from ended_at - slot)) as half,
  percentile_cont(0.95) within group (order by extract(epoch from ended_at - slot)) as "95 of 100"
from ended_task where state = 'collected' and $__timeFilter(ended_at) group by 1 order by 1`,
      })
        .unit('s')
        .min(0),
    ],
    [
      8,
      graph({
        title: 'Calls by minute, of the past hour',
        description: 'Over all runners, by kind.',
        sql: 'select minute as time, kind as metric, calls as value from call_minute order by 1, 2',
      })
        .timeFrom('1h')
        .drawStyle(GraphDrawStyle.Bars)
        .fillOpacity(70)
        .stacking(stacked()),
    ],
  ] as const,
})

const money = () => ({
  height: 9,
  panels: [
    [
      10,
      table({
        title: 'Budgets',
        description:
          'What this day and this month have used. The limits of all together are settings of the ' +
          'runners: write them above as they are set.',
        sql: `
select coalesce(project, 'all together') as project, period, spent_usd as spent, reserved_usd as reserved,
  allowed,
  ((spent_usd + reserved_usd) / nullif(allowed, 0))::float8 as used
from budget_use
cross join lateral (
  select coalesce(limit_usd, case when project is null
    then nullif(case period when 'day' then ${quoted('day_limit')}
      else ${quoted('month_limit')} end, '')::numeric end) as allowed
) l
order by project nulls first, period`,
      })
        .overrideByRegexp('spent|reserved|allowed', [{ id: 'unit', value: 'currencyUSD' }])
        .overrideByName('used', [{ id: 'unit', value: 'percentunit' }]),
    ],
    [
      7,
      graph({
        title: 'Spent by day, of 30 days',
        description: 'By project, in its own days.',
        sql: `
select ${atMidnight('day')} as time, project as metric, spent_usd as value
from spend_daily where day between $__timeFrom()::date and $__timeTo()::date order by 1, 2`,
      })
        .timeFrom('30d')
        .unit('currencyUSD')
        .drawStyle(GraphDrawStyle.Bars)
        .fillOpacity(70)
        .stacking(stacked()),
    ],
    [
      7,
      graph({
        title: 'Balance, of 30 days',
        description: 'Of the account, each time that the service was asked.',
        sql:
          'select at as time, balance_usd as balance from account_history where $__timeFilter(at) order ' +
          'by 1',
      })
        .timeFrom('30d')
        .unit('currencyUSD'),
    ],
  ] as const,
})

export function buildOperations(): DashboardBuilder {
  const dashboard = new DashboardBuilder('storerank: operations')
    .uid('storerank-operations')
    .description(
      'What is due, late or wrong, with what to do; jobs, results, calls and money. Without a runner ' +
        'it still answers: it asks the database alone.',
    )
    .tags(['storerank'])
    .timezone('utc')
    .time({ from: 'now-24h', to: 'now' })
    .refresh('1m')
    .tooltip(DashboardCursorSync.Crosshair)
    .link(linkToOthers())
  for (const variable of variables()) dashboard.withVariable(variable)
  return placePanels(dashboard, [figures(), problems(), jobs(), work(), money()])
}
