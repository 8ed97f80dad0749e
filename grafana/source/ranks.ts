/** The dashboard of people who look at ranks: one project and one store at a time. */
import {
  GraphDrawStyle,
  GraphTransform,
  StackingConfigBuilder,
  StackingMode,
} from '@grafana/grafana-foundation-sdk/common'
import {
  AnnotationQueryBuilder,
  DashboardBuilder,
  DashboardCursorSync,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { figure, graph, linkToOthers, placePanels, table } from './panel.ts'
import { atMidnight, choice, DATA_SOURCE, isChosen, query, quoted, withAll } from './query.ts'

const PROJECT = quoted('project')
const TAG = quoted('tag')
/**
 * Days as constants, by which the functions prune partitions. The days that the picker shows are those of the
 * project.
 */
const FROM = '$__timeFrom()::date'
const TO = '$__timeTo()::date'
const RANGE = `${PROJECT}, ${FROM}, ${TO}`

const NAME = 'coalesce(label, title, app_id)'
const OF_STORE = `list = 'keyword' and store = ${quoted('store')}`
const OF_APPS = isChosen('app_id', 'app')
/** The chosen apps; while all are, the own ones. */
const OF_OWN = `coalesce(app_id in (${quoted('app')}), role = 'own')`
const OF_TAG = `(${TAG} = any(tags)) is not false`
const TIME = `${atMidnight('day')} as time`

const variables = () => [
  choice('project', 'Project', 'select name from project order by enabled desc, name'),
  choice(
    'store',
    'Store',
    `
select distinct store as __value, case store when 'ios_store' then 'iOS' else 'Android' end as __text
from project_list where project = ${PROJECT} order by 2 desc`,
  ),
  withAll(
    choice(
      'app',
      'Apps',
      `
select app_id as __value, ${NAME} as __text
from project_app where project = ${PROJECT} and store = ${quoted('store')}
order by role = 'own' desc, 2, 1`,
    ).multi(true),
  ),
  withAll(
    choice(
      'tag',
      'Tag',
      `
select distinct tag from project_list, unnest(tags) tag
where project = ${PROJECT} and store = ${quoted('store')} order by 1`,
    ),
  ),
  choice(
    'keyword',
    'Keywords of "Rank"',
    `
select keyword from project_list
where project = ${PROJECT} and store = ${quoted('store')} and list = 'keyword' and ${OF_TAG}
group by keyword order by bool_or(ended_at is null) desc, max(weight) desc, keyword limit 1000`,
  ).multi(true),
]

/** Releases and notes, beside which ranks move. */
const events = () =>
  new AnnotationQueryBuilder()
    .name('Releases and notes')
    .datasource(DATA_SOURCE)
    .enable(true)
    .iconColor('purple')
    .target(
      query(
        `
select ${TIME}, concat_ws(': ', ${NAME}, text) as text, kind as tags
from project_events(${RANGE})
where coalesce(store = ${quoted('store')}, true) and ${OF_APPS}
order by 1`,
        'table',
      ),
    )

const figures = () => ({
  height: 5,
  panels: [
    [
      8,
      figure(
        {
          title: 'Visibility',
          description:
            'Of the own apps, or of the chosen ones, on the latest measured day: 100 is first on each ' +
            'keyword.',
          sql: `
select ${TIME}, ${NAME} as metric, visibility as value
from visibility(${RANGE}, 'reciprocal', ${TAG})
where ${OF_STORE} and ${OF_OWN} order by 1, 2`,
        },
        'time_series',
      )
        .decimals(1)
        .min(0),
    ],
    [
      6,
      figure(
        {
          title: 'Keywords in the top 10',
          description: 'Of the own apps, or of the chosen ones, on the latest measured day.',
          sql: `
select ${TIME}, case when sum(measured) > 0 then sum(top_10) end as "in the top 10"
from visibility(${RANGE}, 'reciprocal', ${TAG})
where ${OF_STORE} and ${OF_OWN} group by 1 order by 1`,
        },
        'time_series',
      ),
    ],
    [
      5,
      figure({
        title: 'Measured',
        description: 'How much of what was due in these days was measured.',
        sql: `
select sum(captured)::float8 / nullif(sum(owed - pending), 0) as measured
from coverage(${RANGE}, ${TAG}) where store = ${quoted('store')}`,
      }).unit('percentunit'),
    ],
    [
      5,
      figure({
        title: 'Spent',
        description: 'By the project in these days, in both stores, less what came back.',
        sql:
          `select sum(spent_usd) as spent from spend_daily where project = ${PROJECT} and day between ` +
          `${FROM} and ${TO}`,
      })
        .unit('currencyUSD')
        .decimals(2),
    ],
  ] as const,
})

const visibilities = () => ({
  height: 9,
  panels: [
    [
      12,
      graph({
        title: 'Visibility',
        description:
          'Σ keyword weight × weight(rank) / Σ keyword weight × weight(1) over what was measured, in ' +
          'percent. Days without a measurement are gaps.',
        sql: `
select ${TIME}, ${NAME} as metric, visibility as value
from visibility(${RANGE}, 'reciprocal', ${TAG})
where ${OF_STORE} and ${OF_APPS} order by 1, 2`,
      })
        .min(0)
        .decimals(1),
    ],
    [
      12,
      graph({
        title: 'Share of voice',
        description: 'Whose the places are, in percent: with everybody else they add up to 100.',
        sql: `
select ${TIME}, coalesce(label, title, app_id, 'everybody else') as metric, share as value
from share_of_voice(${RANGE}, 'reciprocal', ${TAG})
where ${OF_STORE} and ${OF_APPS} order by 1, role = 'rest', 2`,
      })
        .unit('percent')
        .min(0)
        .max(100)
        .fillOpacity(40)
        .stacking(new StackingConfigBuilder().mode(StackingMode.Normal).group('A')),
    ],
  ] as const,
})

const keywords = () => ({
  height: 10,
  panels: [
    [
      12,
      graph({
        title: 'Distribution',
        description:
          'On how many keywords the own apps, or the chosen ones, stand where. Together they are what ' +
          'was due.',
        sql: `
select ${TIME}, sum(top_1) as "1", sum(top_2_3) as "2 to 3", sum(top_4_10) as "4 to 10",
  sum(top_11_30) as "11 to 30",
  sum(top_31_100) as "31 to 100", sum(beyond) as "beyond", sum(not_measured) as "not measured"
from rank_distribution(${RANGE}, ${TAG})
where ${OF_STORE} and ${OF_OWN} group by 1 order by 1`,
      })
        .drawStyle(GraphDrawStyle.Bars)
        .fillOpacity(70)
        .stacking(new StackingConfigBuilder().mode(StackingMode.Normal).group('A')),
    ],
    [
      12,
      graph({
        title: 'Rank',
        description:
          'Of the chosen keywords and apps. The axis counts downwards, so that the first place is on ' +
          'top (Grafana writes it with a minus sign). Not in the top, or not measured, is a gap.',
        sql: `
select ${TIME}, concat_ws(' · ', keyword, location, language, ${NAME}) as metric, rank as value
from rank_daily(${RANGE})
where ${OF_STORE} and keyword in (${quoted('keyword')}) and ${OF_APPS} and ${OF_TAG} order by 1, 2`,
      })
        .transform(GraphTransform.NegativeY)
        .axisSoftMax(0)
        .decimals(0),
    ],
  ] as const,
})

const movements = () => ({
  height: 10,
  panels: [
    [
      14,
      table({
        title: 'Movers',
        description:
          'The first day of the range against the last, for the own apps or the chosen ones: change is ' +
          'how many ranks an app climbed. A gap is never a move, so choose days that were measured.',
        sql: `
select keyword, location, language, ${NAME} as app, rank_before as before, rank_after as after, change,
  movement
from movers(${RANGE})
where ${OF_STORE} and ${OF_OWN} and ${OF_TAG} and movement in ('up', 'down', 'entered', 'left')
order by abs(change) desc nulls last, weight desc, keyword, location, language, app limit 200`,
      }).noValue('Nothing moved, or one of the two days was not measured.'),
    ],
    [
      10,
      table({
        title: 'Entered or left the top 10',
        description: 'The first day of the range against the last, for the own apps or the chosen ones.',
        sql: `
select movement, keyword, location, language, ${NAME} as app, rank_before as before, rank_after as after
from entered_left_top(${RANGE})
where ${OF_STORE} and ${OF_OWN} and ${OF_TAG}
order by movement, weight desc, keyword, location, language, app limit 200`,
      }).noValue('None, or one of the two days was not measured.'),
    ],
  ] as const,
})

const gapsAndMoney = () => ({
  height: 9,
  panels: [
    [
      12,
      table({
        title: 'What was not measured, and why',
        description: 'Slots of keywords, charts, pages and reviews, by day and reason.',
        sql: `
select ${atMidnight('day')} as day, function, gap, reason, slots, array_to_string(examples, ', ') as examples
from gap_reasons(${RANGE}, ${TAG})
where store = ${quoted('store')} order by 1 desc, slots desc, function, gap, reason limit 500`,
      })
        .noValue('Everything was measured.')
        .overrideByName('day', [{ id: 'unit', value: 'time:YYYY-MM-DD' }]),
    ],
    [
      7,
      graph({
        title: 'Spent by day',
        description: 'By the project, in both stores. Reserved is what tasks on their way may cost.',
        sql: `
select ${TIME}, spent_usd as spent, reserved_usd as reserved
from spend_daily where project = ${PROJECT} and day between ${FROM} and ${TO} order by 1`,
      })
        .unit('currencyUSD')
        .drawStyle(GraphDrawStyle.Bars)
        .fillOpacity(70)
        .stacking(new StackingConfigBuilder().mode(StackingMode.Normal).group('A')),
    ],
    [
      5,
      table({
        title: 'What it went into',
        description: 'What the project spent in these days, by store and kind.',
        sql: `
select store, function, sum(tasks) as tasks, sum(spent_usd) as usd
from spend_by_target(${RANGE}) group by 1, 2 order by 4 desc, 1, 2`,
      })
        .noValue('Nothing.')
        .overrideByName('usd', [{ id: 'unit', value: 'currencyUSD' }]),
    ],
  ] as const,
})

export function buildRanks(): DashboardBuilder {
  const dashboard = new DashboardBuilder('storerank: ranks')
    .uid('storerank-ranks')
    .description('Where the apps of a project stand, what moved, what was not measured, and what it cost.')
    .tags(['storerank'])
    .timezone('utc')
    .time({ from: 'now-30d', to: 'now' })
    .tooltip(DashboardCursorSync.Crosshair)
    .link(linkToOthers())
    .annotation(events())
  for (const variable of variables()) dashboard.withVariable(variable)
  return placePanels(dashboard, [figures(), visibilities(), keywords(), movements(), gapsAndMoney()])
}
