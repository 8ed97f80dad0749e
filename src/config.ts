/**
 * Reads the settings. This is the only reader of `process.env`. It returns them complete, checked and frozen,
 * and reports all wrong ones at once. It opens no connection and creates no folder. Each setting is declared
 * in settings.ts.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseDuration } from './duration.ts'
import { type Environment, isOpenToAll, readEnvFile } from './env-file.ts'
import { ConfigurationError } from './errors.ts'
import type { ProxySettings } from './proxy.ts'
import { Secret } from './secret.ts'
import { DUMMY_HOST, type StoreNames } from './service/dialect.ts'
import { isLoopback, isSetting, type Setting, type Shape } from './setting.ts'
import { checkNames } from './setting-names.ts'
import { ALL_SETTINGS, RECONCILE_QUIET_DEFAULT, SETTINGS, type SettingValues } from './settings.ts'
import { didYouMean } from './suggest.ts'
import { whyNot } from './trouble.ts'

/** What buys at the service, and what it calls the stores; null: as its host is known to. */
interface Account {
  readonly url: string
  readonly login: string
  readonly password: Secret
  readonly stores: StoreNames | null
}

export interface Config extends Omit<SettingValues, 'service' | 'reports' | 'alerts'> {
  /** The App Data Service, `url` without a slash at its end; null: the sandbox. */
  readonly service: Account | null
  /** Where the page of each project is written, with what stands on it; null: nowhere. */
  readonly reports: (SettingValues['reports'] & { readonly folder: string }) | null
  /** What channels of alerts name: variables ALERT_…, the mail server, hosts of private networks. */
  readonly alerts: SettingValues['alerts'] & {
    readonly secrets: ReadonlyMap<string, Secret>
    readonly proxy: ProxySettings
  }
  /** The command line that shows long results of `sql` on a terminal; null when PAGER is empty: none does. */
  readonly pager: string | null
  /** Names of ours that most likely are meant by notes, and are not set. */
  readonly misspelt: readonly string[]
  /** Sentences for the log about settings that are allowed, but hardly meant. */
  readonly notes: readonly string[]
}

/** What the environment holds of our settings, before it is checked. */
type Given = Readonly<Record<string, string>>

/** Sentences about settings: what is wrong, and what is allowed, but hardly meant. */
interface Remarks {
  readonly problems: string[]
  readonly notes: string[]
}

/**
 * Reads, checks and freezes the settings. An empty value counts as not set.
 *
 * @param given without it, that of this process, with `.env` of the working folder where there is one
 * @param envFile another file than `.env`
 * @throws ConfigurationError with one sentence for each problem: name, rule, and the value unless it is
 *   secret.
 */
export function readConfig(given?: NodeJS.ProcessEnv, envFile?: string): Config {
  const environment: Environment =
    given === undefined || envFile !== undefined
      ? readEnvFile(envFile, given ?? process.env)
      : { env: given, file: '', names: [], notes: [] }
  return checkSettings(environment)
}

function checkSettings({ env, notes, ...ofFile }: Environment): Config {
  const given = selectGiven(env)
  const remarks: Remarks = { problems: [], notes: [...notes] }
  const { service, ...values } = readShape(SETTINGS, given, remarks.problems) as SettingValues
  checkTogether(given, remarks.problems)
  const password = readPassword(given, remarks)
  const misspelt = checkNames(env, ofFile, remarks)
  noteIdle(given, remarks.notes)
  if (remarks.problems.length > 0) throw describeProblems(remarks.problems)
  const { url, login, stores } = service
  const { folder } = values.reports
  return deepFreeze({
    ...values,
    service:
      url === null || login === null || password === null
        ? null
        : { url, login, password: new Secret(password), stores },
    reports: folder === null ? null : { ...values.reports, folder },
    alerts: { ...values.alerts, secrets: collectAlertSecrets(env), proxy: values.proxy },
    pager: (env.PAGER ?? 'less').trim() || null,
    misspelt,
    notes: remarks.notes,
  })
}

function selectGiven(env: NodeJS.ProcessEnv): Given {
  const given: Record<string, string> = {}
  for (const { name, keepsSpaces, isCommon } of ALL_SETTINGS) {
    const text = env[name] || (isCommon ? env[name.toLowerCase()] : undefined)
    const value = keepsSpaces ? text : text?.trim()
    if (value) given[name] = value
  }
  return given
}

/** The values under their names; what is wrong is added to the problems. */
function readShape(shape: Shape, given: Given, problems: string[]): object {
  const entries = Object.entries(shape).map(([key, part]) => [
    key,
    isSetting(part) ? readSetting(part, given, problems) : readShape(part, given, problems),
  ])
  return Object.fromEntries(entries)
}

function readSetting(setting: Setting<unknown>, given: Given, problems: string[]): unknown {
  const { name, schema, secret } = setting
  const text = given[name] ?? setting.default
  if (text === undefined) return null
  const { data, error } = schema.safeParse(text)
  for (const { message } of error?.issues ?? []) {
    // A URL with a name or a query in it may hold a password too, wherever a typing error has put it.
    const isSecret = secret !== undefined || /[@?]/.test(text)
    const shown = isSecret ? '' : `; it is ${JSON.stringify(text.slice(0, 80))}`
    const choices = schema instanceof z.ZodEnum ? schema.options.map(String) : []
    problems.push(`${name} ${message}${shown}.${didYouMean(text.toLowerCase(), choices)}`)
  }
  return data
}

