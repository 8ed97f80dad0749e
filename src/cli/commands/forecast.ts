/** What the watches cost, or would, and when a budget ends. */
import {
  type BudgetEnd,
  FORECAST_DAYS,
  type Forecast,
  type ForecastQuestion,
  findBudgetEnd,
  readForecast,
  type TagLine,
} from '../../plan/forecast.ts'
import { readBudgets } from '../../report/money.ts'
import { hasUnplacedWatches } from '../../report/status.ts'
import { formatUsd } from '../../text/money.ts'
import { countOf, formatCount } from '../../text/words.ts'
import type { CommandContext } from '../command.ts'
import { command, flag, option } from '../command.ts'
import { database } from '../database-session.ts'
import { heading, type Part, table } from '../document.ts'
import { interval, priority, wholeNumber } from '../option-values.ts'
import { UNPLACED } from './plan.ts'

export const forecast = command({
  group: 'Look',
  summary: 'show what the watches cost a day and a month, or would, and which budget ends',
  options: {
    every: option(
      '<interval>',
      'as if they were measured so often: 1, 2, 3, 4, 6, 8 or 12h, 1 to 31d',
      interval,
    ),
    depth: option('<number>', 'as if keywords and charts were looked at so deep', wholeNumber(1, 1000)),
    priority: option('<number>', 'as if they had this priority', priority),
    project: option('<name>', 'only the watches of this project'),
    tag: option('<tag>', 'only the watches with this tag'),
    json: flag('print JSON instead of tables'),
  },
  examples: ['storerank forecast --every 6h --depth 100 --tag brand'],
  offers: [
    { name: 'forecast', summary: 'What the watches cost a day and a month, or would, and which budget ends' },
  ],
  needs: database(),
  run: async (question, { config }, { db }) => {
    const { every, depth, priority: level, ...chosen } = question
    const isChange = every !== undefined || depth !== undefined || level !== undefined
    const forecast = await readForecast(db, question)
    const present = isChange ? await readForecast(db, chosen) : null
    const limits = await readBudgets(db, config.budget)
    const budgets = limits.map((budget) => findBudgetEnd(budget, forecast.days))
    const calls = countCalls(forecast, config)
    const isUnplaced = forecast.total.measurements === 0 && (await hasUnplacedWatches(db))
    return {
      data: { forecast, ...(present === null ? {} : { present }), budgets, calls },
      parts: [
        isUnplaced ? UNPLACED : describeCosts(forecast, present, question),
        heading('Budgets'),
        budgets.map((end) => `  ${describeEnd(end)}`),
        `  ${describeCalls(calls)}`,
      ],
    }
  },
})

function describeCosts(forecast: Forecast, present: Forecast | null, question: ForecastQuestion): Part {
  if (forecast.lines.length === 0) {
    return question.project === undefined && question.tag === undefined
      ? 'Nothing is watched yet, so nothing is bought: `storerank watch "yoga"` watches a keyword.'
      : 'No watch that is measured has this project and tag.'
  }
  const lines = forecast.lines.map(({ project, store, function: measured, priority, ...cost }) => ({
    ...{ project, store, function: measured, priority },
    ...showCost(cost),
  }))
  const byTag = forecast.tags.map(({ tag, ...cost }) => ({ tag, ...showCost(cost) }))
  return [
    table(lines, { right: COSTS }),
    byTag.length > 0 && ['By tag (a watch with several tags counts in each)', table(byTag, { right: COSTS })],
    describeTotals(forecast, present),
  ]
}

const COSTS = ['watches', 'measurements', 'a day', 'a month']

function showCost({ watches, measurements, dayMicros, monthMicros }: Omit<TagLine, 'tag'>) {
  return {
    watches: formatCount(watches),
    measurements: formatCount(measurements),
    'a day': formatUsd(dayMicros),
    'a month': formatUsd(monthMicros),
  }
}

function describeTotals({ total }: Forecast, present: Forecast | null): Part {
  const difference = total.monthMicros - (present?.total.monthMicros ?? 0)
  const month = `${formatUsd(total.monthMicros)} a month (the next ${FORECAST_DAYS} days)`
  return [
    `All watches: ${formatCount(total.measurements)} measurements for ${month}, ` +
      `${formatUsd(total.dayMicros)} a day.`,
    present !== null &&
      `As they are now they cost ${formatUsd(present.total.monthMicros)} a month: ` +
        `${formatUsd(Math.abs(difference))} ${difference < 0 ? 'less' : 'more'} with this change. ` +
        'Nothing was changed.',
    total.savedMicros > 0 &&
      `Projects that ask for the same share it, which saves ${formatUsd(total.savedMicros)} a month.`,
    'Results that the store does not have are refunded: the bill may be lower.',
  ]
}

function describeEnd({ budget, period, limitMicros, usedMicros, endsOn, dearestMicros }: BudgetEnd): string {
  if (period === 'balance') {
    const reach = endsOn === null ? `enough for ${FORECAST_DAYS} days` : `ends on ${endsOn}`
    return `${budget} (${formatUsd(limitMicros - usedMicros)} left): ${reach}.`
  }
  const reach = endsOn === null ? 'enough' : `does not reach on ${endsOn}`
  const dearest = `the dearest ${period} costs ${formatUsd(dearestMicros)}`
  return `${budget}, ${formatUsd(limitMicros)}: ${reach}, ${dearest}.`
}

/**
 * The least minutes that the day takes which has the most measurements at one instant: a post takes up to
 * 100, and each result is a call of its own, unless it is delivered.
 */
function countCalls({ days }: Forecast, config: CommandContext['config']) {
  const isDelivered = config.postbackUrl !== null
  const busiest = days
    .filter(({ scope }) => scope === 0)
    .reduce((most, day) => (day.mostAtOnce > most.mostAtOnce ? day : most), { mostAtOnce: 0, day: '' })
  const calls = Math.ceil(busiest.mostAtOnce / 100) + (isDelivered ? 0 : busiest.mostAtOnce)
  return {
    mostAtOnce: busiest.mostAtOnce,
    day: busiest.day || null,
    callsPerMinute: config.callsPerMinute,
    minutes: Math.ceil(calls / config.callsPerMinute),
    isDelivered,
  }
}

const MINUTES_A_DAY = 1440

function describeCalls({ mostAtOnce, minutes, ...calls }: ReturnType<typeof countCalls>): string {
  const per = `CALLS_PER_MINUTE, ${formatCount(calls.callsPerMinute)}`
  if (mostAtOnce === 0) return `${per}: enough.`
  const [is, takes] = mostAtOnce === 1 ? ['is', 'takes'] : ['are', 'take']
  const how = calls.isDelivered ? '' : ' to post and fetch'
  const most =
    `the most at once ${is} ${countOf(mostAtOnce, 'measurement')}, which ` +
    `${takes} ${countOf(minutes, 'minute')}${how} at the least`
  return minutes > MINUTES_A_DAY
    ? `${per}: does not reach, ${most}. POSTBACK_URL has results delivered without calls.`
    : `${per}: ${most}.`
}
