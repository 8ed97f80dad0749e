/**
 * The log: JSON lines in a pipe, readable lines on a terminal, always on stderr. Messages are static, data stands in
 * fields, and no password, authorization or secret of a URL is ever written, wherever in a record it stands.
 */
import { type Logger, pino, stdTimeFunctions } from 'pino'
import { prettyFactory } from 'pino-pretty'
import type { Config } from './config.ts'

export type { Logger } from 'pino'

/**
 * Applied to the finished line, so that they also reach nested fields, child loggers and the stacks of errors. Each pattern
 * begins at a sign that what follows it cannot hold, so that no text is read from two beginnings: the time is linear.
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
 * Makes a logger that writes through `stderr.write`, synchronously and line by line: nothing is lost when the process
 * exits, and a progress line that hooks the stream keeps itself below the log.
 */
export function createLogger(options: {
  level: Config['logLevel']
  /** Readable lines instead of JSON: for a terminal. */
  pretty: boolean
  stderr?: NodeJS.WritableStream & { hasColors?(): boolean }
}): Logger {
  const { level, pretty, stderr = process.stderr } = options
  const prettify = prettyFactory({
    colorize: stderr.hasColors?.() ?? false,
    ignore: 'pid,hostname',
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss',
  })
  const write = (line: string) => stderr.write(pretty ? prettify(JSON.parse(line, printableValue)) : line)
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

/**
 * Text from outside (titles, messages of the service) as it may be shown on a terminal: control characters and with
 * them every escape sequence become visible signs, marks that turn the direction of writing go. Line breaks and tabs
 * stay.
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