function describeProblems(problems: readonly string[]): ConfigurationError {
  const [first = '', ...others] = problems
  if (others.length === 0) return new ConfigurationError(first)
  return new ConfigurationError(`${problems.length} settings are wrong:\n  ${problems.join('\n  ')}`)
}

/** Rules that span settings. They look at the raw values, so that one wrong setting hides none. */
function checkTogether(given: Given, problems: string[]): void {
  const { APP_DATA_URL: url, APP_DATA_PASSWORD: password, APP_DATA_PASSWORD_FILE: file } = given
  if (password !== undefined && file !== undefined)
    problems.push('APP_DATA_PASSWORD and APP_DATA_PASSWORD_FILE are both set: keep one of them.')
  if (url === undefined) return
  if (given.APP_DATA_LOGIN === undefined) problems.push('APP_DATA_LOGIN is needed with APP_DATA_URL.')
  if (password === undefined && file === undefined)
    problems.push('APP_DATA_PASSWORD or APP_DATA_PASSWORD_FILE is needed with APP_DATA_URL.')
  // The rest is allowed only while the service is on loopback as well.
  if (isLoopback(URL.parse(url))) return
  if (isLoopback(URL.parse(given.POSTBACK_URL ?? '')))
    problems.push('POSTBACK_URL must not be on loopback, where the service of APP_DATA_URL cannot reach it.')
  const quietMs = parseDuration(given.RECONCILE_QUIET ?? RECONCILE_QUIET_DEFAULT)
  if (quietMs !== null && quietMs < (parseDuration(RECONCILE_QUIET_DEFAULT) ?? 0)) {
    problems.push(
      `RECONCILE_QUIET must be at least ${RECONCILE_QUIET_DEFAULT} unless the service is on loopback: ` +
        'before that, a post that looks lost may still arrive and be paid for; ' +
        `it is "${given.RECONCILE_QUIET}".`,
    )
  }
}

/** What has no effect, or cannot measure anything. */
function noteIdle(given: Given, notes: string[]): void {
  if (given.APP_DATA_URL === undefined)
    for (const name of ['APP_DATA_LOGIN', 'APP_DATA_PASSWORD', 'APP_DATA_PASSWORD_FILE', 'APP_DATA_STORES'])
      if (given[name] !== undefined) notes.push(`${name} has no effect without APP_DATA_URL.`)
  if (URL.parse(given.APP_DATA_URL ?? '')?.hostname === DUMMY_HOST)
    notes.push(
      `APP_DATA_URL is ${DUMMY_HOST}, which answers with dummies: nothing is measured there. ` +
        'Use api.dataforseo.com.',
    )
}

/** A file that others can read is only noted: mounted secrets often are. */
function readPassword(given: Given, { problems, notes }: Remarks): string | null {
  const { APP_DATA_PASSWORD: password = null, APP_DATA_PASSWORD_FILE: file } = given
  if (file === undefined || given.APP_DATA_URL === undefined) return password
  try {
    const content = readFileSync(file, 'utf8').replace(/^\uFEFF|\r?\n$/g, '')
    if (content === '') problems.push(`APP_DATA_PASSWORD_FILE names an empty file: "${file}".`)
    if (/[\r\n]/.test(content))
      problems.push(`APP_DATA_PASSWORD_FILE must hold the password in one line and nothing else: "${file}".`)
    if (isOpenToAll(file))
      notes.push(`APP_DATA_PASSWORD_FILE can be read by every user of this machine: chmod 600 "${file}".`)
    return content
  } catch (error) {
    problems.push(`APP_DATA_PASSWORD_FILE cannot be read: ${whyNot(error)}.`)
    return null
  }
}

/** Channels name variables that begin so, which only the operator sets: no row reads another one. */
function collectAlertSecrets(env: NodeJS.ProcessEnv): ReadonlyMap<string, Secret> {
  const given = Object.entries(env).map(([name, value = '']) => [name, value.trim()] as const)
  return new Map(
    given
      .filter(([name, value]) => /^ALERT_[A-Z0-9_]+$/.test(name) && value !== '')
      .map(([name, value]) => [name, new Secret(value)]),
  )
}

/** Freezes plain objects and lists: a Secret cannot be changed, and a Map not be frozen. */
function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value))
    if (Array.isArray(part) || (part && Object.getPrototypeOf(part) === Object.prototype)) deepFreeze(part)
  return Object.freeze(value)
}

/** What systemd tells the processes of its units; null: nothing. */
export interface Supervisor {
  /** Device and inode of the journal, where a descriptor leads to it. */
  readonly journal: string | null
  /** How soon it takes a process for frozen that does not say that it is well. */
  readonly watchdogMs: number | null
}

export function readSupervisor(env = process.env): Supervisor {
  const { JOURNAL_STREAM, NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID } = env
  const isOurs = NOTIFY_SOCKET && (WATCHDOG_PID ?? String(process.pid)) === String(process.pid)
  const watchdogMs = Number(WATCHDOG_USEC) / 1_000
  return { journal: JOURNAL_STREAM || null, watchdogMs: isOurs && watchdogMs > 0 ? watchdogMs : null }
}
