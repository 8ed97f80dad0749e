/** What a command is: its options, what it works with, and what it gives back. */
import type { Config } from '../config.ts'
import type { ListenAddress } from '../listen-address.ts'
import type { Logger } from '../log.ts'
import type { ForecastQuestion } from '../plan/forecast.ts'
import type { ExportFormat } from '../report/export/export.ts'
import type { Deviation } from '../sandbox/deviations.ts'
import type { Store } from '../service/functions.ts'
import type { KeywordToWatch } from '../watch/add.ts'
import type { ApiEndpoint } from './api-endpoints.ts'
import type { Output } from './print.ts'

/** The names that `storerank run` takes; `jobs/` holds one file for each. */
export const JOB_NAMES = [
  'references',
  'account',
  'status',
  'housekeeping',
  'track',
  'reconcile',
  'collect',
  'failures',
  'audit',
  'report',
  'alerts',
  'summary',
] as const
export type JobName = (typeof JOB_NAMES)[number]

export interface ApiOptions {
  readonly endpoint: ApiEndpoint
  /** `name=value`, named as in the specification. */
  readonly fields: readonly string[]
  /** Which project pays; app_listings/search/live alone. */
  readonly project?: string
  /** Default: android_store for charts and raw pages, which the specification has of no other store; else ios_store. */
  readonly store?: Store
  readonly json: boolean
}

/** What each command gets from its arguments and options. */
export interface CommandOptions {
  /** `listen`: takes the service's webhooks there. */
  start: { readonly listen?: ListenAddress }
  /** No job: the whole cycle. `waitMs` bounds the wait for what is outstanding. `metrics` is a file. */
  run: { readonly jobs: readonly JobName[]; readonly waitMs?: number; readonly metrics?: string }
  /** `apart`: other storeranks go on on the account. `installation`: the one that an empty database stands in for. */
  recover: { readonly apart: boolean; readonly installation?: string; readonly waitMs?: number }
  plan: { readonly json: boolean }
  /** The watches of `project` or with `tag`, as they are or with another interval, depth or priority. */
  forecast: ForecastQuestion & { readonly json: boolean }
  /** `check`: only what is wrong, and an exit code. */
  status: { readonly json: boolean; readonly check: boolean }
  /** A file may be `-`, which is stdin. `replace` is a project, `encoding` a name that TextDecoder knows. */
  import: {
    readonly files: readonly string[]
    readonly trial: boolean
    readonly replace?: string
    readonly encoding?: string
  }
  /** A keyword, or `fromApp`: the id of an app for which keywords are proposed. */
  watch: Omit<KeywordToWatch, 'keyword' | 'appIds'> & {
    readonly keyword?: string
    readonly apps: readonly string[]
    readonly fromApp?: string
    readonly format: 'table' | 'json' | 'csv'
  }
  sql: { readonly query: string; readonly format: 'table' | 'expanded' | 'json' | 'csv' }
  /** `what` is a view, SQL, or `watches`; `out` is a file, by whose name the format goes where none is given. */
  export: { readonly what: string; readonly format?: ExportFormat; readonly out?: string }
  /** `from` and `to` are days: `2026-03-01`. `html` and `logo` are files. */
  report: {
    readonly project?: string
    readonly tag?: string
    readonly from?: string
    readonly to?: string
    readonly json: boolean
    readonly html?: string
    readonly title?: string
    readonly logo?: string
  }
  /**
   * `trial`: what the rules would have told over `days`; `test`: the name of a channel to send a test to; `retry`: sends again what was
   * given up in the last `days`, of one channel or of all.
   */
  alerts: {
    readonly trial: boolean
    readonly days?: number
    readonly project?: string
    readonly json: boolean
    readonly test?: string
    readonly retry?: { readonly channel?: string; readonly days: number }
  }
  digest: { readonly project?: string; readonly days: number }
  /** `state`, `catalog` and `events` are files. */
  sandbox: {
    readonly login: string
    readonly password: string
    readonly port?: number
    readonly readyMs?: number
    readonly seed?: number
    readonly state?: string
    readonly catalog?: string
    readonly events?: string
    readonly faults?: string
    readonly asSold?: boolean
    readonly deviation?: readonly Deviation[]
  }
  /** `days` of the month; `folder` holds its database. */
  demo: {
    readonly folder?: string
    readonly seed?: number
    readonly days: number
    readonly asSold: boolean
  }
  migrate: { readonly distribute?: boolean }
  connect: { readonly print: boolean }
  dump: { readonly file: string }
  restore: { readonly file: string }
  /** `before` is a day, `to` a folder. */
  archive: { readonly before: string; readonly to: string; readonly drop: boolean }
  init: { readonly file: string }
  api: ApiOptions
}
export type CommandName = keyof CommandOptions

export interface CommandContext {
  readonly config: Config
  readonly log: Logger
  readonly stdout: Output
  readonly stderr: Output
  /** Whether stderr is a terminal: it gets progress and readable log lines there, JSON lines otherwise. */
  readonly isTerminal: boolean
  /** Aborted at the first SIGINT or SIGTERM: take no new work, finish or release what is in flight, return. */
  readonly signal: AbortSignal
}

/** Runs a command with its options. */
export type Invoke = <Name extends CommandName>(name: Name, options: CommandOptions[Name]) => Promise<void>

/** What a command file exports. The result is the exit code. */
interface CommandModule<Name extends CommandName> {
  run(options: CommandOptions[Name], context: CommandContext): Promise<number>
}
export type CommandModules = { readonly [Name in CommandName]: () => Promise<CommandModule<Name>> }

/** The outside of the command line; tests put their own in. */
export interface Host {
  readonly modules: CommandModules
  readonly stdout: Output
  readonly stderr: Output
  readonly signals: Pick<NodeJS.EventEmitter, 'on' | 'off'>
  /** Ends the process at once. */
  exit(code: number): void
  nowMs(): number
  readonly env?: NodeJS.ProcessEnv
}
