/**
 * Whether the account may be used, what it may spend, and whether its record is laid out as the specification
 * says.
 */
import { findOtherAccount, readUserData, type UserData } from '../service/account.ts'
import { isObject, readNumber } from '../service/fields.ts'
import { FUNCTION_RULES, SERVICE_FUNCTIONS } from '../service/functions.ts'
import type { Reply } from '../service/transport.ts'
import { type CheckedService, read, rowsIn } from './checked-service.ts'
import { differs, type Finding, holds, obstacle } from './finding.ts'

/** More, and slots would seem to begin early or late to a person who compares both. */
const CLOCK_TOLERANCE_MS = 30_000

/** @throws AccountError when the service refuses the login; what `askFree` throws */
export async function checkAccount({ client }: CheckedService): Promise<Finding[]> {
  const reply = await client.askFree(read('/v3/appendix/user_data', 'user_data'))
  const [row] = rowsIn(reply)
  const user = readUserData(row)
  return [
    checkLogin(user, client.login),
    checkClock(reply),
    checkLayout(row),
    checkLimits(row, user),
    checkBalance(user),
    checkPrices(user),
  ]
}

function checkLogin(user: UserData, login: string): Finding {
  const problem = findOtherAccount(user, login)
  if (problem === null) return holds('login', 'The service takes APP_DATA_LOGIN and APP_DATA_PASSWORD.')
  return differs('login', problem, 'Neither its balance nor its prices and limits are used.')
}

function checkClock({ answeredAt }: Reply): Finding {
  const about = 'clock'
  if (answeredAt === null) {
    return differs(about, 'The service does not say its time.', 'The range of id_list goes by this clock.')
  }
  const aheadMs = answeredAt.getTime() - Date.now()
  if (Math.abs(aheadMs) <= CLOCK_TOLERANCE_MS) {
    return holds(about, 'The clock of this machine is that of the service.')
  }
  const seconds = Math.round(Math.abs(aheadMs) / 1000)
  return differs(
    about,
    `This machine is ${seconds} s ${aheadMs > 0 ? 'behind' : 'ahead of'} the service.`,
    "Ranges of the service's lists go by its own clock; set this one right, because slots begin by it.",
  )
}

function checkLayout(row: unknown): Finding {
  const about = 'record of the account'
  const rates = isObject(row) && isObject(row.rates) ? row.rates : {}
  if (isObject(rates.money) && isObject(rates.price)) {
    return holds(about, 'Money and prices stand in rates.')
  }
  if (isObject(row) && isObject(row.money) && isObject(row.price)) {
    return differs(about, 'Money and prices stand beside rates.', 'They are read there.')
  }
  return differs(
    about,
    'It does not say the money or the prices.',
    'Only the budgets of storerank limit what is spent, by the prices of the specification.',
  )
}

function checkLimits(row: unknown, user: UserData): Finding {
  const about = 'limits'
  const amounts = listLimits(row, false)
  if (amounts.length > 0 && amounts.every((amount) => amount === 0)) {
    return differs(about, 'Every limit of the account is 0.', 'A limit of 0 is taken for none.')
  }
  const day = user.moneyLimits.day?.total ?? null
  const perMinute = user.callLimits.minute?.total ?? null
  const says = [
    day === null || day === 0 ? 'no limit of money a day' : `${dollars(day)} a day`,
    perMinute === null || perMinute === 0 ? 'no limit of calls a minute' : `${perMinute} calls a minute`,
  ]
  return holds(about, `The account has ${says.join(' and ')}.`)
}

/**
 * All numbers within the record's `limits`, of calls and of money: what is read of them leaves out those of
 * 0.
 */
function listLimits(value: unknown, isLimit: boolean): number[] {
  if (isObject(value)) {
    return Object.entries(value).flatMap(([key, child]) => listLimits(child, isLimit || key === 'limits'))
  }
  const amount = isLimit ? readNumber(value) : null
  return amount === null ? [] : [amount]
}

function checkBalance({ balanceMicros }: UserData): Finding {
  const about = 'balance'
  if (balanceMicros === null) {
    return differs(
      about,
      'The account does not say its balance.',
      'The service itself refuses what it cannot pay.',
    )
  }
  if (balanceMicros > 0) return holds(about, `${dollars(balanceMicros)} are left.`)
  return obstacle(
    about,
    `${dollars(balanceMicros)} are left.`,
    'Pay in with the service: nothing can be bought.',
  )
}

/** Of each function, at normal priority. */
function checkPrices(user: UserData): Finding {
  const about = 'prices'
  const others = SERVICE_FUNCTIONS.flatMap((fn) => {
    const listed = user.pricePerUnitMicros(fn, 1)
    const known = FUNCTION_RULES.ios_store[fn].unitCostMicros
    if (listed === known) return []
    return [
      listed === null ? `${fn} is not listed` : `${fn} costs ${dollars(listed)}, and not ${dollars(known)}`,
    ]
  })
  if (others.length === 0) return holds(about, 'A billing unit costs what storerank expects.')
  return differs(
    about,
    `${others.join('; ')}.`,
    "What is reserved goes by the greater of the account's list and the known price.",
  )
}

/** With the digits of a price where it is below a dollar. */
function dollars(micros: number): string {
  const usd = micros / 1_000_000
  return Math.abs(usd) >= 1 ? `$${usd.toFixed(2)}` : `$${usd}`
}
