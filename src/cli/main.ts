/**
 * The command line: commands, options, help, exit codes and signals. It loads a command's module only when that
 * command runs, so that help and usage errors cost nothing; what a command does stands in its own file.
 *
 * Exit codes: 0 done, 1 failed, 2 usage or configuration, 75 another runner has it (the command returns it), and
 * 128 + the signal's number when a signal ended the command.
 */
import { registerHooks } from 'node:module'
import { constants } from 'node:os'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import type { ListenAddress } from '../collect/receiver.ts'
import type { Config } from '../config.ts'
import { ConfigurationError, StorerankError } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { Store } from '../service/functions.ts'
import { didYouMean } from '../suggest.ts'
import { API_ENDPOINTS, type ApiEndpoint } from './api-endpoints.ts'
import {
  type CommandModules,
  type CommandName,
  type CommandOptions,
  type Host,
  JOB_NAMES,
  type JobName,
} from './command.ts'
import { parseListenAddress } from './listen-address.ts'

const COMMANDS: CommandModules = {
  start: () => import('./start.ts'),
  run: () => import('./run.ts'),
  plan: () => import('./plan.ts'),
  status: () => import('./status.ts'),
  import: () => import('./import.ts'),
  sql: () => import('./sql.ts'),
  sandbox: () => import('./sandbox.ts'),
  migrate: () => import('./migrate.ts'),
  api: () => import('./api.ts'),
}

const FAILED = 1
const MISUSED = 2
/** One Ctrl-C under `npm run` arrives twice, from the terminal and from npm, where the shell is bash; within this time both count as one. */
const SAME_SIGNAL_MS = 500

/** Runs the command line of this process and ends it. */
export async function main(): Promise<void> {
  loadDrizzleQuickly()
  const { stdout, stderr } = process
  for (const stream of [stdout, stderr]) stream.on('error', ignoreBrokenPipe)
  const exit = (code: number) => process.exit(code)
  const nowMs = () => performance.now()
  const host: Host = { modules: COMMANDS, stdout, stderr, signals: process, exit, nowMs }
  const exitCode = await runCommandLine(process.argv.slice(2), host)
  // What is still in the pipes is written before the exit; sockets that a library leaves open do not delay it.
  for (const stream of [stdout, stderr]) await new Promise<void>((done) => stream.write('', () => done()))
  process.exit(exitCode)
}

/**
 * Drizzle in its CommonJS form. Node 24 reads its package.json of 180 KB again for each of its ES modules: 0.6 s of every
 * command, against 0.1 s.
 */
function loadDrizzleQuickly(): void {
  registerHooks({
    resolve: (specifier, context, next) =>
      /^drizzle-orm(\/|$)/.test(specifier)
        ? next(specifier, { ...context, conditions: ['node', 'require'] })
        : next(specifier, context),
  })
}

/** Runs one command line and reports what went wrong on stderr. Returns the exit code and never throws. */
export async function runCommandLine(args: readonly string[], host: Host): Promise<number> {
  const state: Invocation = { exitCode: 0 }
  try {
    await buildProgram(host, state).parseAsync(args, { from: 'user' })
    return state.exitCode
  } catch (error) {
    // Commander has printed its own message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : MISUSED
    const { redactSecrets, toPrintable } = await import('../log.ts')
    const { describeDatabaseTrouble } = await import('./database-trouble.ts')
    const { exitCode, message } = describeFailure(describeDatabaseTrouble(error) ?? error, state)
    if (message !== '') host.stderr.write(`${toPrintable(redactSecrets(message))}\n`)
    return exitCode
  }
}

/** What is known of the running command, also after it has thrown. */
interface Invocation {
  exitCode: number
  logLevel?: Config['logLevel']
  stop?: Stop
}

interface Stop {
  readonly signal: AbortSignal
  /** 128 + the number of the signal that came, if one came. */
  exitCode?: number
  release(): void
}

/** What a person does about an error that only says what the service said. */
const ADVICE: Readonly<Record<string, string>> = {
  account: ' Check APP_DATA_LOGIN and APP_DATA_PASSWORD.',
  account_money: ' Check the balance and the cost limits of the account.',
}

function describeFailure(
  error: unknown,
  { logLevel, stop }: Invocation,
): { exitCode: number; message: string } {
  if (stop?.exitCode !== undefined && error instanceof Error && error.name === 'AbortError') {
    return { exitCode: stop.exitCode, message: '' }
  }
  const isDebug = logLevel === 'debug' || logLevel === 'trace'
  const exitCode = error instanceof ConfigurationError ? MISUSED : FAILED
  if (error instanceof StorerankError) {
    const message = isDebug ? (error.stack ?? error.message) : error.message
    return { exitCode, message: message + (ADVICE[error.code] ?? '') }
  }
  const advice = isDebug && error instanceof Error ? error.stack : 'LOG_LEVEL=debug shows where.'
  return {
    exitCode,
    message: `storerank failed and did not expect to: ${String(error)}\nPlease report this to its maintainers with the command you ran. ${advice}`,
  }
}

