/** The account as `/v3/appendix/user_data` shows it (spec: Account data record). */

import type { Account } from './account.ts'
import type { Calls } from './calls.ts'
import { POST_PRICES_MICROS, toUsd } from './prices.ts'
import { formatTimestamp } from './timestamp.ts'

/** Results of these functions come in these forms (spec: Account data record). */
const FORMS: Record<string, readonly string[]> = {
  app_info: ['advanced', 'html'],
  app_list: ['advanced', 'html'],
  app_searches: ['advanced', 'html'],
  app_reviews: ['advanced'],
}
const LISTS = ['errors', 'languages', 'locations', 'categories'] as const
const MINUTES_PER_DAY = 1440

/** Lays out one number per endpoint, in the grouping that limits, statistics and money share. */
const layOut = (numberOf: (name: string) => number, total: number, totalAppData: number) => ({
  app_data: {
    ...Object.fromEntries(
      Object.entries(FORMS).map(([name, forms]) => [
        name,
        {
          task_post: numberOf(`${name}/task_post`),
          tasks_ready: numberOf(`${name}/tasks_ready`),
          task_get: Object.fromEntries(forms.map((form) => [form, numberOf(`${name}/task_get/${form}`)])),
        },
      ]),
    ),
    ...Object.fromEntries(LISTS.map((name) => [name, numberOf(name)])),
  },
  total,
  total_app_data: totalAppData,
})

const showCallLimits = ({ limits }: Calls) => {
  const per = (minutes: number) =>
    layOut(
      (name) => minutes * (name.endsWith('tasks_ready') ? limits.readyListsPerMinute : limits.callsPerMinute),
      minutes * limits.callsPerMinute,
      minutes * limits.callsPerMinute,
    )
  return { day: per(MINUTES_PER_DAY), minute: per(1) }
}

/** Calls of the appendix count into `total` only. */
const APPENDIX_CALLS = ['user_data', 'status', 'appendix_errors', 'webhook_resend']

const showCallStatistics = (calls: Calls, nowMs: number) => {
  const show = (tally: Calls['perDay'], value: string) => {
    const total = tally.total(nowMs)
    const appendix = APPENDIX_CALLS.reduce((sum, name) => sum + tally.amount(name, nowMs), 0)
    return { ...layOut((name) => tally.amount(name, nowMs), total, total - appendix), value }
  }
  const now = formatTimestamp(nowMs)
  return { day: show(calls.perDay, now.slice(0, 10)), minute: show(calls.perMinute, now.slice(0, 16)) }
}

const showMoney = (account: Account, nowMs: number) => {
  const limit = (usd: number) => layOut((name) => (name.endsWith('task_post') ? usd : 0), usd, usd)
  const spent = (tally: Account['spentPerDay'], value: string) => {
    const total = toUsd(tally.total(nowMs))
    const spentOn = (name: string) =>
      name.endsWith('/task_post') ? toUsd(tally.amount(name.slice(0, -'/task_post'.length), nowMs)) : 0
    return { ...layOut(spentOn, total, total), value }
  }
  const now = formatTimestamp(nowMs)
  const { balanceUsd, costLimitPerDayUsd, costLimitPerMinuteUsd } = account.terms
  return {
    total: balanceUsd,
    balance: account.balanceUsd,
    limits: { day: limit(costLimitPerDayUsd), minute: limit(costLimitPerMinuteUsd) },
    statistics: {
      day: spent(account.spentPerDay, now.slice(0, 10)),
      minute: spent(account.spentPerMinute, now.slice(0, 16)),
    },
  }
}

const price = (costType: 'per_request' | 'per_result', normalMicros: number, highMicros: number) => {
  const cost = (micros: number) => [{ cost_type: costType, cost: toUsd(micros) }]
  return {
    priority_low: cost(normalMicros),
    priority_normal: cost(normalMicros),
    priority_high: cost(highMicros),
  }
}

const FREE = price('per_request', 0, 0)

const showPrices = () => ({
  appendix: { errors: FREE, status: FREE, user_data: FREE, webhook_resend: FREE },
  app_data: {
    ...Object.fromEntries(
      Object.entries(FORMS).map(([name, forms]) => [
        name,
        {
          task_post: price(
            'per_request',
            POST_PRICES_MICROS[name]?.normal ?? 0,
            POST_PRICES_MICROS[name]?.high ?? 0,
          ),
          tasks_ready: FREE,
          task_get: Object.fromEntries(forms.map((form) => [form, FREE])),
        },
      ]),
    ),
    ...Object.fromEntries([...LISTS, 'id_list'].map((name) => [name, FREE])),
  },
})

/** The one record of user_data. */
export const showUserData = (login: string, calls: Calls, account: Account, nowMs: number) => ({
  login,
  timezone: 'UTC',
  rates: {
    limits: showCallLimits(calls),
    statistics: showCallStatistics(calls, nowMs),
    money: showMoney(account, nowMs),
    price: showPrices(),
  },
})
