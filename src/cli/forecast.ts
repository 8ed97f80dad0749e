/** `storerank forecast`: what the watches cost a day and a month, or would, and when a budget ends first. Buys nothing. */
import { requireCurrentSchema } from '../db/migrate.ts'
import { type BudgetEnd, findBudgetEnd } from '../plan/budget-ends.ts'
import { FORECAST_DAYS, type Forecast, type ForecastQuestion, readForecast } from '../plan/forecast.ts'
import { readBudgetLimits } from '../report/money.ts'
import { hasUnplacedWatches } from '../report/status.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'
import { UNPLACED } from './plan.ts'
import { formatCount, formatMicros, printJson, printTable } from './print.ts'

export async function run(options: CommandOptions['forecast'], context: CommandContext): Promise<number> {
  const { json, ...question } = options
  const session = await openDatabaseSession(context, { migrates: false })
  try {
    await requireCurrentSchema(session.db)
    const { every, depth, priority, ...chosen } = question
    const isChange = every !== undefined || depth !== undefined || priority !== undefined
    const forecast = await readForecast(session.db, question)
    const present = isChange ? await readForecast(session.db, chosen) : forecast
    const budgets = await readBudgetLimits(session.db, context.config.budget)
    const ends = budgets.map((budget) => findBudgetEnd(budget, forecast.days))
    const calls = countCalls(forecast, context)
    if (json) printJson({ forecast, ...(isChange ? { present } : {}), budgets: ends, calls }, context)
    else {
      const isUnplaced = forecast.total.measurements === 0 && (await hasUnplacedWatches(session.db))
      if (isUnplaced) context.stdout.write(`${UNPLACED}\n`)
      else printCosts(forecast, present, question, context)
      printBudgets(ends, context)
      context.stdout.write(`${describeCalls(calls)}\n`)
    }
    return 0
  } finally {
    await session.close()
  }
}

function printCosts(
  forecast: Forecast,
  present: Forecast,
  question: ForecastQuestion,
  context: CommandContext,
): void {
  const say = (text: string) => context.stdout.write(`${text}\n`)
  if (forecast.lines.length === 0) {
    say(
      question.project === undefined && question.tag === undefined
        ? 'Nothing is watched yet, so nothing is bought: `storerank watch "yoga"` watches a keyword.'
        : 'No watch that is measured has this project and tag.',
    )
    return
  }
  const columns = (keys: readonly string[]) => [
    ...keys.map((key) => ({ key })),
    ...['watches', 'measurements', 'a day', 'a month'].map((key) => ({ key, align: 'right' as const })),
  ]
  const amounts = (line: {
    watches: number
    measurements: number
    dayMicros: number
    monthMicros: number
  }) => ({
    watches: formatCount(line.watches),
    measurements: formatCount(line.measurements),
    'a day': formatMicros(line.dayMicros),
    'a month': formatMicros(line.monthMicros),
  })
  printTable(
    forecast.lines.map(({ project, store, function: measured, priority, ...line }) => ({
      project,
      store,
      function: measured,
      priority,
      ...amounts(line),
    })),
    columns(['project', 'store', 'function', 'priority']),
    context,
  )
  if (forecast.tags.length > 0) {
    say('By tag (a watch with several tags counts in each)')
    printTable(
      forecast.tags.map(({ tag, ...line }) => ({ tag, ...amounts(line) })),
      columns(['tag']),
      context,
    )
  }
  const { total } = forecast
  say(
    `All watches: ${formatCount(total.measurements)} measurements for ${formatMicros(total.monthMicros)} a month (the next ${FORECAST_DAYS} days), ${formatMicros(total.dayMicros)} a day.`,
  )
  if (forecast !== present) {
    const difference = total.monthMicros - present.total.monthMicros
    say(
      `As they are now they cost ${formatMicros(present.total.monthMicros)} a month: ${formatMicros(Math.abs(difference))} ${difference < 0 ? 'less' : 'more'} with this change. Nothing was changed.`,
    )
  }
  if (total.savedMicros > 0) {
    say(`Projects that ask for the same share it, which saves ${formatMicros(total.savedMicros)} a month.`)
  }
  say('What a store does not have is refunded, and makes it less.')
}

function printBudgets(ends: readonly BudgetEnd[], { stdout }: CommandContext): void {
  stdout.write('\nBudgets\n')
  for (const end of ends) stdout.write(`  ${describeEnd(end)}\n`)
}

function describeEnd({ budget, period, limitMicros, usedMicros, endsOn, dearestMicros }: BudgetEnd): string {
  const limit = formatMicros(limitMicros)
  if (period === 'balance') {
    const left = formatMicros(limitMicros - usedMicros)
    return endsOn === null
      ? `${budget} (${left} left): enough for ${FORECAST_DAYS} days.`
      : `${budget} (${left} left): ends on ${endsOn}.`
  }
  const dearest = `the dearest ${period} costs ${formatMicros(dearestMicros)}`
  return endsOn === null
    ? `${budget}, ${limit}: enough, ${dearest}.`
    : `${budget}, ${limit}: does not reach on ${endsOn}, ${dearest}.`
}

interface Calls {
  readonly mostAtOnce: number
  /** Of the day with the most measurements at one instant. */
  readonly day: string | null
  readonly callsPerMinute: number
  /** At least: by the calls alone. */
  readonly minutes: number
  readonly isDelivered: boolean
}

/** A post takes up to 100 measurements; each result is fetched by a call of its own, unless the service delivers it. */
function countCalls({ days }: Forecast, { config }: CommandContext): Calls {
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

function describeCalls({ mostAtOnce, callsPerMinute, minutes, isDelivered }: Calls): string {
  const per = `CALLS_PER_MINUTE, ${formatCount(callsPerMinute)}`
  if (mostAtOnce === 0) return `  ${per}: enough.`
  const how = isDelivered ? '' : ' to post and fetch'
  const most = `the most at once ${mostAtOnce === 1 ? 'is 1 measurement, which takes' : `are ${formatCount(mostAtOnce)} measurements, which take`} ${formatCount(minutes)} ${minutes === 1 ? 'minute' : 'minutes'}${how} at the least`
  return minutes > MINUTES_A_DAY
    ? `  ${per}: does not reach, ${most}. POSTBACK_URL has results delivered without calls.`
    : `  ${per}: ${most}.`
}
