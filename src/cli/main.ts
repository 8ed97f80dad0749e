/**
 * The command line: it runs a command, prints what that returns, and sees to exit codes and signals. Commands
 * are found by their files in commands/.
 *
 * Exit codes: those of `EXIT`, and 128 + the signal's number when a signal ended the command.
 */
import { registerHooks } from 'node:module'
import { constants } from 'node:os'
import { CommanderError } from 'commander'
import type { Config } from '../config.ts'
import type { Logger } from '../log.ts'
import type { Command, CommandContext, Outcome } from './command.ts'
import type { Output } from './document.ts'
import { EXIT, exitCodeOf } from './exit-codes.ts'
import { isJournal, withPriorities } from './journal.ts'
import { listModules, loadModule } from './modules.ts'
import { buildProgram } from './program.ts'

/** The outside of the command line; tests put their own in. */
export interface Host {
  readonly stdout: Output
  readonly stderr: Output
  readonly signals: Pick<NodeJS.EventEmitter, 'on' | 'off'>
  /** Ends the process at once. */
  exit(code: number): void
  nowMs(): number
  readonly env?: NodeJS.ProcessEnv
  /** Instead of the command's own `run`. */
  run?(command: Command, options: object, context: CommandContext): Promise<Outcome>
}

const COMMANDS = new URL('commands/', import.meta.url)

/** Every command, or those of the names. */
export function loadCommands(names: readonly string[] = listModules(COMMANDS)): Promise<Command[]> {
  return Promise.all(names.map(async (name) => (await loadModule(COMMANDS, name)) as Command))
}

/** A Ctrl-C under `npm run` may arrive twice, from terminal and npm; within this time both count as one. */
const SAME_SIGNAL_MS = 500

/** Runs the command line of this process and ends it. */
export async function main(): Promise<void> {
  loadQuickly()
  const { stdout } = process
  for (const stream of [stdout, process.stderr]) stream.on('error', ignoreBrokenPipe)
  const nowMs = () => performance.now()
  const { readSupervisor } = await import('../config.ts')
  const stderr = isJournal(readSupervisor()) ? withPriorities(process.stderr) : process.stderr
  const host: Host = { stdout, stderr, signals: process, exit: leave, nowMs }
  const exitCode = await runCommandLine(process.argv.slice(2), host)
  // What is still in the pipes is written before the exit; sockets that a library leaves open do not delay
  // it.
  for (const stream of [stdout, process.stderr])
    await new Promise<void>((done) => stream.write('', () => done()))
  leave(exitCode)
}

/**
 * Ends the process. Node waits for its threads first, and one that asks a name server or a disk which does
 * not answer has a quarter of a minute and more: then another program takes the process over, and ends it.
 */
function leave(code: number): never {
  const isWaiting = process.getActiveResourcesInfo().some((name) => /^(GetAddrInfo|FSReq)/.test(name))
  if (isWaiting && process.platform !== 'win32')
    process.execve?.(process.execPath, ['node', '--eval', `process.exit(${code})`], {})
  process.exit(code)
}

/**
 * Drizzle and zod in their CommonJS form. Node 24 reads Drizzle's package.json of 180 KB again for each of
 * its ES modules: 0.6 s of every command, against 0.1 s. Of zod, which every command loads for its settings,
 * it saves 40 ms; and its messages in sixty languages, of which none is shown, are as much again.
 */
function loadQuickly(): void {
  registerHooks({
    resolve: (specifier, context, next) => {
      if (specifier === '../locales/index.cjs' && context.parentURL?.includes('/node_modules/zod/'))
        return next('../locales/en.cjs', context)
      return /^(drizzle-orm|zod)(\/|$)/.test(specifier)
        ? next(specifier, { ...context, conditions: ['node', 'require'] })
        : next(specifier, context)
    },
  })
}

/** Runs one command line and reports what went wrong on stderr. Returns the exit code and never throws. */
export async function runCommandLine(args: readonly string[], host: Host): Promise<number> {
  const state: Invocation = { exitCode: 0 }
  try {
    if (/^(-V|--version)$/.test(args[0] ?? '')) return await printVersion(host)
    const named = listModules(COMMANDS).filter((name) => args.includes(name))
    const commands = await loadCommands(named.length === 0 ? undefined : named)
    const program = buildProgram(commands, host, (command, options) => {
      state.settingsFile = program.opts<{ settings?: string }>().settings
      return invoke(command, options, host, state)
    })
    await program.parseAsync(args, { from: 'user' })
    return state.exitCode
  } catch (error) {
    // Commander has printed its own message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.misused
    const { logLevel, stop } = state
    if (stop?.exitCode !== undefined && error instanceof Error && error.name === 'AbortError')
      return stop.exitCode
    const { redactSecrets, toPrintable } = await import('../log.ts')
    const { describeTrouble } = await import('../trouble.ts')
    const { describeFailure } = await import('./failure.ts')
    const failure = describeTrouble(error) ?? error
    const message = describeFailure(failure, logLevel === 'debug' || logLevel === 'trace')
    host.stderr.write(`${toPrintable(redactSecrets(message))}\n`)
    return exitCodeOf(failure)
  }
}

/** The version, and what tells two schemas apart: a database says in drizzle.objects which one it has. */
async function printVersion({ stdout }: Host): Promise<number> {
  const { describeSchema } = await import('../db/migrate.ts')
  stdout.write(`${describeSchema()}\n`)
  return 0
}

/** What is known of the running command, also after it has thrown. */
interface Invocation {
  exitCode: number
  /** As `--settings` names it. */
  settingsFile?: string | undefined
  logLevel?: Config['logLevel']
  stop?: Stop
}

interface Stop {
  readonly signal: AbortSignal
  /** 128 + the number of the signal that came, if one came. */
  exitCode?: number
  release(): void
}

async function invoke(command: Command, options: object, host: Host, state: Invocation): Promise<void> {
  const { readConfig } = await import('../config.ts')
  const { createLogger } = await import('../log.ts')
  const config = readConfig(host.env, state.settingsFile)
  state.logLevel = config.logLevel
  const { stdout, stderr } = host
  const isTerminal = stderr.isTTY ?? false
  const log = createLogger({ level: config.logLevel, pretty: isTerminal, stderr })
  for (const note of config.notes) {
    if (isTerminal) stderr.write(`${note}\n`)
    else log.warn({ note }, 'please check a setting')
  }
  const stop = listenForStop(host, log)
  state.stop = stop
  const context = { config, log, stdout, stderr, isTerminal, signal: stop.signal }
  try {
    const outcome = await (host.run?.(command, options, context) ?? command.run(options, context))
    state.exitCode = await printOutcome(outcome, options, context)
  } finally {
    stop.release()
  }
}

/** @returns the exit code */
async function printOutcome(
  outcome: Outcome,
  options: { json?: boolean; csv?: boolean; expanded?: boolean },
  context: CommandContext,
): Promise<number> {
  if (typeof outcome === 'number') return outcome
  const { print } = await import('./print.ts')
  const { warn } = await import('./tell.ts')
  const { stdout, config } = context
  const format = (['json', 'csv', 'expanded'] as const).find((each) => options[each]) ?? 'text'
  await print(outcome, format, { stdout, pager: config.pager })
  for (const sentence of outcome.warnings ?? []) warn(context, sentence)
  return outcome.exitCode ?? EXIT.done
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

/** The reader of stdout may stop early (`storerank sql … | head`), which does not end the command. */
function ignoreBrokenPipe(error: NodeJS.ErrnoException) {
  if (error.code !== 'EPIPE') throw error
}
