/**
 * The command line: it runs a command, prints what that returns, and sees to signals and exit codes: those of
 * `EXIT`, and 128 + the signal's number when a signal ended the command.
 */
import { constants } from 'node:os'
import { CommanderError } from 'commander'
import { type Config, readConfig, readSupervisor } from '../config.ts'
import { createLogger, type Logger, redactSecrets } from '../log.ts'
import { describeTrouble } from '../trouble.ts'
import type { Command, CommandContext, Outcome } from './command.ts'
import type { Output } from './document.ts'
import { describeFailure, EXIT, exitCodeOf } from './failure.ts'
import { print } from './print.ts'
import { buildProgram, listCommands, loadCommands } from './program.ts'
import { isJournal, withPriorities } from './systemd.ts'
import { warn } from './tell.ts'

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

/** A Ctrl-C under `npm run` may arrive twice, from terminal and npm; within this time both count as one. */
const SAME_SIGNAL_MS = 500

/** Runs the command line of this process and ends it. */
export async function main(): Promise<void> {
  const { stdout } = process
  for (const stream of [stdout, process.stderr]) stream.on('error', ignoreBrokenPipe)
  const stderr = isJournal(readSupervisor()) ? withPriorities(process.stderr) : process.stderr
  const nowMs = () => performance.now()
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

/** Runs one command line and reports what went wrong on stderr. Returns the exit code and never throws. */
export async function runCommandLine(args: readonly string[], host: Host): Promise<number> {
  let exitCode: number = EXIT.done
  let isDebug = false
  const running: { stop?: ReturnType<typeof listenForStop> } = {}
  try {
    if (/^(-V|--version)$/.test(args[0] ?? '')) {
      // What tells two schemas apart: a database says in drizzle.objects which one it has.
      const { describeSchema } = await import('../db/migrate.ts')
      host.stdout.write(`${describeSchema()}\n`)
      return EXIT.done
    }
    const named = listCommands().filter((name) => args.includes(name))
    const commands = await loadCommands(named.length === 0 ? undefined : named)
    const program = buildProgram(commands, host, async (command, options) => {
      const config = readConfig(host.env, program.opts<{ settings?: string }>().settings)
      isDebug = config.logLevel === 'debug' || config.logLevel === 'trace'
      const log = openLog(config, host)
      running.stop = listenForStop(host, log)
      exitCode = await invoke(command, options, host, { config, log, signal: running.stop.signal })
    })
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    // Commander has printed its own message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.misused
    const stopped = running.stop?.exitCode
    if (stopped !== undefined && error instanceof Error && error.name === 'AbortError') return stopped
    const failure = describeTrouble(error) ?? error
    warn(host, redactSecrets(describeFailure(failure, isDebug)))
    return exitCodeOf(failure)
  } finally {
    running.stop?.release()
  }
}

function openLog({ logLevel: level, notes }: Config, { stderr }: Host): Logger {
  const log = createLogger({ level, pretty: stderr.isTTY ?? false, stderr })
  for (const note of notes) {
    if (stderr.isTTY) stderr.write(`${note}\n`)
    else log.warn({ note }, 'please check a setting')
  }
  return log
}

/** Runs a command and prints what it returns. @returns the exit code */
async function invoke(
  command: Command,
  options: { json?: boolean; csv?: boolean; expanded?: boolean },
  { stdout, stderr, run = (each, ...given) => each.run(...given) }: Host,
  given: Pick<CommandContext, 'config' | 'log' | 'signal'>,
): Promise<number> {
  const context = { ...given, stdout, stderr, isTerminal: stderr.isTTY ?? false }
  const outcome = await run(command, options, context)
  if (typeof outcome === 'number') return outcome
  const format = (['json', 'csv', 'expanded'] as const).find((each) => options[each]) ?? 'text'
  await print(outcome, format, { stdout, pager: given.config.pager })
  for (const sentence of outcome.warnings ?? []) warn(context, sentence)
  return outcome.exitCode ?? EXIT.done
}

/** The first signal asks the command to stop in order, the next one ends the process. */
function listenForStop(host: Host, log: Logger) {
  const controller = new AbortController()
  let firstAtMs = 0
  const onSignal = (name: 'SIGINT' | 'SIGTERM') => {
    const exitCode = 128 + constants.signals[name]
    if (stop.exitCode === undefined) {
      stop.exitCode = exitCode
      firstAtMs = host.nowMs()
      log.warn({ signal: name }, 'stopping in order; once more stops at once')
      controller.abort()
    } else if (host.nowMs() - firstAtMs > SAME_SIGNAL_MS) {
      host.exit(exitCode)
    }
  }
  const signals = ['SIGINT', 'SIGTERM'] as const
  const stop = {
    signal: controller.signal,
    /** 128 + the number of the signal that came. */
    exitCode: undefined as number | undefined,
    release: () => {
      for (const name of signals) host.signals.off(name, onSignal)
    },
  }
  for (const name of signals) host.signals.on(name, onSignal)
  return stop
}

/** The reader of stdout may stop early (`storerank sql … | head`), which does not end the command. */
function ignoreBrokenPipe(error: NodeJS.ErrnoException) {
  if (error.code !== 'EPIPE') throw error
}
