/**
 * How far a run is: one living line on a terminal, log lines at a bounded rate in a pipe. Log lines that are
 * written meanwhile appear above the living line, because it hooks the stream that the log writes to.
 */
import ora from 'ora'
import { type Logger, toPrintable } from '../log.ts'
import type { Output } from './document.ts'

/** In a pipe, at most one line of progress in this time for each phase. */
const LOG_INTERVAL_MS = 10_000

export interface Progress {
  /** Begins a phase; what the line of the phase before said is replaced unless `done` or `fail` kept it. */
  phase(name: string): void
  /** Says how far the phase is: `text` for a person, `fields` for the log. */
  update(text: string, fields: Readonly<Record<string, number | string>>): void
  /** Ends the phase well; `text` stays. */
  done(text: string): void
  /** Ends the phase badly; `text` stays. */
  fail(text: string): void
  /** Removes the living line and gives the terminal back: for the `finally` of its caller. */
  stop(): void
}

/** Makes the display; `nowMs` is a clock that only goes forward. */
export function createProgress(options: {
  stderr: Output
  isTerminal: boolean
  log: Logger
  nowMs?: () => number
}): Progress {
  const { stderr, isTerminal, log, nowMs = () => performance.now() } = options
  // Where the width is 0, as on a pseudo-terminal without a size, ora would move the cursor up for ever.
  return isTerminal && (stderr.columns ?? 0) > 0 ? showOnTerminal(stderr) : writeToLog(log, nowMs)
}

function showOnTerminal(stderr: Output): Progress {
  // With stdin discarded the terminal would be in raw mode, and Ctrl-C no signal any more.
  const spinner = ora({ stream: stderr, discardStdin: false })
  let phase = ''
  return {
    phase: (name) => {
      phase = name
      spinner.start(toPrintable(name))
    },
    update: (text) => {
      spinner.text = toPrintable(`${phase}: ${text}`)
    },
    done: (text) => spinner.succeed(toPrintable(text)),
    fail: (text) => spinner.fail(toPrintable(text)),
    stop: () => spinner.stop(),
  }
}

function writeToLog(log: Logger, nowMs: () => number): Progress {
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
