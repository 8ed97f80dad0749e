/**
 * How far a run is: one living line on a terminal, log lines at a bounded rate in a pipe. Log lines that are
 * written meanwhile appear above the living line, because it hooks the stream that the log writes to.
 */
import ora from 'ora'
import { type Logger, toPrintable } from '../log.ts'
import type { CommandContext } from './command.ts'
import type { Output } from './document.ts'

/** In a pipe, at most one line of progress in this time for each phase. */
const LOG_INTERVAL_MS = 10_000

export type Progress = ReturnType<typeof createProgress>

/**
 * A phase ends with `done` or `fail`, whose text stays, or with the next one, when what it was given is said
 * of it; `stop`, of a `finally`, gives the terminal back.
 * @param nowMs a clock that only goes forward
 */
export function createProgress(
  { stderr, isTerminal, log }: Pick<CommandContext, 'stderr' | 'isTerminal' | 'log'>,
  nowMs = () => performance.now(),
) {
  // Where the width is 0, as on a pseudo-terminal without a size, ora would move the cursor up for ever.
  const isShown = isTerminal && (stderr.columns ?? 0) > 0
  const display = isShown ? showOnTerminal(stderr) : writeToLog(log, nowMs)
  let said: string | null = null
  const end = (how: 'done' | 'fail') => (text: string) => {
    said = null
    display[how](text)
  }
  const progress = {
    ...display,
    done: end('done'),
    fail: end('fail'),
    finish: () => {
      if (said !== null) progress.done(said)
    },
    phase: (name: string, done: string | null = null) => {
      progress.finish()
      said = done
      display.phase(name)
    },
  }
  return progress
}

function showOnTerminal(stderr: Output) {
  // With stdin discarded the terminal would be in raw mode, and Ctrl-C no signal any more.
  const spinner = ora({ stream: stderr, discardStdin: false })
  let phase = ''
  return {
    phase: (name: string) => {
      phase = name
      spinner.start(toPrintable(name))
    },
    /** How far it is: `text` for a person, the fields for the log. */
    update: (text: string, _fields: Readonly<Record<string, number | string>>) => {
      spinner.text = toPrintable(`${phase}: ${text}`)
    },
    done: (text: string): void => void spinner.succeed(toPrintable(text)),
    fail: (text: string): void => void spinner.fail(toPrintable(text)),
    stop: (): void => void spinner.stop(),
  }
}

function writeToLog(log: Logger, nowMs: () => number): ReturnType<typeof showOnTerminal> {
  let phase = ''
  let loggedAtMs = Number.NEGATIVE_INFINITY
  return {
    phase: (name) => {
      phase = name
      loggedAtMs = Number.NEGATIVE_INFINITY
      log.info({ phase }, 'phase started')
    },
    update: (_text, fields) => {
      if (nowMs() - loggedAtMs < LOG_INTERVAL_MS) return
      loggedAtMs = nowMs()
      log.info({ phase, ...fields }, 'progress')
    },
    done: (text) => log.info({ phase, result: text }, 'phase done'),
    fail: (text) => log.error({ phase, result: text }, 'phase failed'),
    stop: () => {},
  }
}