async function invoke<Name extends CommandName>(
  name: Name,
  options: CommandOptions[Name],
  host: Host,
  state: Invocation,
): Promise<void> {
  const { readConfig } = await import('../config.ts')
  const { createLogger } = await import('../log.ts')
  const config = readConfig(host.env)
  state.logLevel = config.logLevel
  const { stdout, stderr } = host
  const isTerminal = stderr.isTTY ?? false
  const log = createLogger({ level: config.logLevel, pretty: isTerminal, stderr })
  for (const note of config.notes) log.warn({ note }, 'please check a setting')
  const stop = listenForStop(host, log)
  state.stop = stop
  try {
    const command = await host.modules[name]()
    state.exitCode = await command.run(options, {
      config,
      log,
      stdout,
      stderr,
      isTerminal,
      signal: stop.signal,
    })
  } finally {
    stop.release()
  }
}

/** The first signal asks the command to stop in order, the next one ends the process. */
function listenForStop(host: Host, log: Logger): Stop {
  const controller = new AbortController()
  let firstAtMs = 0
  const onSignal = (name: 'SIGINT' | 'SIGTERM') => {
    if (stop.exitCode === undefined) {
      stop.exitCode = 128 + constants.signals[name]
      firstAtMs = host.nowMs()
      log.warn({ signal: name }, 'stopping in order; once more stops at once')
      controller.abort()
    } else if (host.nowMs() - firstAtMs > SAME_SIGNAL_MS) {
      host.exit(128 + constants.signals[name])
    }
  }
  const stop: Stop = {
    signal: controller.signal,
    release: () => {
      host.signals.off('SIGINT', onSignal)
      host.signals.off('SIGTERM', onSignal)
    },
  }
  host.signals.on('SIGINT', onSignal)
  host.signals.on('SIGTERM', onSignal)
  return stop
}

function buildProgram(host: Host, state: Invocation): Command {
  const program = new Command('storerank')
    .description('Keyword ranks of mobile apps, measured on a schedule and kept in Postgres.')
    .version(packageJson.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => host.stdout.write(text),
      writeErr: (text) => host.stderr.write(text),
      getOutHelpWidth: () => host.stdout.columns || 80,
      getErrHelpWidth: () => host.stderr.columns || 80,
    })
    .showHelpAfterError('(--help shows what there is.)')
  addExample(program, 'storerank run')
  program.addHelpText(
    'after',
    '\nExit codes: 0 done, 1 failed, 2 usage or configuration, 75 another runner has it.\n' +
      'Settings come from the environment; README.md lists them.',
  )
  addRunners(program, host, state)
  addReports(program, host, state)
  addServers(program, host, state)
  return program
}

function addRunners(program: Command, host: Host, state: Invocation) {
  const start = program
    .command('start')
    .description('wake the jobs on their schedules until SIGTERM or Ctrl-C, then stop in order')
    .option(
      '--listen <[host:]port>',
      'take results that the service delivers to POSTBACK_URL; on loopback without a host',
      parseListen,
    )
    .action((options: CommandOptions['start']) => invoke('start', options, host, state))
  addExample(start, 'DATABASE_URL=postgres://me:secret@localhost/ranks storerank start')

  const run = program
    .command('run')
    .description('run the named jobs once, or the whole cycle until nothing is outstanding')
    .argument('[job...]', `any of ${JOB_NAMES.join(', ')}`, collectJobs)
    .option('--wait <duration>', 'longest wait for what is outstanding, such as 90s or 45m')
    .action(async (jobs: readonly JobName[] = [], { wait }: { wait?: string }) =>
      invoke('run', wait === undefined ? { jobs } : { jobs, waitMs: await parseWait(wait) }, host, state),
    )
  addExample(run, 'storerank run track collect --wait 45m')
}

function addReports(program: Command, host: Host, state: Invocation) {
  const plan = program
    .command('plan')
    .description('show what is due, what it would cost and what the budget would cut; posts nothing')
    .option('--json', 'print JSON instead of a table', false)
    .action((options: { json: boolean }) => invoke('plan', options, host, state))
  addExample(plan, 'storerank plan --json')

  const status = program
    .command('status')
    .description('show the last runs, the backlog, the budgets, the problems and the next ticks')
    .option('--json', 'print JSON instead of tables', false)
    .action((options: { json: boolean }) => invoke('status', options, host, state))
  addExample(status, 'storerank status')

  const importing = program
    .command('import')
    .description('bring watches in from a CSV file: adds and changes what it names, deletes nothing')
    .argument(
      '<file>',
      'CSV whose first line names columns of keyword_watch, app_watch or chart_watch; - is stdin',
    )
    .option('--trial', 'say what would happen, and change nothing', false)
    .action((file: string, { trial }: { trial: boolean }) =>
      invoke('import', { file, isTrial: trial }, host, state),
    )
  addExample(importing, 'storerank import keywords.csv --trial')

  const sql = program
    .command('sql')
    .description('run SQL on the database and print what it returns')
    .argument('<query>', 'one SQL statement')
    .option('--json', 'print JSON instead of a table')
    .addOption(new Option('--csv', 'print CSV instead of a table').conflicts('json'))
    .action((query: string, { json, csv }: { json?: true; csv?: true }) =>
      invoke('sql', { query, format: json ? 'json' : csv ? 'csv' : 'table' }, host, state),
    )
  addExample(sql, 'storerank sql "select outcome, count(*) from rank_history group by 1" --csv')
}

