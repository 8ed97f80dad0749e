import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, describe, test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { readConfig } from '../src/config.ts'
import { parseDuration } from '../src/duration.ts'
import { ConfigurationError } from '../src/errors.ts'
import { formatInstant } from '../src/instant.ts'
import { createLogger } from '../src/log.ts'
import { parseUsdMicros } from '../src/setting.ts'
import { suggest } from '../src/suggest.ts'
import { formatUsd } from '../src/text/money.ts'
import { formatCount } from '../src/text/words.ts'

const account = {
  APP_DATA_URL: 'https://api.example.com',
  APP_DATA_LOGIN: 'me@example.com',
  APP_DATA_PASSWORD: 'hunter2',
}

const SEGMENT = 'k3y-0f_twenty4characters'

function refusal(env: NodeJS.ProcessEnv): string {
  let message = ''
  assert.throws(
    () => readConfig(env),
    (error) => {
      message = String((error as Error).message)
      return error instanceof ConfigurationError
    },
  )
  return message
}

describe('readConfig', () => {
  test('needs no setting at all', () => {
    assert.deepEqual(readConfig({}), {
      databaseUrl: null,
      service: null,
      postbackUrl: null,
      budget: { maxDayMicros: 5_000_000, maxMonthMicros: null, maxRunMicros: null },
      callsPerMinute: 2000,
      databaseConnections: 28,
      maxConcurrentRequests: 30,
      maxAttempts: 3,
      reconcileQuietMs: 1_200_000,
      overdueAfterMs: 2_700_000,
      operationsListen: null,
      proxy: { url: null, bypass: '' },
      alerts: {
        secrets: new Map(),
        smtpUrl: null,
        smtpFrom: null,
        privateHosts: [],
        proxy: { url: null, bypass: '' },
      },
      heartbeatUrl: null,
      reports: null,
      keep: { historyMs: null, pagesMs: null, moneyMs: null },
      oldMonthsTablespace: null,
      home: resolve('.storerank'),
      logLevel: 'info',
      pager: 'less',
      misspelt: [],
      notes: [],
    })
  })

  test('reads every setting', () => {
    const config = readConfig({
      ...account,
      APP_DATA_URL: 'https://api.example.com/proxy/',
      APP_DATA_STORES: 'apple,google',
      DATABASE_URL: ' postgresql://u:p@db:5432/ranks ',
      POSTBACK_URL: `https://ranks.example.com:8443/hooks/${SEGMENT}`,
      MAX_USD_PER_DAY: '0.25',
      MAX_USD_PER_MONTH: '7.000001',
      MAX_USD_PER_RUN: '0.0012',
      CALLS_PER_MINUTE: '3',
      MAX_CONCURRENT_REQUESTS: '1',
      MAX_ATTEMPTS: '10',
      RECONCILE_QUIET: '1h',
      OVERDUE_AFTER: '90s',
      OPERATIONS_LISTEN: '0.0.0.0:9090',
      HEARTBEAT_URL: 'https://beats.example.com/abc',
      KEEP_HISTORY: '400d',
      KEEP_PAGES: '180d',
      KEEP_MONEY: '800d',
      REPORT_DIR: '/var/www/ranks',
      REPORT_TITLE: 'Acme',
      REPORT_LOGO: '/etc/acme.svg',
      STORERANK_HOME: '/var/lib/storerank',
      LOG_LEVEL: 'debug',
    })
    const { service, postbackUrl, databaseUrl, heartbeatUrl } = config
    assert.deepEqual(
      [databaseUrl, postbackUrl, heartbeatUrl, service?.password].map((secret) => secret?.reveal()),
      [
        'postgresql://u:p@db:5432/ranks',
        `https://ranks.example.com:8443/hooks/${SEGMENT}`,
        'https://beats.example.com/abc',
        'hunter2',
      ],
    )
    const { url, login, stores } = service ?? {}
    assert.deepEqual([url, login], ['https://api.example.com/proxy', 'me@example.com'])
    assert.deepEqual(stores, { ios_store: 'apple', android_store: 'google' })
    assert.deepEqual(config.operationsListen, { host: '0.0.0.0', port: 9090 })
    const DAY_MS = 86_400_000
    assert.deepEqual(config.keep, { historyMs: 400 * DAY_MS, pagesMs: 180 * DAY_MS, moneyMs: 800 * DAY_MS })
    assert.deepEqual(config.reports, { folder: '/var/www/ranks', title: 'Acme', logo: '/etc/acme.svg' })
    assert.deepEqual(config.budget, { maxDayMicros: 250_000, maxMonthMicros: 7_000_001, maxRunMicros: 1200 })
    assert.deepEqual([config.callsPerMinute, config.maxConcurrentRequests, config.maxAttempts], [3, 1, 10])
    assert.deepEqual([config.reconcileQuietMs, config.overdueAfterMs], [3_600_000, 90_000])
    assert.deepEqual([config.home, config.logLevel], ['/var/lib/storerank', 'debug'])
  })

  test('takes an empty value for a setting that is not set', () => {
    assert.deepEqual(readConfig({ DATABASE_URL: '', MAX_USD_PER_DAY: '', APP_DATA_URL: ' ' }), readConfig({}))
  })

  test('is frozen through and through', () => {
    const config = readConfig(account)
    assert.ok(Object.isFrozen(config) && Object.isFrozen(config.service) && Object.isFrozen(config.notes))
  })

  const refused: [name: string, value: string, rule: RegExp][] = [
    ['DATABASE_URL', 'localhost', /^DATABASE_URL must be a URL/],
    ['SMTP_URL', 'https://me:pw@x', /^SMTP_URL must be the address of a mail server[^@]*@[^@]*\.$/],
    ['SMTP_FROM', 'ranks', /^SMTP_FROM must be the address/],
    ['HEARTBEAT_URL', 'ftp://x', /^HEARTBEAT_URL must be an address that a GET[^x]*\.$/],
    ['DATABASE_URL', 'postgres://u:100%@h/d', /^DATABASE_URL must be a URL .* a % in them as %25\.$/],
    ['APP_DATA_URL', 'https://api.example.com/v3/', /the \/v3 that begins every path/],
    ['APP_DATA_URL', 'https://api.example.com?x=1', /^APP_DATA_URL must be/],
    ['APP_DATA_URL', 'api.example.com', /^APP_DATA_URL must be/],
    [
      'APP_DATA_STORES',
      'apple',
      /^APP_DATA_STORES must be what the paths .* such as apple,google; it is "apple"\.$/,
    ],
    ['MAX_USD_PER_DAY', '5.0000001', /^MAX_USD_PER_DAY must be an amount in dollars .*"5\.0000001"\.$/],
    ['MAX_USD_PER_DAY', '$5', /^MAX_USD_PER_DAY/],
    ['MAX_USD_PER_DAY', '5e3', /^MAX_USD_PER_DAY/],
    ['MAX_USD_PER_MONTH', '1,5', /^MAX_USD_PER_MONTH/],
    ['CALLS_PER_MINUTE', '0', /^CALLS_PER_MINUTE must be a whole number from 1 to 2000; it is "0"\.$/],
    ['CALLS_PER_MINUTE', '2001', /^CALLS_PER_MINUTE/],
    ['MAX_CONCURRENT_REQUESTS', '31', /^MAX_CONCURRENT_REQUESTS .*from 1 to 30/],
    ['MAX_ATTEMPTS', '1.5', /^MAX_ATTEMPTS .*from 1 to 10/],
    ['RECONCILE_QUIET', '2d', /^RECONCILE_QUIET must be a duration of at most 1d/],
    ['RECONCILE_QUIET', '19m', /^RECONCILE_QUIET must be at least 20m unless the service is on loopback/],
    ['OVERDUE_AFTER', '45 minutes', /^OVERDUE_AFTER must be a duration/],
  ]
  for (const [name, value, rule] of refused) {
    test(`refuses ${name}=${value}`, () => {
      assert.match(refusal({ ...account, [name]: value }), rule)
    })
  }

  test('takes a POSTBACK_URL without https on loopback, and refuses any other without showing it', () => {
    for (const url of [`http://127.0.0.1:8070/${SEGMENT}`, `http://localhost/a/b/${SEGMENT}`]) {
      assert.equal(readConfig({ POSTBACK_URL: url }).postbackUrl?.reveal(), url)
    }
    const wrong = [
      `http://ranks.example.com/${SEGMENT}`,
      `https://me:hush@ranks.example.com/${SEGMENT}`,
      `https://ranks.example.com/${SEGMENT}?id=$id`,
      `https://ranks.example.com/${SEGMENT}?`,
      `https://ranks.example.com/${SEGMENT}#`,
      `https://ranks.example.com/${SEGMENT}/`,
      `https://ranks.example.com/${SEGMENT.slice(1)}`,
      `https://ranks.example.com/x${SEGMENT.slice(1)}%20`,
      `ranks.example.com/${SEGMENT}`,
      SEGMENT,
    ]
    for (const url of wrong) {
      const message = refusal({ POSTBACK_URL: url })
      assert.match(message, /^POSTBACK_URL must be the address .*`openssl rand -hex 24` makes them\.$/)
      assert.ok(!message.includes(SEGMENT.slice(1)), message)
    }
  })

  test('refuses a POSTBACK_URL on loopback where the service is elsewhere', () => {
    const POSTBACK_URL = `http://127.0.0.1:8070/${SEGMENT}`
    assert.equal(
      refusal({ ...account, POSTBACK_URL }),
      'POSTBACK_URL must not be on loopback, where the service of APP_DATA_URL cannot reach it.',
    )
    assert.notEqual(
      readConfig({ ...account, APP_DATA_URL: 'http://127.0.0.1:8080', POSTBACK_URL }).postbackUrl,
      null,
    )
  })

  test('reports all problems at once, also those that span settings', () => {
    const message = refusal({
      APP_DATA_URL: 'https://api.example.com',
      APP_DATA_PASSWORD: 'hunter2',
      MAX_USD_PER_DAY: 'five',
      CALLS_PER_MINUTE: '9999',
      RECONCILE_QUIET: '1m',
      STORERANK_HOEM: '/x',
    })
    assert.match(message, /^5 settings are wrong:\n/)
    for (const name of [
      'MAX_USD_PER_DAY',
      'CALLS_PER_MINUTE',
      'APP_DATA_LOGIN',
      'RECONCILE_QUIET',
      'STORERANK_HOEM',
    ]) {
      assert.match(message, new RegExp(`\n {2}${name} `))
    }
  })

  test('allows plain http and a short quiet time on loopback, and with the sandbox', () => {
    for (const url of ['http://localhost:8080', 'http://127.0.0.1', 'http://[::1]:9']) {
      const config = readConfig({ ...account, APP_DATA_URL: url, RECONCILE_QUIET: '2s' })
      assert.deepEqual([config.service?.url, config.reconcileQuietMs], [url, 2000])
    }
    assert.equal(readConfig({ RECONCILE_QUIET: '0s' }).reconcileQuietMs, 0)
    assert.match(refusal({ ...account, APP_DATA_URL: 'http://127.0.0.1.example.com' }), /^APP_DATA_URL/)
  })

  test('notes an address that only answers with dummies', () => {
    const { notes } = readConfig({ ...account, APP_DATA_URL: 'https://sandbox.dataforseo.com' })
    assert.match(notes.join(), /^APP_DATA_URL is sandbox\.dataforseo\.com, which answers with dummies/)
    assert.deepEqual(readConfig({ ...account, APP_DATA_URL: 'https://api.dataforseo.com' }).notes, [])
  })

  test('notes an account that has no effect without the address of the service', () => {
    const config = readConfig({ APP_DATA_LOGIN: 'me', APP_DATA_PASSWORD: 'hunter2' })
    assert.equal(config.service, null)
    assert.deepEqual(config.notes, [
      'APP_DATA_LOGIN has no effect without APP_DATA_URL.',
      'APP_DATA_PASSWORD has no effect without APP_DATA_URL.',
    ])
  })
})

