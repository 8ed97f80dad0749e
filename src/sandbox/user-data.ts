/** The account as `/v3/appendix/user_data` shows it (spec: Account data record). */

import type { Account } from './account.ts'
import type { Calls } from './calls.ts'
import type { Deviations } from './deviations.ts'
import { LISTING_PRICES_MICROS, POST_PRICES_MICROS, toUsd } from './prices.ts'
import type { Service } from './service.ts'
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

/** Calls of the appendix count into `total`; as it is sold, two of them stand in a table of their own. */
const APPENDIX_CALLS = ['user_data', 'appendix_errors', 'status', 'webhook_resend'] as const

/** The sums of a table. */
type Totals = { all: number; appData: number; appendix: number }

const zipForms = (name: string, numberOf: (name: string) => number) => ({
  task_post: numberOf(`${name}/task_post`),
  tasks_ready: numberOf(`${name}/tasks_ready`),
  task_get: Object.fromEntries(
    (FORMS[name] ?? []).map((form) => [form, numberOf(`${name}/task_get/${form}`)]),
  ),
})

/** The tables of APIs beside ours, as they are sold: one that nobody uses, and the appendix. */
const layOutOthers = (numberOf: (name: string) => number, { appendix }: Totals) => ({
  serp: { task_post: 0, tasks_ready: 0, task_get: { advanced: 0, html: 0, regular: 0 } },
  total_serp: 0,
  appendix: { user_data: numberOf('user_data'), errors: numberOf('appendix_errors') },
  total_appendix: appendix,
})

/** Lays out one number per endpoint, in the grouping that limits, statistics and money share. */
const layOut = (numberOf: (name: string) => number, totals: Totals, deviations: Deviations) => ({
  app_data: {
    ...Object.fromEntries(Object.keys(FORMS).map((name) => [name, zipForms(name, numberOf)])),
    ...Object.fromEntries(LISTS.map((name) => [name, numberOf(name)])),
    ...(deviations.has('money-beside-rates') && { id_list: numberOf('id_list') }),
    ...(deviations.has('endpoints') && {
      tasks_ready: numberOf('tasks_ready'),
      app_listings: { search: { live: numberOf('app_listings/search/live') } },
    }),
  },
  total: totals.all,
  total_app_data: totals.appData,
  ...(deviations.has('money-beside-rates') && layOutOthers(numberOf, totals)),
})

const showCallLimits = ({ limits }: Calls, deviations: Deviations) => {
  const per = (minutes: number) => {
    const factor = deviations.has('no-limits') ? 0 : minutes
    const most = factor * limits.callsPerMinute
    return layOut(
      (name) => factor * (name.endsWith('tasks_ready') ? limits.readyListsPerMinute : limits.callsPerMinute),
      { all: most, appData: most, appendix: most },
      deviations,
    )
  }
  return { day: per(MINUTES_PER_DAY), minute: per(1) }
}

const showCallStatistics = (calls: Calls, nowMs: number, deviations: Deviations) => {
  const show = (tally: Calls['perDay'], value: string) => {
    const all = tally.total(nowMs)
    const appendix = APPENDIX_CALLS.reduce((sum, name) => sum + tally.amount(name, nowMs), 0)
    const totals = { all, appData: all - appendix, appendix }
    return { ...layOut((name) => tally.amount(name, nowMs), totals, deviations), value }
  }
  const now = formatTimestamp(nowMs)
  return { day: show(calls.perDay, now.slice(0, 10)), minute: show(calls.perMinute, now.slice(0, 16)) }
}

/** The calls that cost money end so. */
const PAID_CALL = /\/(task_post|search\/live)$/

const showMoney = (account: Account, nowMs: number, deviations: Deviations) => {
  const limit = (usd: number) => {
    const most = deviations.has('no-limits') ? 0 : usd
    const totals = { all: most, appData: most, appendix: 0 }
    return layOut((name) => (PAID_CALL.test(name) ? most : 0), totals, deviations)
  }
  const spent = (tally: Account['spentPerDay'], value: string) => {
    const total = toUsd(tally.total(nowMs))
    const spentOn = (name: string) =>
      PAID_CALL.test(name) ? toUsd(tally.amount(name.replace(PAID_CALL, ''), nowMs)) : 0
    return { ...layOut(spentOn, { all: total, appData: total, appendix: 0 }, deviations), value }
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

const price = (normalMicros: number, highMicros: number, perResultMicros?: number) => {
  const cost = (micros: number) => [
    { cost_type: 'per_request', cost: toUsd(micros) },
    ...(perResultMicros === undefined ? [] : [{ cost_type: 'per_result', cost: toUsd(perResultMicros) }]),
  ]
  return {
    priority_low: cost(normalMicros),
    priority_normal: cost(normalMicros),
    priority_high: cost(highMicros),
  }
}

const FREE = price(0, 0)
/** What another API takes for a task. */
const SERP_PRICE = price(600, 1200)

const showPostPrices = (name: string, forms: readonly string[]) => ({
  task_post: price(POST_PRICES_MICROS[name]?.normal ?? 0, POST_PRICES_MICROS[name]?.high ?? 0),
  tasks_ready: FREE,
  task_get: Object.fromEntries(forms.map((form) => [form, FREE])),
})

const showListingPrices = () => {
  const { perRequest, perResult } = LISTING_PRICES_MICROS
  return { tasks_ready: FREE, app_listings: { search: { live: price(perRequest, perRequest, perResult) } } }
}

const showPrices = (deviations: Deviations) => ({
  ...(deviations.has('money-beside-rates')
    ? { appendix: { errors: FREE, user_data: FREE }, serp: { task_post: SERP_PRICE, tasks_ready: FREE } }
    : { appendix: { errors: FREE, status: FREE, user_data: FREE, webhook_resend: FREE } }),
  app_data: {
    ...Object.fromEntries(Object.entries(FORMS).map(([name, forms]) => [name, showPostPrices(name, forms)])),
    ...Object.fromEntries([...LISTS, 'id_list'].map((name) => [name, FREE])),
    ...(deviations.has('endpoints') && showListingPrices()),
  },
})

/** The one record of user_data. */
export const showUserData = ({ login, calls, account, deviations }: Service, nowMs: number) => {
  const rates = {
    limits: showCallLimits(calls, deviations),
    statistics: showCallStatistics(calls, nowMs, deviations),
  }
  const purse = { money: showMoney(account, nowMs, deviations), price: showPrices(deviations) }
  if (!deviations.has('money-beside-rates')) return { login, timezone: 'UTC', rates: { ...rates, ...purse } }
  return {
    login,
    timezone: 'UTC',
    rates,
    ...purse,
    backlinks_subscription_expiry_date: null,
    llm_mentions_subscription_expiry_date: null,
  }
}