function addServers(program: Command, host: Host, state: Invocation) {
  const sandbox = program
    .command('sandbox')
    .description('serve the App Data Service on loopback with invented data, until SIGTERM or Ctrl-C')
    .option('--port <number>', 'port to listen on', wholeNumber(0, 65_535))
    .option('--login <login>', 'login of the account', 'sandbox')
    .option('--password <password>', 'password of the account', 'sandbox')
    .option('--ready-ms <number>', 'how long a task takes, in milliseconds', wholeNumber(0, 86_400_000))
    .option('--seed <number>', 'the same seed gives the same rankings', wholeNumber(0, 2 ** 31 - 1))
    .option('--state <file>', 'file that keeps the state across restarts (default: in memory only)')
    .option('--catalog <file>', 'CSV of real apps to rank beside the invented ones')
    .option('--faults <faults>', 'trouble by kind and rate: http500=0.05,slow=0.1, all=0.05, or JSON')
    .action((options: SandboxFlags) => invoke('sandbox', nameSandboxPaths(options), host, state))
  addExample(sandbox, 'storerank sandbox --port 8080 --ready-ms 500')

  const migrate = program
    .command('migrate')
    .description('apply the migrations to the database and exit')
    .action(() => invoke('migrate', {}, host, state))
  addExample(migrate, 'storerank migrate')

  const api = program
    .command('api')
    .description(
      'call one endpoint of the service by hand; what it posts is charged, and counts in no budget here',
    )
    .argument('<endpoint>', 'one of those below', parseEndpoint)
    .argument('[field=value...]', 'fields by their names in the specification, such as keyword=yoga')
    .addOption(
      new Option('--store <store>', 'where both stores have it').choices(['ios_store', 'android_store']),
    )
    .option('--json', 'print JSON instead of tables', false)
    .action((endpoint: ApiEndpoint, fields: readonly string[], flags: { store?: Store; json: boolean }) =>
      invoke('api', { endpoint, fields, ...flags }, host, state),
    )
  api.addHelpText('after', `\nEndpoints:\n  ${API_ENDPOINTS.join('\n  ')}`)
  addExample(
    api,
    'storerank api app_searches/task_post keyword=yoga location_code=2840 language_code=en --json',
  )
}

function parseEndpoint(name: string): ApiEndpoint {
  const endpoint = API_ENDPOINTS.find((known) => known === name)
  if (endpoint !== undefined) return endpoint
  throw new InvalidArgumentError(`There is no such endpoint.${didYouMean(name, API_ENDPOINTS)}`)
}

type SandboxFlags = Omit<CommandOptions['sandbox'], 'statePath' | 'catalogPath'> & {
  state?: string
  catalog?: string
}

function nameSandboxPaths({ state, catalog, ...options }: SandboxFlags): CommandOptions['sandbox'] {
  return {
    ...options,
    ...(state === undefined ? {} : { statePath: state }),
    ...(catalog === undefined ? {} : { catalogPath: catalog }),
  }
}

function addExample(command: Command, example: string) {
  command.addHelpText('after', `\nExample:\n  $ ${example}`)
}

function collectJobs(name: string, before: readonly JobName[] = []): readonly JobName[] {
  const job = JOB_NAMES.find((known) => known === name)
  if (job === undefined) {
    throw new InvalidArgumentError(
      `There is no such job.${didYouMean(name, JOB_NAMES)} Jobs: ${JOB_NAMES.join(', ')}.`,
    )
  }
  return [...before, job]
}

function parseListen(text: string): ListenAddress {
  const address = parseListenAddress(text)
  if (address !== null) return address
  throw new InvalidArgumentError('It must be a port such as 8070, or host and port such as 0.0.0.0:8070.')
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}

/** Durations belong to the settings, whose module is loaded only when a command runs. */
async function parseWait(text: string): Promise<number> {
  const { parseDuration } = await import('../config.ts')
  const waitMs = parseDuration(text)
  if (waitMs === null)
    throw new ConfigurationError(
      `--wait must be a duration such as 90s, 20m or 2h; it is ${JSON.stringify(text)}.`,
    )
  return waitMs
}

/** Whoever reads stdout may stop early (`storerank sql … | head`); the command goes on and keeps its exit code. */
function ignoreBrokenPipe(error: NodeJS.ErrnoException) {
  if (error.code !== 'EPIPE') throw error
}