describe('the password file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'storerank-config-'))
  after(() => rmSync(folder, { recursive: true }))
  const { APP_DATA_PASSWORD: _, ...withoutPassword } = account

  function passwordFile(name: string, content: string, mode: number): NodeJS.ProcessEnv {
    const path = join(folder, name)
    writeFileSync(path, content)
    chmodSync(path, mode)
    return { ...withoutPassword, APP_DATA_PASSWORD_FILE: path }
  }

  test('gives the password without its last line break', () => {
    const config = readConfig(passwordFile('private', ' pass word \r\n', 0o600))
    assert.equal(config.service?.password.reveal(), ' pass word ')
    assert.deepEqual(config.notes, [])
  })

  test('is noted when everybody can read it, since mounted secrets often are so', () => {
    const [note] = readConfig(passwordFile('open', 'hunter2', 0o644)).notes
    assert.match(note ?? '', /can be read by every user/)
  })

  test('is refused when it is empty or cannot be read', () => {
    assert.match(refusal(passwordFile('empty', '\n', 0o600)), /names an empty file/)
    assert.match(refusal({ ...withoutPassword, APP_DATA_PASSWORD_FILE: join(folder, 'none') }), /ENOENT/)
    assert.match(refusal({ ...withoutPassword, APP_DATA_PASSWORD_FILE: folder }), /EISDIR/)
  })
})

