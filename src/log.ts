/**
 * The log: JSON lines in a pipe, readable lines on a terminal, always on stderr. Messages are static, data
 * stands in fields, and no password, authorization or secret of a URL is ever written, wherever in a record
 * it stands.
 */
import { createRequire } from 'node:module'
import { type Logger, pino, stdTimeFunctions } from 'pino'
import { redactSecrets, toPrintable } from './printable.ts'

export type { Logger } from 'pino'
export { redactSecrets, toPrintable } from './printable.ts'

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/**
 * Makes a logger that writes through `stderr.write`, synchronously and line by line: nothing is lost when the
 * process exits, and a progress line that hooks the stream keeps itself below the log.
 */
export function createLogger(options: {
  level: (typeof LOG_LEVELS)[number]
  /** Readable lines instead of JSON: for a terminal. */
  pretty: boolean
  stderr?: NodeJS.WritableStream & { hasColors?(): boolean }
}): Logger {
  const { level, pretty, stderr = process.stderr } = options
  let prettify: Prettify | null = null
  const write = (line: string) => {
    if (!pretty) return stderr.write(line)
    prettify ??= createPrettify(stderr.hasColors?.() ?? false)
    return stderr.write(prettify(JSON.parse(line, printableValue)))
  }
  return pino(
    {
      level,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: redactSecrets },
    },
    { write },
  )
}

type Prettify = (record: unknown) => string

/** Loaded with the first line: most commands write none. At once, so that the last lines are not lost. */
function createPrettify(colorize: boolean): Prettify {
  const { prettyFactory }: typeof import('pino-pretty') = createRequire(import.meta.url)('pino-pretty')
  return prettyFactory({ colorize, ignore: 'pid,hostname', singleLine: true, translateTime: 'SYS:HH:MM:ss' })
}

function printableValue(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? toPrintable(value) : value
}
