/** What the service says of the account and of itself (spec: Account data record, Status record). */

import type { Deviations } from './deviations.ts'
import type { FaultSettings } from './faults.ts'
import { LISTING_PRICES_MICROS, toUsd, UNIT_MICROS } from './offers.ts'
import type { Service } from './service.ts'
import { formatTimestamp, MINUTE_MS } from './timestamp.ts'

const MINUTES_PER_DAY = 1440
/** The calls that cost money end so. */
const PAID_CALL = /\/(task_post|search\/live)$/
/** Calls of the appendix count into `total`; as it is sold, two of them stand in a table of their own. */
const APPENDIX_CALLS = ['user_data', 'appendix_errors', 'status', 'webhook_resend']

type ValueFor<Value = unknown> = (name: string) => Value

const perName = (names: readonly string[], valueFor: ValueFor) =>
  Object.fromEntries(names.map((name) => [name, valueFor(name)]))

/** Lays out one value for each endpoint of App Data. */
const layOutAppData = (valueFor: ValueFor, deviations: Deviations, hasIdList: boolean) => ({
  ...perName(Object.keys(UNIT_MICROS), (name) => ({
    task_post: valueFor(`${name}/task_post`),
    tasks_ready: valueFor(`${name}/tasks_ready`),
    task_get: perName(name === 'app_reviews' ? ['advanced'] : ['advanced', 'html'], (form) =>
      valueFor(`${name}/task_get/${form}`),
    ),
  })),
  ...perName(['errors', 'languages', 'locations', 'categories'], valueFor),
  ...(hasIdList && { id_list: valueFor('id_list') }),
  ...(deviations.has('endpoints') && {
    tasks_ready: valueFor('tasks_ready'),
    app_listings: { search: { live: valueFor('app_listings/search/live') } },
  }),
})

/** One number for each endpoint, and the sums. As it is sold, there are tables of APIs beside ours. */
const layOut = (numberOf: ValueFor<number>, deviations: Deviations) => {
  const isSold = deviations.has('money-beside-rates')
  return {
    app_data: layOutAppData(numberOf, deviations, isSold),
    ...perName(['total', 'total_app_data'], numberOf),
    ...(isSold && {
      serp: { task_post: 0, tasks_ready: 0, task_get: { advanced: 0, html: 0, regular: 0 } },
      total_serp: 0,
      appendix: { user_data: numberOf('user_data'), errors: numberOf('appendix_errors') },
      total_appendix: numberOf('total_appendix'),
    }),
  }
}

const showCallLimits = ({ calls: { limits }, deviations }: Service, minutes: number) => {
  const factor = deviations.has('no-limits') ? 0 : minutes
  const limitOf = (name: string) =>
    factor * (name.endsWith('tasks_ready') ? limits.readyListsPerMinute : limits.callsPerMinute)
  return layOut(limitOf, deviations)
}

const showCallStatistics = (
  { calls, deviations }: Service,
  period: 'perDay' | 'perMinute',
  nowMs: number,
) => {
  const amountOf = (name: string) => calls[period].amount(name, nowMs)
  const total = calls[period].total(nowMs)
  const appendix = APPENDIX_CALLS.reduce((sum, name) => sum + amountOf(name), 0)
  const sums: Record<string, number> = {
    total,
    total_app_data: total - appendix,
    total_appendix: appendix,
  }
  return layOut((name) => sums[name] ?? amountOf(name), deviations)
}

/** Money is limited and spent by calls that cost any, and by all of them. */
const layOutMoney = (usdOf: (paid: string) => number, totalUsd: number, deviations: Deviations) =>
  layOut((name) => {
    if (name === 'total' || name === 'total_app_data') return totalUsd
    return PAID_CALL.test(name) ? usdOf(name.replace(PAID_CALL, '')) : 0
  }, deviations)