describe('misspelt settings', () => {
  for (const [why, name, says] of [
    [
      'under our prefixes',
      'STORERANK_WHATEVER_ELSE',
      /^STORERANK_WHATEVER_ELSE is not a setting of storerank\.$/,
    ],
    ['near a name that nobody else uses', 'MAX_UDS_PER_DAY', /Did you mean MAX_USD_PER_DAY\?/],
    ['in small letters', 'max_usd_per_day', /Did you mean MAX_USD_PER_DAY\?/],
    ['of the same sound', 'RECONSILE_QUIET', /Did you mean RECONCILE_QUIET\?/],
  ] as const)
    test(`are refused ${why}`, () => assert.match(refusal({ [name]: '1' }), says))

  test('are noted when they are near a shorter name that is not set', () => {
    assert.match(readConfig({ DATABASE_ULR: 'x' }).notes.join(), /DATABASE_ULR .*Did you mean DATABASE_URL\?/)
    assert.deepEqual(readConfig({ DATABASE_ULR: 'x', DATABASE_URL: 'postgres://h/d' }).notes, [])
  })

  test('are never seen in variables of other programs', () => {
    const names =
      'PATH HOME APPDATA LOGLEVEL LOG_LEVELS DATABASE_URL_TEST TEST_DATABASE_URL npm_config_loglevel ' +
      'npm_package_name MAX_ATTEMPT_DELAY STORERANK_SERVICE_HOST STORERANK_SERVICE_PORT_HTTP ' +
      'STORERANK_PORT STORERANK_PORT_80_TCP_ADDR'
    const others = Object.fromEntries(names.split(' ').map((name) => [name, 'x']))
    assert.deepEqual(readConfig(others), readConfig({}))
  })
})

