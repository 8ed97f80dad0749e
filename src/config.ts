/**
 * The settings. This is the only reader of `process.env`. It returns them complete, checked and frozen, and reports all wrong ones at
 * once. It opens no connection and creates no folder.
 */
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { inspect } from 'node:util'
import { z } from 'zod'
import {
  type AlertSettings,
  collectAlertSecrets,
  isMailServer,
  isSender,
  readHosts,
} from './alerts/settings.ts'
import { parseListenAddress } from './collect/listen-address.ts'
import { parseDatabaseUrl } from './db/database-url.ts'
import { type Environment, readEnvFile } from './env-file.ts'
import { ConfigurationError } from './errors.ts'
import { DUMMY_HOST, readStoreNames, type StoreNames } from './service/dialect.ts'
import { checkNames } from './setting-names.ts'
import { duration, parseDuration, setting, usd, wholeNumber } from './setting-values.ts'
import { didYouMean } from './suggest.ts'

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** A value that no log, error, JSON or inspection shows by accident; only `reveal` gives it. */
export class Secret {
  readonly #value: string
  constructor(value: string) {
    this.#value = value
  }
  reveal(): string {
    return this.#value
  }
  toString(): string {
    return '[secret]'
  }
  toJSON(): string {
    return '[secret]'
  }
  [inspect.custom](): string {
    return '[secret]'
  }
}

export interface Config {
  /** The person's own Postgres; null: the embedded one. */
  readonly databaseUrl: Secret | null
  /** The App Data Service, `url` without a slash at its end; null: the sandbox. */
  readonly service: {
    readonly url: string
    readonly login: string
    readonly password: Secret
    /** What it calls the stores; undefined: as its host is known to. */
    readonly stores: StoreNames | undefined
  } | null
  /** The address to which the service delivers results; its path ends in a secret. Null: results are fetched. */
  readonly postbackUrl: Secret | null
  readonly maxUsdPerDayMicros: number
  /** Null: no limit of our own by month. */
  readonly maxUsdPerMonthMicros: number | null
  /** What one plan may reserve; null: as far as the other budgets reach. */
  readonly maxUsdPerRunMicros: number | null
  readonly callsPerMinute: number
  readonly maxConcurrentRequests: number
  readonly maxAttempts: number
  readonly reconcileQuietMs: number
  readonly overdueAfterMs: number
  /** Where `storerank start` answers operators; null: nowhere. */
  readonly operationsListen: { readonly host: string; readonly port: number } | null
  /** Called while all is well; such addresses are secret. Null: nothing is called. */
  readonly heartbeatUrl: Secret | null
  /** Where the page of each project is written, as an absolute path, with what stands on it; null: nowhere. */
  readonly reports: {
    readonly folder: string
    readonly title: string | null
    readonly logo: string | null
  } | null
  /** How long storerank keeps what it has bought; null each: for ever. */
  readonly keep: {
    /** A project may say otherwise of these two. */
    readonly historyMs: number | null
    readonly pagesMs: number | null
    /** Of single charges; the totals by day stay. */
    readonly moneyMs: number | null
  }
  /** The tablespace to which old months of the history are moved; null: they stay. */
  readonly oldMonthsTablespace: string | null
  /** What channels of alerts name: the variables ALERT_…, the mail server, hosts of private networks. */
  readonly alerts: AlertSettings
  /** Absolute path of the folder for the embedded database and the sandbox; it need not exist. */
  readonly home: string
  readonly logLevel: (typeof LOG_LEVELS)[number]
  /** The command line that shows long results of `sql` on a terminal; null when PAGER is empty: none does. */
  readonly pager: string | null
  /** Sentences for the log about settings that are allowed, but hardly meant. */
  readonly notes: readonly string[]
}

/** Longer than TCP may still deliver a request that its sender has given up (docs/protocol.md: What is not promised). */
const RECONCILE_QUIET_DEFAULT = '20m'

const databaseUrl = z.string().transform((text, context) => {
  try {
    parseDatabaseUrl(text)
    return new Secret(text)
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    context.addIssue(error.message)
    return z.NEVER
  }
})

const serviceUrl = setting(
  'must be the address of the service such as https://api.example.com: https (http only on loopback), ' +
    'without login, query or the /v3 that begins every path',
  (text) => {
    const url = parseUrl(text)
    if (url === null) return null
    const isBare = url.username === '' && url.password === '' && url.search === '' && url.hash === ''
    const address = url.origin + url.pathname.replace(/\/+$/, '')
    return isSafe(url) && isBare && !address.endsWith('/v3') ? address : null
  },
)

