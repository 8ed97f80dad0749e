/** The account, the codes of the service, its status, and how far its list of failures goes back. */
import { RejectedError } from '../errors.ts'
import { findOtherAccount, readUserData, type UserData } from '../service/account.ts'
import type { Reply } from '../service/answer.ts'
import type { AppDataClient } from '../service/client.ts'
import { isObject, readCode, readNumber } from '../service/fields.ts'
import { FUNCTION_RULES, SERVICE_FUNCTIONS } from '../service/functions.ts'
import { formatInstant } from '../service/requests.ts'
import { isSingleCode } from '../service/status-codes.ts'
import { formatUsd } from '../text/money.ts'
import { ask, differs, type Finding, holds, judge, obstacle, rowsIn, unknown } from './finding.ts'

/** More, and slots would seem to begin early or late to a person who compares both. */
const CLOCK_TOLERANCE_MS = 30_000
const SIX_DAYS_MS = 6 * 86_400_000

/**
 * Whether the account may be used, what it may spend, and whether its record is laid out as specified.
 * @throws AccountError when the service refuses the login; what `askFree` throws
 */
export async function checkAccount(client: AppDataClient): Promise<Finding[]> {
  const reply = await ask(client, '/v3/appendix/user_data', 'user_data')
  const [row] = rowsIn(reply)
  const user = readUserData(row)
  const problem = findOtherAccount(user, client.login)
  return [
    judge(
      'login',
      problem === null,
      'The service takes APP_DATA_LOGIN and APP_DATA_PASSWORD.',
      `${problem} Neither its balance nor its prices and limits are used.`,
    ),
    checkClock(reply),
    checkLayout(row),
    checkLimits(row, user),
    checkBalance(user),
    checkPrices(user),
  ]
}

function checkClock({ answeredAt }: Reply): Finding {
  const about = 'clock'
  if (answeredAt === null)
    return differs(about, 'The service does not say its time. The range of id_list goes by this clock.')
  const aheadMs = answeredAt.getTime() - Date.now()
  const seconds = Math.round(Math.abs(aheadMs) / 1000)
  return judge(
    about,
    Math.abs(aheadMs) <= CLOCK_TOLERANCE_MS,
    'The clock of this machine is that of the service.',
    `This machine is ${seconds} s ${aheadMs > 0 ? 'behind' : 'ahead of'} the service. ` +
      "Ranges of the service's lists go by its own clock; set this one right, because slots begin by it.",
  )
}

function checkLayout(row: unknown): Finding {
  const about = 'record of the account'
  const hasMoney = (part: unknown) => isObject(part) && isObject(part.money) && isObject(part.price)
  if (isObject(row) && hasMoney(row.rates)) return holds(about, 'Money and prices stand in rates.')
  return differs(
    about,
    hasMoney(row)
      ? 'Money and prices stand beside rates. They are read there.'
      : 'It does not say the money or the prices. Only the budgets of storerank limit what is spent, by ' +
          'the prices of the specification.',
  )
}

function checkLimits(row: unknown, user: UserData): Finding {
  const amounts = listLimits(row, false)
  const says = [
    user.moneyLimits.day?.total
      ? `${formatUsd(user.moneyLimits.day.total, 'rounded')} a day`
      : 'no limit of money a day',
    user.callLimits.minute?.total
      ? `${user.callLimits.minute.total} calls a minute`
      : 'no limit of calls a minute',
  ]
  return judge(
    'limits',
    amounts.length === 0 || amounts.some((amount) => amount !== 0),
    `The account has ${says.join(' and ')}.`,
    'Every limit of the account is 0. A limit of 0 is taken for none.',
  )
}

/** All numbers within the record's `limits`, of calls and of money: those of 0 too. */
function listLimits(value: unknown, isLimit: boolean): number[] {
  if (isObject(value))
    return Object.entries(value).flatMap(([key, child]) => listLimits(child, isLimit || key === 'limits'))
  const amount = isLimit ? readNumber(value) : null
  return amount === null ? [] : [amount]
}