describe('secrets', () => {
  const password = 'correct-horse-battery'
  const config = readConfig({
    ...account,
    APP_DATA_PASSWORD: password,
    DATABASE_URL: `postgres://me:${password}@db/ranks`,
  })

  test('appear in no inspection, JSON, text or log of the configuration', () => {
    const lines: string[] = []
    const sink = { write: (line: string) => lines.push(line) } as unknown as NodeJS.WritableStream
    createLogger({ level: 'info', pretty: false, stderr: sink }).info({ config }, 'settings')
    const shown = [
      inspect(config, { depth: 9, showHidden: true }),
      JSON.stringify(config),
      `${config.databaseUrl} ${config.service?.password}`,
      ...lines,
    ].join('\n')
    assert.ok(!shown.includes(password), shown)
    assert.match(shown, /\[secret\]/)
  })

  test('appear in no refusal', () => {
    const message = refusal({
      APP_DATA_URL: `htp://me:${password}@api.example.com`,
      APP_DATA_LOGIN: `me:${password}`,
      APP_DATA_PASSWORD: password,
      APP_DATA_PASSWORD_FILE: '/nowhere',
      DATABASE_URL: `me:${password}`,
    })
    assert.match(message, /^5 settings are wrong/)
    assert.ok(!message.includes(password), message)
    const inQuery = refusal({ ...account, APP_DATA_URL: `https://api.example.com?password=${password}` })
    assert.ok(!inQuery.includes(password), inQuery)
  })
})

describe('amounts and durations', () => {
  test('an amount is exact to the micro-dollar, there and back', () => {
    fc.assert(
      fc.property(fc.nat(999_999_999), fc.nat(999_999), (dollars, micros) => {
        const amount = parseUsdMicros(`${dollars}.${String(micros).padStart(6, '0')}`)
        assert.equal(BigInt(amount ?? -1), BigInt(dollars) * 1_000_000n + BigInt(micros))
        assert.equal(parseUsdMicros(formatUsd(amount ?? -1).slice(1)), amount)
      }),
    )
  })

  test('an amount may leave decimals away, and nothing else', () => {
    assert.equal(parseUsdMicros('0'), 0)
    assert.equal(parseUsdMicros('0.0012'), 1200)
    for (const text of ['', '.5', '5.', '1 000', '0x5', '1000000000', 'NaN', '٣']) {
      assert.equal(parseUsdMicros(text), null, text)
    }
  })

  test('a duration is a whole number with its unit', () => {
    const durations = { '500ms': 500, '90s': 90_000, '20m': 1_200_000, '2h': 7_200_000, '1d': 86_400_000 }
    for (const [text, ms] of Object.entries(durations)) assert.equal(parseDuration(text), ms)
    for (const text of ['', '20', 'm', '1.5h', '-1s', '20 m', '20M', '1h30m', '1w']) {
      assert.equal(parseDuration(text), null, text)
    }
  })
})

test('amounts, instants and counts read well', () => {
  assert.deepEqual(
    [0, 1200, 5_000_000, 100_000, -1, 12_345_678n, 2n ** 70n].map((micros) => formatUsd(micros)),
    ['$0.00', '$0.0012', '$5.00', '$0.10', '-$0.000001', '$12.345678', '$1180591620717411.303424'],
  )
  assert.throws(() => formatUsd(0.5), RangeError)
  assert.equal(formatInstant(new Date('2026-01-31T23:59:59.999Z')), '2026-01-31 23:59:59Z')
  assert.equal(formatCount(1_234_567), '1,234,567')
})

test('a suggestion is the nearest name, and none where all are far', () => {
  assert.equal(suggest('trcak', ['account', 'track']), 'track')
  assert.equal(suggest('x', ['sql', 'run']), null)
  assert.equal(suggest('completely', ['sql', 'run']), null)
})