const showMoney = ({ account, deviations }: Service, nowMs: number, [day, minute]: readonly string[]) => {
  const { balanceUsd, isLimited, costLimitPerDayUsd, costLimitPerMinuteUsd } = account.terms
  const limit = (usd: number) => layOutMoney(() => (isLimited ? usd : 0), isLimited ? usd : 0, deviations)
  const spent = (tally: typeof account.spentPerDay) =>
    layOutMoney((name) => toUsd(tally.amount(name, nowMs)), toUsd(tally.total(nowMs)), deviations)
  return {
    total: balanceUsd,
    balance: account.balanceUsd,
    limits: { day: limit(costLimitPerDayUsd), minute: limit(costLimitPerMinuteUsd) },
    statistics: {
      day: { ...spent(account.spentPerDay), value: day },
      minute: { ...spent(account.spentPerMinute), value: minute },
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

const priceOf = (name: string) => {
  const { perRequest, perResult } = LISTING_PRICES_MICROS
  if (name === 'app_listings/search/live') return price(perRequest, perRequest, perResult)
  const [fn, call] = name.split('/')
  const micros = call === 'task_post' ? UNIT_MICROS[fn as keyof typeof UNIT_MICROS] : 0
  return price(micros, 2 * micros)
}

const showPrices = (deviations: Deviations) => ({
  ...(deviations.has('money-beside-rates')
    ? {
        appendix: { errors: FREE, user_data: FREE },
        serp: { task_post: price(600, 1200), tasks_ready: FREE },
      }
    : { appendix: { errors: FREE, status: FREE, user_data: FREE, webhook_resend: FREE } }),
  app_data: layOutAppData(priceOf, deviations, true),
})

/** The one record of user_data; as it is sold, money and prices stand beside the rates. */
export const showUserData = (service: Service, nowMs: number) => {
  const { login, deviations } = service
  const now = formatTimestamp(nowMs)
  const [day, minute] = [now.slice(0, 10), now.slice(0, 16)]
  const rates = {
    limits: { day: showCallLimits(service, MINUTES_PER_DAY), minute: showCallLimits(service, 1) },
    statistics: {
      day: { ...showCallStatistics(service, 'perDay', nowMs), value: day },
      minute: { ...showCallStatistics(service, 'perMinute', nowMs), value: minute },
    },
  }
  const purse = { money: showMoney(service, nowMs, [day, minute]), price: showPrices(deviations) }
  const expiries = { backlinks_subscription_expiry_date: null, llm_mentions_subscription_expiry_date: null }
  return deviations.has('money-beside-rates')
    ? { login, timezone: 'UTC', rates, ...purse, ...expiries }
    : { login, timezone: 'UTC', rates: { ...rates, ...purse } }
}

/** A webhook that waits for so long is late. */
const LATE_WEBHOOK_MS = MINUTE_MS

type Said = FaultSettings['status']
const showEndpoints = (said: Said) =>
  (['task_get', 'task_post', 'live', 'postback/pingback'] as const).map((endpoint) => ({
    endpoint,
    status: said[endpoint] ?? 'ok',
  }))

/** Of an API: it is in trouble when a part of it is. */
const showApi = (api: string, said: Said, status?: string) => {
  const endpoints = showEndpoints(said)
  const trouble = endpoints.find((each) => each.status !== 'ok')
  return { api, status: status ?? trouble?.status ?? 'ok', endpoints }
}

/** `said` is what it has been told to say. As it is sold, there are other APIs, one always in trouble. */
export const showStatus = (said: Said, longestWaitMs: number, deviations: Deviations) => {
  const isLate = longestWaitMs > LATE_WEBHOOK_MS
  const others = [
    showApi('serp', { live: 'long_response_time' }, 'ok'),
    showApi('keywords_data', { task_get: 'partial_outage' }),
    showApi('on_page', {}),
  ]
  return [
    ...(deviations.has('all-apis') ? others : []),
    showApi('app_data', { ...(isLate && { 'postback/pingback': 'webhook_delay' }), ...said }),
    { api: 'appendix', status: 'ok', endpoints: null },
  ]
}