function checkBalance({ balanceMicros }: UserData): Finding {
  const about = 'balance'
  if (balanceMicros === null)
    return differs(
      about,
      'The account does not say its balance. The service itself refuses what it cannot pay.',
    )
  const left = `${formatUsd(balanceMicros, 'rounded')} are left.`
  return balanceMicros > 0
    ? holds(about, left)
    : obstacle(about, `${left} Pay in with the service: nothing can be bought.`)
}

/** Of each function, at normal priority. */
function checkPrices(user: UserData): Finding {
  const others = SERVICE_FUNCTIONS.flatMap((fn) => {
    const listed = user.pricePerUnitMicros(fn, 1)
    const known = FUNCTION_RULES.ios_store[fn].unitCostMicros
    if (listed === known) return []
    return listed === null
      ? `${fn} is not listed`
      : `${fn} costs ${formatUsd(listed)}, and not ${formatUsd(known)}`
  })
  return judge(
    'prices',
    others.length === 0,
    'A billing unit costs what storerank expects.',
    `${others.join('; ')}. What is reserved goes by the greater of the account's list and the known price.`,
  )
}

/** spec: Errors, those by which money or a person's work is decided. */
const SPECIFIED: Readonly<Record<number, string>> = {
  40100: 'You are not authorized to access this resource.',
  40101: 'Internal SE server error.',
  40102: 'No Search Results.',
  40503: 'pingback or postback not supported in this function.',
}

export async function checkCodes(client: AppDataClient): Promise<Finding> {
  const rows = rowsIn(await ask(client, '/v3/appendix/errors')).filter(isObject)
  const messages = new Map(rows.map((row) => [readCode(row.code), String(row.message)]))
  const byClass = [...messages.keys()].filter((code) => code !== null && !isSingleCode(code))
  const others = Object.entries(SPECIFIED).flatMap(([code, text]) => {
    const message = messages.get(Number(code))
    return message === text ? [] : `${code} “${message ?? 'not listed'}”`
  })
  const says = `${rows.length} codes, of which ${byClass.length} are sorted by their range alone`
  return judge(
    'status codes',
    others.length === 0,
    `${says}.`,
    `${says}; other words at ${others.join(', ')}. Numbers decide, and not words.`,
  )
}

export async function checkStatus(client: AppDataClient): Promise<Finding[]> {
  const { ours = [], others = [] } = Object.groupBy(await client.getStatus(), ({ api }) =>
    ['app_data', 'appendix'].includes(api) ? 'ours' : 'others',
  )
  const trouble = ours
    .flatMap(({ api, status, endpoints }) => [{ endpoint: api, status }, ...endpoints])
    .filter(({ status }) => status !== 'ok')
    .map(({ endpoint, status }) => `${endpoint}: ${status}`)
  const own = judge(
    'status of the service',
    trouble.length === 0,
    'All that storerank calls is well.',
    `${trouble.join(', ')}. Nothing is posted in a major outage of posting; results that are late are ` +
      'waited for.',
  )
  const names = others.map(({ api }) => api).join(', ')
  const named = `The status names ${names}. They are left out.`
  return names === '' ? [own] : [own, differs('other parts of the service', named)]
}

export async function checkFailures(client: AppDataClient): Promise<Finding> {
  const about = 'list of failures'
  const present = await client.readServiceTime()
  const from = formatInstant(new Date(present.getTime() - SIX_DAYS_MS))
  try {
    const { statusCode } = await client.askFree({
      kind: 'failed_tasks',
      method: 'POST',
      path: '/v3/app_data/errors',
      body: [{ limit: 1, datetime_from: from }],
    })
    const goesBack = statusCode === 20000 || statusCode === 40102
    return judge(
      about,
      !goesBack,
      'It goes back a day.',
      'It goes back a week. After a pause all of it is read.',
    )
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error
    return unknown(about, `It was refused: ${error.statusCode}.`)
  }
}
