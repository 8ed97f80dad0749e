/** Reads the account: limits, usage, money and prices. */
import { UnreadableError } from '../errors.ts'
import type { Reply } from './answer.ts'
import {
  cleanText,
  isObject,
  objectOf,
  readCode,
  readCost,
  readIdentifier,
  readMicros,
  readSpending,
  unreadable,
} from './fields.ts'
import type { Priority, ServiceFunction } from './functions.ts'
import { rowsOf } from './replies.ts'
import type { Transport } from './transport.ts'

/** In calls or in micro-dollars. */
export type UsagePeriod = NonNullable<ReturnType<typeof readPeriod>>
/** Limits or statistics, of a UTC day and of a minute. */
export type UsageTable = ReturnType<typeof readUsage>
/** The account (docs/service.md: Account data record). What is not known is null. */
export type UserData = ReturnType<typeof readUserData>

/** One entry of the price list (docs/service.md: rates.price). */
export type PriceEntry = ReturnType<typeof listPrices>[number]

const PATH = '/v3/appendix/user_data'
const CALL = `GET ${PATH}`

const PRIORITY_KEYS = { 1: 'priority_normal', 2: 'priority_high' } as const

/**
 * Reads the account's data; `money` and `price` may stand beside `rates` (docs/service.md: user_data layout).
 * @throws UnreadableError also when it is the data of another account
 */
export async function getUserData(transport: Transport): Promise<UserData & Pick<Reply, 'answeredAt'>> {
  const reply = await transport.callFree({ kind: 'user_data', method: 'GET', path: PATH })
  const [row] = rowsOf(reply, CALL)
  const data = readUserData(row)
  const problem = findOtherAccount(data, transport.login)
  if (problem !== null) throw new UnreadableError(problem, 'tasks[0].result[0].login')
  return { ...data, answeredAt: reply.answeredAt }
}

/** Pure: what is said of another account than ours, as a sentence; null when it is ours or not said. */
export function findOtherAccount({ login }: Pick<UserData, 'login'>, own: string): string | null {
  const form = (text: string) => text.trim().toLowerCase()
  if (login === null || form(login) === '' || form(login) === form(own)) return null
  const name = JSON.stringify(login)
  return `The answer to ${CALL} is about the account ${name}, which is not ours: it is not used.`
}

/** Tolerant of everything but a record that is no object: what is missing, or out of bounds, is null. */
export function readUserData(row: unknown) {
  if (!isObject(row)) throw unreadable(['tasks', 0, 'result', 0], 'it is no record', `The answer to ${CALL}`)
  const rates = objectOf(row.rates)
  const money = isObject(rates.money) ? rates.money : objectOf(row.money)
  const price = isObject(rates.price) ? rates.price : objectOf(row.price)
  return {
    login: readName(row.login),
    /** Shown to people; the money days of the service are UTC. */
    timezone: readName(row.timezone),
    balanceMicros: readMicros(money.balance),
    depositedMicros: readSpending(money.total),
    callLimits: readUsage(rates.limits, limitOf(readCode)),
    callStatistics: readUsage(rates.statistics, readCode),
    moneyLimits: readUsage(money.limits, limitOf(readSpending)),
    moneyStatistics: readUsage(money.statistics, readSpending),
    /** The whole price list as it stands; an entry without a cost is left out. */
    prices: listPrices(price),
    /** Price of one billing unit, micro-dollars; the list makes no difference by store. */
    pricePerUnitMicros: (fn: ServiceFunction, priority: Priority) => readPrice(price, fn, priority),
  }
}

function readName(value: unknown): string | null {
  return typeof value === 'string' ? cleanText(value, 500) : null
}

type ReadAmount = (value: unknown) => number | null

/** An account without limits says 0 in each of them. */
function limitOf(readAmount: ReadAmount): ReadAmount {
  return (value) => readAmount(value) || null
}

function readUsage(value: unknown, readAmount: ReadAmount) {
  const { day, minute } = objectOf(value)
  return { day: readPeriod(day, readAmount), minute: readPeriod(minute, readAmount) }
}

function readPeriod(value: unknown, readAmount: ReadAmount) {
  if (!isObject(value)) return null
  return {
    /** Which period statistics are of, `yyyy-MM-dd` or `yyyy-MM-dd HH:mm`; null for limits. */
    period: readIdentifier(value.value, 50),
    /** Of everything. A limit of 0 is none, and null (docs/service.md: limits of the account). */
    total: readAmount(value.total),
    totalAppData: readAmount(value.total_app_data),
    /** By the path of keys inside `app_data`, such as `app_searches.task_get.advanced`. */
    byCall: Object.fromEntries(
      leavesOf(value.app_data, MAX_USAGE_LEVELS).flatMap(([keys, sent]) => {
        const amount = readAmount(sent)
        return amount === null || keys.length === 0 ? [] : [[keys.join('.'), amount]]
      }),
    ) as Readonly<Record<string, number>>,
  }
}

/** `task_get.advanced` is the deepest there is. */
const MAX_USAGE_LEVELS = 3
/** `app_data.app_searches.task_get.advanced.priority_high` is the deepest there is. */
const MAX_PRICE_LEVELS = 5

/** What stands at the ends of a tree of objects, with the keys on the way; what lies deeper is left out. */
function leavesOf(value: unknown, levels: number, keys: readonly string[] = []): [string[], unknown][] {
  if (!isObject(value)) return [[[...keys], value]]
  if (keys.length >= levels) return []
  return Object.entries(value).flatMap(([key, child]) => leavesOf(child, levels, [...keys, key]))
}

/** The key of each array is the priority, the keys above it are api and call. */
function listPrices(price: Record<string, unknown>) {
  return leavesOf(price, MAX_PRICE_LEVELS).flatMap(([keys, entries]) => {
    if (!Array.isArray(entries) || keys.length < 3) return []
    const [api = '', ...call] = keys
    /** `priority_low`, `priority_normal` or `priority_high`. */
    const priority = call.pop() ?? ''
    return entries.filter(isObject).flatMap((entry) => {
      const costMicros = readCost(entry.cost)
      /** `per_request`, or `per_result`: for every row of the result. */
      const costType = readName(entry.cost_type) ?? ''
      // Such as `app_searches.task_post`.
      return costMicros === null ? [] : [{ api, call: call.join('.'), priority, costType, costMicros }]
    })
  })
}

/** Posting is charged per request of the list's first such entry. */
function readPrice(price: Record<string, unknown>, fn: ServiceFunction, priority: Priority): number | null {
  const { task_post: calls } = objectOf(objectOf(price.app_data)[fn])
  const entries = objectOf(calls)[PRIORITY_KEYS[priority]]
  if (!Array.isArray(entries)) return null
  return readCost(objectOf(entries.find((entry) => objectOf(entry).cost_type === 'per_request')).cost)
}
