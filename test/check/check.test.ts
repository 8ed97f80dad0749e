/**
 * Each way in which a service differs from its specification is found by free calls, and named in a
 * sentence.
 */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type CheckedService, checkService } from '../../src/check/check.ts'
import type { Finding } from '../../src/check/finding.ts'
import { NO_PROXY } from '../../src/proxy.ts'
import type { Deviation } from '../../src/sandbox/deviations.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { AppDataClient } from '../../src/service/client.ts'
import { readStoreNames } from '../../src/service/dialect.ts'

const INSTALLATION = '0123456789ab'
const LIMITS = { readyMs: 0, readyListsPerMinute: 1000, idListsPerMinute: 1000, statusPerMinute: 1000 }
const EN = { locationCode: 2840, languageCode: 'en' }
const TAG = `0190a000-0000-7000-8000-000000000001.1.${INSTALLATION}.1795600000.86400`

interface Choice {
  readonly sandbox?: Parameters<typeof startSandbox>[0]
  readonly names?: string
  readonly password?: string
  readonly postbackUrl?: string
  readonly buys?: boolean
  readonly tag?: string
}

/** A sandbox with a search and reviews that this database has bought, and what is found out about it. */
async function check(t: TestContext, choice: Choice = {}): Promise<Finding[]> {
  let clockMs = Date.now()
  const sandbox = await startSandbox({ ...LIMITS, now: () => clockMs, ...choice.sandbox })
  t.after(() => sandbox.close())
  const open = (names?: string) => {
    const stores = names === undefined ? null : readStoreNames(names)
    const client = new AppDataClient({
      baseUrl: sandbox.url,
      login: 'sandbox',
      password: choice.password ?? 'sandbox',
      ...(stores === null ? {} : { stores }),
    })
    t.after(() => client.close())
    return client
  }
  const client = open(choice.names)
  if (choice.buys !== false) {
    const send = { deadlineMs: performance.now() + 20_000 }
    const task = { tag: choice.tag ?? TAG, ...EN }
    await client.postTasks('ios_store', 'app_searches', [{ ...task, subject: 'yoga', depth: 10 }], send)
    await client.postTasks('ios_store', 'app_reviews', [{ ...task, subject: '1480010017', depth: 50 }], send)
    // An hour later, so that the list ends behind them.
    clockMs += 3_600_000
  }
  const service: CheckedService = {
    client,
    openNamed: open,
    installation: INSTALLATION,
    postbackUrl: choice.postbackUrl ?? null,
    proxy: NO_PROXY,
    signal: t.signal,
  }
  return checkService(service)
}

function find(findings: readonly Finding[], about: string): Finding {
  const found = findings.find((finding) => finding.about === about)
  assert.ok(found, `${about} is among ${findings.map((finding) => finding.about).join(', ')}`)
  return found
}

/** What is found where nothing differs but the deviation. */
const FOUND: Readonly<Record<Exclude<Deviation, 'paths'>, string>> = {
  ids: 'ids of tasks',
  types: 'form of results',
  nulls: 'fields of results',
  statuses: 'status of a listed task',
  languages: 'languages of android_store',
  'money-beside-rates': 'record of the account',
  'no-limits': 'limits',
  'strict-present': 'end of id_list',
  units: 'billing units',
  codes: 'status codes',
  'all-apis': 'other parts of the service',
  'lagging-ready': 'an empty list',
  'errors-7-days': 'list of failures',
  endpoints: 'charts of ios_store',
  'many-locations': 'locations of android_store',
}

describe('a service in the form of its specification', () => {
  test('holds in all that can be told, and nothing has to be mended', async (t) => {
    const findings = await check(t)
    const others = findings.filter(({ verdict }) => verdict !== 'holds')
    assert.deepEqual(
      others.filter(({ about }) => about !== 'clock'),
      [],
    )
  })

  test('cannot be told all of before a task is bought', async (t) => {
    const findings = await check(t, { buys: false })
    assert.deepEqual(
      findings.filter(({ verdict }) => verdict === 'unknown').map(({ about }) => about),
      ['form of id_list', 'form of results'],
    )
  })
})

const DEVIATIONS = Object.keys(FOUND) as (keyof typeof FOUND)[]

describe('a service that differs', () => {
  // Each deviation is there in another choice of these runs, so that nothing else can be what tells of it.
  for (const [run, bit] of [1, 2, 4, 8].entries())
    test(`is found by what differs, and by nothing else: ${run + 1} of 4`, async (t) => {
      const deviations = DEVIATIONS.filter((_, place) => ((place + 1) & bit) > 0)
      const findings = await check(t, { sandbox: { deviations } })
      for (const deviation of DEVIATIONS) {
        const finding = findings.find(({ about }) => about === FOUND[deviation])
        assert.equal(finding?.verdict === 'differs', deviations.includes(deviation), deviation)
        assert.ok(!finding?.isObstacle, finding?.says)
      }
    })

  test('in its paths says what to set, and nothing else', async (t) => {
    const findings = await check(t, { sandbox: { deviations: ['paths'] }, buys: false })
    const last = findings.at(-1)
    assert.equal(last?.about, 'names of the stores')
    assert.ok(last.isObstacle)
    assert.match(last.says, /Set APP_DATA_STORES=apple,google\./)
  })

  test('in its paths is found where the setting is right', async (t) => {
    const findings = await check(t, { sandbox: { deviations: ['paths'] }, names: 'apple,google' })
    const finding = find(findings, 'names of the stores')
    assert.equal(finding.verdict, 'differs')
    assert.ok(!finding.isObstacle)
    assert.equal(find(findings, 'address of a listed task').verdict, 'differs')
  })

  test('as it is sold differs in all of these, and in nothing that stops anything', async (t) => {
    const findings = await check(t, { sandbox: { asSold: true }, names: 'apple,google' })
    for (const about of Object.values(FOUND)) assert.equal(find(findings, about).verdict, 'differs', about)
    assert.deepEqual(
      findings.filter(({ isObstacle }) => isObstacle),
      [],
    )
  })
})

describe('what has to be mended', () => {
  test('a wrong password, and nothing else is asked', async (t) => {
    const findings = await check(t, { password: 'wrong', buys: false })
    assert.deepEqual(
      findings.map(({ about, isObstacle }) => [about, isObstacle]),
      [['login', true]],
    )
    assert.match(findings[0]?.says ?? '', /Check APP_DATA_LOGIN and APP_DATA_PASSWORD\./)
  })

  test('an account without money', async (t) => {
    const findings = await check(t, { sandbox: { balanceUsd: 0 }, buys: false })
    assert.ok(find(findings, 'balance').isObstacle)
  })
})

test('another storerank, and another program of the account, are named', async (t) => {
  const storerank = await check(t, { tag: TAG.replace(INSTALLATION, 'ba9876543210') })
  assert.match(find(storerank, 'who else buys on the account').says, /1 other databases of storerank/)
  const program = await check(t, { tag: 'mine-1' })
  assert.match(
    find(program, 'who else buys on the account').says,
    /other programs, with 2 of the last 2 tasks/,
  )
})

test('an address of webhooks that nothing listens at is named, without the address', async (t) => {
  const findings = await check(t, { postbackUrl: 'http://127.0.0.1:1/secret', buys: false })
  const finding = find(findings, 'POSTBACK_URL')
  assert.equal(finding.verdict, 'differs')
  assert.doesNotMatch(finding.says, /secret|127\.0\.0\.1/)
})
