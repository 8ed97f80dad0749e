/**
 * The account in the form of the service as it is sold, read by the client number by number, where the answer
 * stands beside the project.
 */

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { UsageTable, UserData } from '../../src/service/account.ts'
import { openClient, plainBody, startWireServer } from './wire-server.ts'

const FILE = join(import.meta.dirname, '../../../shared/data/real/appendix.user_data.json')
const absent = !existsSync(FILE) && 'the answer does not stand beside the project'

type Leaf = readonly [path: string, value: unknown]

/** Every value by its path. */
const leavesOf = (value: unknown, path: readonly string[] = []): Leaf[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, each]) => leavesOf(each, [...path, name]))
    : [[path.join('.'), value]]

/** What the client does not give, and why. */
const LEFT: readonly (readonly [path: RegExp, reason: string])[] = [
  [/^(rates|money)\..*\.(serp|total_serp)(\.|$)/, 'another API: nothing of ours is counted there'],
  [/^(rates|money)\..*\.(appendix|total_appendix)(\.|$)/, 'free, and in the total'],
  [/_subscription_expiry_date$/, 'a subscription of another API'],
]

const TABLES: readonly (readonly [path: string, table: (read: UserData) => UsageTable])[] = [
  ['rates.limits', ({ callLimits }) => callLimits],
  ['rates.statistics', ({ callStatistics }) => callStatistics],
  ['money.limits', ({ moneyLimits }) => moneyLimits],
  ['money.statistics', ({ moneyStatistics }) => moneyStatistics],
]

/** The value that the client has for one of a table; null for a limit of 0, which is none. */
const readUsage = (path: string, read: UserData): unknown => {
  const [prefix, table] = TABLES.find(([each]) => path.startsWith(each)) ?? assert.fail(path)
  const [period = '', ...names] = path.slice(prefix.length + 1).split('.')
  const row = table(read)[period as 'day']
  if (names[0] === 'app_data') return row?.byCall[names.slice(1).join('.')] ?? null
  const [name = ''] = names
  return { total: row?.total, total_app_data: row?.totalAppData, value: row?.period }[name] ?? null
}

const readPrice = (path: string, read: UserData): unknown => {
  const [, api = '', rest = '', priority = '', index = '', field] =
    /^price\.([^.]+)\.(.+)\.(priority_[a-z]+)\.(\d+)\.(cost|cost_type)$/.exec(path) ?? []
  const entries = read.prices.filter(
    (each) => each.api === api && each.call === rest && each.priority === priority,
  )
  return field === 'cost' ? entries[Number(index)]?.costMicros : entries[Number(index)]?.costType
}

const DIRECT: Readonly<Record<string, (read: UserData) => unknown>> = {
  login: ({ login }) => login,
  timezone: ({ timezone }) => timezone,
  'money.total': ({ depositedMicros }) => depositedMicros,
  'money.balance': ({ balanceMicros }) => balanceMicros,
}

/** What was sent, as the client gives it: dollars are micro-dollars, and a limit of 0 is none. */
const expected = (path: string, sent: unknown): unknown => {
  if (typeof sent !== 'number') return sent
  const isMoney = path.startsWith('money') || path.endsWith('.cost')
  const value = isMoney ? Math.round(sent * 1_000_000) : sent
  return /\.limits\./.test(path) ? value || null : value
}

test('appendix.user_data: no number of our API is lost, and no other is taken for it', {
  skip: absent,
}, async (t) => {
  const answer = JSON.parse(readFileSync(FILE, 'utf8'))
  const server = await startWireServer(t, plainBody(200, JSON.stringify(answer)))
  const { login } = answer.tasks[0].result[0]
  const read = await openClient(t, server.baseUrl, { login }).getUserData()
  const counts = { compared: 0, left: 0 }
  for (const [path, sent] of leavesOf(answer.tasks[0].result[0])) {
    if (LEFT.some(([pattern]) => pattern.test(path))) {
      counts.left += 1
      continue
    }
    const direct = DIRECT[path]
    const found = direct
      ? direct(read)
      : path.startsWith('price.')
        ? readPrice(path, read)
        : readUsage(path, read)
    assert.equal(found, expected(path, sent), path)
    counts.compared += 1
  }
  assert.ok(counts.compared > 300 && counts.left > 0, JSON.stringify(counts))
})
