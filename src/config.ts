/**
 * Reads the settings. This is the only reader of `process.env`. It returns them complete, checked and frozen,
 * and reports all wrong ones at once. It opens no connection and creates no folder. Each setting is declared
 * in settings.ts.
 */
import { readFileSync, statSync } from 'node:fs'
import { z } from 'zod'
import { parseDuration } from './duration.ts'
import { type Environment, readEnvFile } from './env-file.ts'
import { ConfigurationError } from './errors.ts'
import type { ProxySettings } from './proxy.ts'
import { Secret } from './secret.ts'
import { DUMMY_HOST, type StoreNames } from './service/dialect.ts'
import { isSetting, type Setting, type Shape } from './setting.ts'
import { checkNames } from './setting-names.ts'
import { isLoopback, parseUrl } from './setting-values.ts'
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

/**
 * Reads, checks and freezes the settings. An empty value counts as not set.
 *
 * @param given without it, that of this process, with `.env` of the working folder where there is one
 * @param envFile another file than `.env`
 * @throws ConfigurationError with one sentence for each problem: name, rule, and the value unless it is
 *   secret.
 */
export function readConfig(given?: NodeJS.ProcessEnv, envFile?: string): Config {
  const needsFile = given === undefined || envFile !== undefined
  return checkSettings(needsFile ? readEnvFile(envFile, given ?? process.env) : { ...NO_FILE, env: given })
}

const NO_FILE = { file: '', names: [], notes: [] }

function checkSettings({ env, notes: fileNotes, ...ofFile }: Environment): Config {
  const given = selectGiven(env)
  const problems: string[] = []
  const values = readShape(SETTINGS, given, problems) as SettingValues
  const password = readPassword(given)
  const names = checkNames(env, ofFile)
  problems.push(...checkTogether(given), ...password.problems, ...names.problems)
  if (problems.length > 0) throw describeProblems(problems)
  return deepFreeze({
    ...values,
    service: readService(values.service, password.value),
    reports: values.reports.folder === null ? null : { ...values.reports, folder: values.reports.folder },
    alerts: { ...values.alerts, secrets: collectAlertSecrets(env), proxy: values.proxy },
    pager: (env.PAGER ?? 'less').trim() || null,
    misspelt: names.misspelt,
    notes: [...fileNotes, ...password.notes, ...names.notes, ...noteDummies(given)],
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
  const text = given[setting.name] ?? setting.default
  if (text === undefined) return null
  const { data, error } = setting.schema.safeParse(text)
  for (const { message } of error?.issues ?? []) problems.push(describeProblem(setting, message, text))
  return data
}

function describeProblem({ name, schema, secret }: Setting<unknown>, message: string, text: string): string {
  // A URL with a name or a query in it may hold a password too, wherever a typing error has put it.
  const isSecret = secret !== undefined || /[@?]/.test(text)
  const shown = isSecret ? '' : `; it is ${JSON.stringify(text.slice(0, 80))}`
  const choices = schema instanceof z.ZodEnum ? schema.options.map(String) : []
  return `${name} ${message}${shown}.${didYouMean(text.toLowerCase(), choices)}`
}

function describeProblems(problems: readonly string[]): ConfigurationError {
  const [first = ''] = problems
  if (problems.length === 1) return new ConfigurationError(first)
  return new ConfigurationError(`${problems.length} settings are wrong:\n  ${problems.join('\n  ')}`)
}

/** Rules that span settings. They look at the raw values, so that one wrong setting hides none. */
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
      `RECONCILE_QUIET must be at least ${RECONCILE_QUIET_DEFAULT} unless the service is on loopback: ` +
        'before that, a post that looks lost may still arrive and be paid for; ' +
        `it is "${given.RECONCILE_QUIET}".`,
    )
  }
  return problems
}

/** What the service gives people to try calls with cannot be followed from a task to its result. */
function noteDummies({ APP_DATA_URL: url = '' }: Given): string[] {
  return parseUrl(url)?.hostname === DUMMY_HOST
    ? [
        `APP_DATA_URL is ${DUMMY_HOST}, which answers with dummies: nothing is measured there. ` +
          'Use api.dataforseo.com.',
      ]
    : []
}

/** The password. A file that others can read is only noted: mounted secrets often are. */
function readPassword(given: Given): { value?: string; problems: string[]; notes: string[] } {
  const { APP_DATA_PASSWORD: value, APP_DATA_PASSWORD_FILE: file } = given
  if (given.APP_DATA_URL === undefined) {
    const idle = ['APP_DATA_LOGIN', 'APP_DATA_PASSWORD', 'APP_DATA_PASSWORD_FILE', 'APP_DATA_STORES'].filter(
      (name) => given[name] !== undefined,
    )
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
    return { problems: [`APP_DATA_PASSWORD_FILE cannot be read: ${whyNot(error)}.`], notes: [] }
  }
}

function readService(values: SettingValues['service'], password: string | undefined): Account | null {
  const { url, login, stores } = values
  if (url === null || login === null || password === undefined) return null
  return { url, login, password: new Secret(password), stores }
}

/** Channels name variables that begin so, which only the operator sets: no row reads another one. */
function collectAlertSecrets(env: NodeJS.ProcessEnv): ReadonlyMap<string, Secret> {
  const secrets = new Map<string, Secret>()
  for (const [name, value = ''] of Object.entries(env))
    if (/^ALERT_[A-Z0-9_]+$/.test(name) && value.trim() !== '') secrets.set(name, new Secret(value.trim()))
  return secrets
}

/** Freezes plain objects and lists: a Secret cannot be changed, and a Map not be frozen. */
function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value))
    if (part !== null && (Array.isArray(part) || Object.getPrototypeOf(part) === Object.prototype))
      deepFreeze(part)
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
