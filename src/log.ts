/**
 * The log: JSON lines in a pipe, readable lines on a terminal, always on stderr. Messages are static, data
 * stands in fields, and no password, authorization or secret of a URL is ever written, wherever in a record
 * it stands.
 */
import { createRequire } from 'node:module'
import { type Logger, pino, stdTimeFunctions } from 'pino'

export type { Logger } from 'pino'

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/**
 * Applied to the finished line, so that they also reach nested fields, child loggers and the stacks of
 * errors. Each pattern begins at a sign that what follows it cannot hold, so that no text is read from two
 * beginnings: the time is linear.
 */
const REDACTIONS: readonly (readonly [RegExp, string])[] = [
  [/("(?:\w*password|authorization|secret)":)(?:"[^"\\]*(?:\\.[^"\\]*)*"|-?[\d.]+)/gi, '$1"[secret]"'],
  [/(:\/\/)[^\s"/?#@:]*:[^\s"/?#]*@/g, '$1[secret]@'],
  [/("(?:Basic|Bearer) )[^"\s]+(?=")/gi, '$1[secret]'],
  // A webhook's address, wherever the service repeats it.
  [/\/[\w-]{24,}(?=\?id=)/g, '/[secret]'],
  [/(\bauthorization: ?(?:Basic|Bearer) )[^"\s]+/gi, '$1[secret]'],
]

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

/**
 * Text from outside (titles, messages of the service) as it may be shown on a terminal: control characters
 * and with them every escape sequence become visible signs, marks that turn the direction of writing go. Line
 * breaks and tabs stay.
 */
export function toPrintable(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about
      .replace(/[\u0000-\u0008\u000b-\u001f]/g, (control) =>
        String.fromCodePoint(0x2400 + control.charCodeAt(0)),
      )
      .replace(/[\u007f-\u009f]/g, '\ufffd')
      .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
  )
}

/** A log line, or a sentence for a person, without the secrets that may have slipped into it. */
export function redactSecrets(line: string): string {
  return REDACTIONS.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), line)
}

function printableValue(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? toPrintable(value) : value
}
