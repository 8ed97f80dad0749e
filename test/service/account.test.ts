import assert from 'node:assert/strict'
import { test } from 'node:test'

import { UnreadableError } from '../../src/errors.ts'
import { readUserData } from '../../src/service/account.ts'
import { envelope, openClient, startWireServer, taskWith } from './wire-server.ts'

const MONEY = {
  total: 100,
  balance: '12.345678',
  limits: { day: { app_data: { app_searches: { task_post: 1.5 } }, total: 2.5 } },
  statistics: { day: { value: '2026-11-21', total: 0.0012 } },
}

const PRICE = {
  app_data: {
    app_searches: {
      task_post: {
        priority_normal: [
          { cost_type: 'per_result', cost: 9 },
          { cost_type: 'per_request', cost: 0.0012 },
        ],
        priority_high: [{ cost_type: 'per_request', cost: '0.0024' }],
      },
    },
  },
}

const NOTHING = { day: null, minute: null }

test('money and prices may stand beside the rates', () => {
  const data = readUserData({ login: 'me', money: MONEY, price: PRICE })
  assert.equal(data.balanceMicros, 12_345_678)
  assert.equal(data.moneyLimits.day?.total, 2_500_000)
  assert.equal(data.pricePerUnitMicros('app_searches', 1), 1200)
})

test('a limit of 0 is none, and a statistic of 0 is 0', () => {
  const zeros = { app_data: { app_searches: { task_post: 0 } }, total_app_data: 0, total: 0 }
  const tables = {
    limits: { day: zeros, minute: { ...zeros, total: '2000' } },
    statistics: { day: zeros, minute: zeros },
  }
  const data = readUserData({ rates: tables, money: { balance: 0, ...tables } })
  const nothing = { period: null, total: null, totalAppData: null, byCall: {} }
  assert.deepEqual(data.callLimits, { day: nothing, minute: { ...nothing, total: 2000 } })
  assert.deepEqual(data.moneyLimits, { day: nothing, minute: { ...nothing, total: 2_000_000_000 } })
  for (const statistics of [data.callStatistics, data.moneyStatistics]) {
    assert.deepEqual([statistics.day?.total, statistics.day?.byCall['app_searches.task_post']], [0, 0])
  }
  assert.equal(data.balanceMicros, 0)
})

test('the tables of other parts of the service disturb none of ours', () => {
  const others = { serp: { task_post: 7, task_get: { advanced: 8 } }, total_serp: 9, total_appendix: 3 }
  const day = { ...others, app_data: { app_info: { task_post: 5 } }, total_app_data: 5, total: 14 }
  const serp = { task_post: { organic: { priority_normal: [{ cost_type: 'per_request', cost: 0.0006 }] } } }
  const data = readUserData({
    rates: { limits: { day } },
    money: { ...MONEY, limits: { day } },
    price: { serp, ...PRICE },
    backlinks_subscription_expiry_date: null,
  })
  const counted = { total: 14, totalAppData: 5, byCall: { 'app_info.task_post': 5 } }
  assert.deepEqual(data.callLimits.day, { period: null, ...counted })
  assert.equal(data.moneyLimits.day?.total, 14_000_000)
  assert.deepEqual([data.pricePerUnitMicros('app_searches', 1), data.balanceMicros], [1200, 12_345_678])
})

test('what is missing or of another kind is not known, and no error', () => {
  const odd = { rates: { money: [], price: 'none', limits: [] } }
  for (const row of [{}, { rates: null }, { rates: 7, login: 7 }, odd]) {
    const data = readUserData(row)
    assert.equal(data.balanceMicros, null)
    assert.deepEqual(data.callLimits, NOTHING)
    assert.deepEqual(data.moneyLimits, NOTHING)
    assert.equal(data.pricePerUnitMicros('app_searches', 1), null)
  }
  assert.throws(() => readUserData(null), UnreadableError)
})

test('a number out of bounds is not known, and the others are', () => {
  const usage = (total: unknown) => ({ day: { total }, minute: { total: 2000, total_app_data: total } })
  const priceOf = (cost: unknown) => ({
    app_data: {
      app_searches: { task_post: { priority_normal: [{ cost_type: 'per_request', cost }] } },
      app_info: { task_post: { priority_normal: [{ cost_type: 'per_request', cost: 0.0006 }] } },
    },
  })
  for (const odd of [-1, 1e300, -1e300, 2 ** 31, '0x10', 1.5]) {
    const limits = readUserData({ rates: { limits: usage(odd) } }).callLimits
    const { day, minute } = limits
    assert.deepEqual([day?.total, minute?.total, minute?.totalAppData], [null, 2000, null])
  }
  for (const odd of [-1, 1e300, -1e300, '1e1']) {
    const data = readUserData({
      rates: { money: { balance: 3, total: odd, limits: usage(odd) }, price: priceOf(odd) },
    })
    assert.deepEqual([data.balanceMicros, data.depositedMicros], [3_000_000, null])
    assert.deepEqual([data.moneyLimits.day?.total, data.moneyLimits.minute?.total], [null, 2_000_000_000])
    const price = data.pricePerUnitMicros
    assert.deepEqual([price('app_searches', 1), price('app_info', 1), data.prices.length], [null, 600, 1])
  }
  assert.equal(readUserData({ money: { balance: 1e300 } }).balanceMicros, null)
  assert.equal(readUserData({ money: { balance: -2 } }).balanceMicros, -2_000_000)
})

test('the account is asked for over the wire', async (t) => {
  const said = (login: unknown) => envelope([taskWith([{ login }])])
  const bodies = [said(' ME'), said(null), said('you'), envelope([taskWith([])])] as const
  const server = await startWireServer(t, ...bodies)
  const client = openClient(t, server.baseUrl)
  assert.equal((await client.getUserData()).login, ' ME')
  assert.equal((await client.getUserData()).login, null)
  const message =
    'The answer to GET /v3/appendix/user_data is about the account "you", which is not ours: it is not used.'
  await assert.rejects(client.getUserData(), { code: 'unreadable', message })
  assert.equal(server.received[0]?.path, '/v3/appendix/user_data')
  await assert.rejects(client.getUserData(), {
    path: 'tasks[0].result[0]',
    message: /^The answer to GET \/v3\/appendix\/user_data cannot be read/,
  })
})