const postbackUrl = setting(
  'must be the address at which the service reaches `storerank start --listen`, such as https://ranks.example.com/hooks/ and a ' +
    'secret: https (http only on loopback), without login, query or fragment, ending in 24 or more letters, digits, - or _ as ' +
    '`openssl rand -hex 24` makes them',
  (text) => {
    const url = parseUrl(text)
    if (url === null || !isSafe(url)) return null
    const isBare = url.href === url.origin + url.pathname
    return isBare && /\/[\w-]{24,}$/.test(url.pathname) ? new Secret(url.href) : null
  },
)

const settings = z.object({
  DATABASE_URL: databaseUrl.optional(),
  APP_DATA_URL: serviceUrl.optional(),
  APP_DATA_LOGIN: setting('must not contain a colon, which ends the login in Basic authentication', (text) =>
    text.includes(':') ? null : text,
  ).optional(),
  APP_DATA_STORES: setting(
    'must be what the paths of the service call the iOS store and the Android store, such as apple,google',
    readStoreNames,
  ).optional(),
  APP_DATA_PASSWORD: z.string().optional(),
  APP_DATA_PASSWORD_FILE: z.string().optional(),
  POSTBACK_URL: postbackUrl.optional(),
  MAX_USD_PER_DAY: usd().prefault('5'),
  MAX_USD_PER_MONTH: usd().optional(),
  MAX_USD_PER_RUN: usd().optional(),
  // The service's own limits (spec: Limits; docs/service.md: too many requests at once).
  CALLS_PER_MINUTE: wholeNumber(1, 2000).prefault('2000'),
  MAX_CONCURRENT_REQUESTS: wholeNumber(1, 30).prefault('30'),
  MAX_ATTEMPTS: wholeNumber(1, 10).prefault('3'),
  RECONCILE_QUIET: duration('1d').prefault(RECONCILE_QUIET_DEFAULT),
  // The ready lists have tasks of three days: a task that is asked for by id later than that is on no list meanwhile.
  OVERDUE_AFTER: duration('3d').prefault('45m'),
  OPERATIONS_LISTEN: setting(
    'must be a port such as 9090, which is on loopback, or host and port such as 0.0.0.0:9090',
    parseListenAddress,
  ).optional(),
  HEARTBEAT_URL: setting('must be an address that a GET of http or https may be sent to', (text) =>
    ['http:', 'https:'].includes(parseUrl(text)?.protocol ?? '') ? new Secret(text) : null,
  ).optional(),
  // Work is kept for 90 days, and looks up its history and its charges.
  KEEP_HISTORY: duration('36500d', '92d').optional(),
  KEEP_PAGES: duration('36500d').optional(),
  KEEP_MONEY: duration('36500d', '92d').optional(),
  OLD_MONTHS_TABLESPACE: setting('must be the name of a tablespace, of 63 bytes at most', (text) =>
    Buffer.byteLength(text) <= 63 ? text : null,
  ).optional(),
  SMTP_URL: setting(
    'must be the address of a mail server such as smtps://login:password@mail.example.com or smtp://mail.example.com:587',
    (text) => (isMailServer(parseUrl(text)) ? new Secret(text) : null),
  ).optional(),
  SMTP_FROM: setting('must be the address from which alerts are sent, such as ranks@example.com', (text) =>
    isSender(text) ? text : null,
  ).optional(),
  PRIVATE_ALERT_HOSTS: setting(
    'must be names of hosts, or addresses, with commas between',
    readHosts,
  ).optional(),
  REPORT_DIR: z.string().optional(),
  REPORT_TITLE: setting('must have 200 letters at most', (text) =>
    text.length <= 200 ? text : null,
  ).optional(),
  REPORT_LOGO: z.string().optional(),
  STORERANK_HOME: z.string().prefault('.storerank'),
  LOG_LEVEL: z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` }).prefault('info'),
})

type Settings = z.output<typeof settings>
type SettingName = keyof Settings
/** A login that is refused has a colon in it, and most likely the password behind it. */
const SECRETS: readonly SettingName[] = [
  'APP_DATA_LOGIN',
  'APP_DATA_PASSWORD',
  'DATABASE_URL',
  'POSTBACK_URL',
  'SMTP_URL',
  'HEARTBEAT_URL',
]
/** What the environment holds of our settings, before it is checked. */
type Given = Partial<Record<SettingName, string>>

export const SETTING_NAMES = Object.keys(settings.shape) as SettingName[]
/**
 * Reads, checks and freezes the settings. An empty value counts as not set.
 *
 * @param given without it, that of this process, with `.env` of the working folder where there is one
 * @param envFile another file than `.env`
 * @throws ConfigurationError with one sentence for each problem: name, rule, and the value unless it is secret.
 */
export function readConfig(given?: NodeJS.ProcessEnv, envFile?: string): Config {
  const needsFile = given === undefined || envFile !== undefined
  return checkSettings(needsFile ? readEnvFile(envFile, given ?? process.env) : { ...NO_FILE, env: given })
}

const NO_FILE = { file: '', names: [], notes: [] }

function checkSettings({ env, notes: fileNotes, ...ofFile }: Environment): Config {
  const given = selectGiven(env)
  const parsed = settings.safeParse(given)
  const names = checkNames(env, SETTING_NAMES, ofFile)
  const password = readPassword(given)
  const problems = [
    ...(parsed.error?.issues ?? []).map((issue) => describeIssue(issue, given)),
    ...checkTogether(given),
    ...password.problems,
    ...names.problems,
  ]
  if (!parsed.success || problems.length > 0) throw describeProblems(problems)
  return freezeConfig(
    parsed.data,
    password.value,
    [...fileNotes, ...password.notes, ...names.notes, ...noteDummies(given)],
    env,
  )
}

function selectGiven(env: NodeJS.ProcessEnv): Given {
  const given: Given = {}
  for (const name of SETTING_NAMES) {
    const value = name === 'APP_DATA_PASSWORD' ? env[name] : env[name]?.trim()
    if (value) given[name] = value
  }
  return given
}

/** The rules that span settings. They look at the raw values, so that one wrong setting hides none of them. */
function checkTogether(given: Given): string[] {
  const problems: string[] = []
  if (given.APP_DATA_URL !== undefined) {
    if (given.APP_DATA_LOGIN === undefined) problems.push('APP_DATA_LOGIN is needed with APP_DATA_URL.')
    if (given.APP_DATA_PASSWORD === undefined && given.APP_DATA_PASSWORD_FILE === undefined) {
      problems.push('APP_DATA_PASSWORD or APP_DATA_PASSWORD_FILE is needed with APP_DATA_URL.')
    }
  }
  if (given.APP_DATA_PASSWORD !== undefined && given.APP_DATA_PASSWORD_FILE !== undefined) {
    problems.push('APP_DATA_PASSWORD and APP_DATA_PASSWORD_FILE are both set: keep one of them.')
  }
  return [...problems, ...checkRemote(given)]
}

/** What is allowed only while the service is on loopback as well. */
function checkRemote(given: Given): string[] {
  if (given.APP_DATA_URL === undefined || isLoopback(parseUrl(given.APP_DATA_URL))) return []
  const problems: string[] = []
  if (given.POSTBACK_URL !== undefined && isLoopback(parseUrl(given.POSTBACK_URL))) {
    problems.push('POSTBACK_URL must not be on loopback, where the service of APP_DATA_URL cannot reach it.')
  }
  const quietMs = parseDuration(given.RECONCILE_QUIET ?? RECONCILE_QUIET_DEFAULT)
  const isTooShort = quietMs !== null && quietMs < (parseDuration(RECONCILE_QUIET_DEFAULT) ?? 0)
  if (isTooShort) {
    problems.push(
      `RECONCILE_QUIET must be at least ${RECONCILE_QUIET_DEFAULT} unless the service is on loopback: before that, a post that ` +
        `looks lost may still arrive and be paid for; it is "${given.RECONCILE_QUIET}".`,
    )
  }
  return problems
}

/** What the service gives people to try calls with cannot be followed from a task to its result. */
function noteDummies({ APP_DATA_URL: url = '' }: Given): string[] {
  return parseUrl(url)?.hostname === DUMMY_HOST
    ? [
        `APP_DATA_URL is ${DUMMY_HOST}, which answers with dummies: nothing is measured there. Use api.dataforseo.com.`,
      ]
    : []
}

/** The password from the one place that gives it. A file that others can read is only noted: mounted secrets often are. */
function readPassword(given: Given): { value?: string; problems: string[]; notes: string[] } {
  const { APP_DATA_PASSWORD: value, APP_DATA_PASSWORD_FILE: file } = given
  if (given.APP_DATA_URL === undefined) {
    const idle = (
      ['APP_DATA_LOGIN', 'APP_DATA_PASSWORD', 'APP_DATA_PASSWORD_FILE', 'APP_DATA_STORES'] as const
    ).filter((name) => given[name] !== undefined)
    return { problems: [], notes: idle.map((name) => `${name} has no effect without APP_DATA_URL.`) }
  }
  if (file === undefined) return { ...(value === undefined ? {} : { value }), problems: [], notes: [] }
  try {
    const content = readFileSync(file, 'utf8')
      .replace(/^\uFEFF/, '')
      .replace(/\r?\n$/, '')
    if (content === '')
      return { problems: [`APP_DATA_PASSWORD_FILE names an empty file: "${file}".`], notes: [] }
    if (/[\r\n]/.test(content)) {
      const problem = `APP_DATA_PASSWORD_FILE must hold the password in one line and nothing else: "${file}".`
      return { problems: [problem], notes: [] }
    }
    const isOpenToAll = (statSync(file).mode & 0o004) !== 0
    const note = `APP_DATA_PASSWORD_FILE can be read by every user of this machine: chmod 600 "${file}".`
    return { value: content, problems: [], notes: isOpenToAll ? [note] : [] }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { problems: [`APP_DATA_PASSWORD_FILE cannot be read: ${reason}.`], notes: [] }
  }
}

function describeIssue(issue: z.core.$ZodIssue, given: Given): string {
  const name = issue.path[0] as SettingName
  const value = given[name] ?? ''
  // A URL with a name or a query in it may hold a password too, wherever a typing error has put it.
  const isSecret = SECRETS.includes(name) || /[@?]/.test(value)
  const shown = isSecret ? '' : `; it is ${JSON.stringify(value.slice(0, 80))}`
  return `${name} ${issue.message}${shown}.${name === 'LOG_LEVEL' ? didYouMean(value.toLowerCase(), LOG_LEVELS) : ''}`
}

function describeProblems(problems: readonly string[]): ConfigurationError {
  const [first = ''] = problems
  if (problems.length === 1) return new ConfigurationError(first)
  return new ConfigurationError(`${problems.length} settings are wrong:\n  ${problems.join('\n  ')}`)
}

function freezeConfig(
  values: Settings,
  password: string | undefined,
  notes: string[],
  env: NodeJS.ProcessEnv,
): Config {
  const { APP_DATA_URL: url, APP_DATA_LOGIN: login, APP_DATA_STORES: stores } = values
  const hasService = url !== undefined && login !== undefined && password !== undefined
  return Object.freeze({
    databaseUrl: values.DATABASE_URL ?? null,
    service: hasService ? Object.freeze({ url, login, password: new Secret(password), stores }) : null,
    postbackUrl: values.POSTBACK_URL ?? null,
    maxUsdPerDayMicros: values.MAX_USD_PER_DAY,
    maxUsdPerMonthMicros: values.MAX_USD_PER_MONTH ?? null,
    maxUsdPerRunMicros: values.MAX_USD_PER_RUN ?? null,
    callsPerMinute: values.CALLS_PER_MINUTE,
    maxConcurrentRequests: values.MAX_CONCURRENT_REQUESTS,
    maxAttempts: values.MAX_ATTEMPTS,
    reconcileQuietMs: values.RECONCILE_QUIET,
    overdueAfterMs: values.OVERDUE_AFTER,
    operationsListen: values.OPERATIONS_LISTEN === undefined ? null : Object.freeze(values.OPERATIONS_LISTEN),
    heartbeatUrl: values.HEARTBEAT_URL ?? null,
    keep: freezeKeep(values),
    oldMonthsTablespace: values.OLD_MONTHS_TABLESPACE ?? null,
    reports: freezeReports(values),
    alerts: Object.freeze({
      secrets: collectAlertSecrets(env, (text) => new Secret(text)),
      smtpUrl: values.SMTP_URL ?? null,
      smtpFrom: values.SMTP_FROM ?? null,
      privateHosts: values.PRIVATE_ALERT_HOSTS ?? [],
    }),
    home: resolve(values.STORERANK_HOME),
    logLevel: values.LOG_LEVEL,
    pager: (env.PAGER ?? 'less').trim() || null,
    notes: Object.freeze(notes),
  })
}

function freezeKeep({ KEEP_HISTORY, KEEP_PAGES, KEEP_MONEY }: Settings): Config['keep'] {
  return Object.freeze({
    historyMs: KEEP_HISTORY ?? null,
    pagesMs: KEEP_PAGES ?? null,
    moneyMs: KEEP_MONEY ?? null,
  })
}

function freezeReports({ REPORT_DIR, REPORT_TITLE, REPORT_LOGO }: Settings): Config['reports'] {
  if (REPORT_DIR === undefined) return null
  const logo = REPORT_LOGO === undefined ? null : resolve(REPORT_LOGO)
  return Object.freeze({ folder: resolve(REPORT_DIR), title: REPORT_TITLE ?? null, logo })
}

function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null
}

/** Whether what is sent there cannot be read on the way. */
function isSafe(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))
}

function isLoopback(url: URL | null): boolean {
  return url !== null && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname)
}
