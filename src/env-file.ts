/**
 * Settings from a file, `.env` of the working folder unless another is named. What the environment says comes
 * first. Each line is understood or refused by its number: a line that was passed over would leave its
 * setting at the default, such as a larger budget.
 */
import { readFileSync, statSync } from 'node:fs'
import { ConfigurationError } from './errors.ts'
import { ALL_SETTINGS } from './settings.ts'
import { whyNot } from './trouble.ts'

export interface Environment {
  readonly env: NodeJS.ProcessEnv
  /** The names that the file sets; empty without one. */
  readonly names: readonly string[]
  /** The file as a person named it. */
  readonly file: string
  /** Sentences for the log. */
  readonly notes: readonly string[]
}

const DEFAULT_FILE = '.env'
/** What others must not read. */
const SECRET_NAMES = ALL_SETTINGS.flatMap(({ name, secret }) => (secret === 'whole' ? [name] : []))
const URL_WITH_PASSWORD = /^\w+:\/\/[^/\s]*:[^/\s]+@/

/**
 * @param named as a person named it; undefined: `.env`, where there is one
 * @throws ConfigurationError when a named file cannot be read or is empty, and with each line that is not
 *   understood
 */
export function readEnvFile(named: string | undefined, env: NodeJS.ProcessEnv): Environment {
  const file = named ?? DEFAULT_FILE
  const outside = unquoteAll(env)
  const text = readText(file, named === undefined)
  if (text === null) return { env: outside, names: [], file, notes: [] }
  if (named !== undefined && text.trim() === '')
    throw new ConfigurationError(`${file} is empty: it sets nothing.`)
  const given = parseSettings(text, file)
  const notes: string[] = []
  if (given.size === 0) notes.push(`${file} sets nothing: each of its lines is empty or a comment.`)
  // The folder may be somebody else's, and what it names would be run.
  if (given.delete('PAGER')) notes.push(`PAGER in ${file} is not run: it counts in the environment alone.`)
  if ([...given].some(isSecret) && isOpenToAll(file)) {
    notes.push(
      `${file} has a password in it and can be read by every user of this machine: chmod 600 "${file}".`,
    )
  }
  const set = Object.entries(outside).filter(([, value]) => value !== '')
  return { env: Object.fromEntries([...given, ...set]), names: [...given.keys()], file, notes }
}

/** Programs that take a file of settings as docker does leave the quotes around a value of it. */
function unquoteAll(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const unquote = (value = '') => /^'([^']*)'$/s.exec(value)?.[1] ?? value
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, unquote(value)]))
}

export function isOpenToAll(file: string): boolean {
  return (statSync(file).mode & 0o004) !== 0
}

/** Without the byte order mark that editors of Windows begin a file with; null where there may be none. */
function readText(file: string, mayBeMissing: boolean): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file))
    if (!text.includes('\0')) return text
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (mayBeMissing && code === 'ENOENT') return null
    if (code !== 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw new ConfigurationError(`${file} cannot be read: ${whyNot(cause)}.`, { cause })
  }
  throw new ConfigurationError(`${file} is no text in UTF-8: save it as UTF-8, and name it again.`)
}

const LINE_BREAK = /\r\n|[\r\v\f\u0085\u2028\u2029]/g
/** A blank line or a comment; a setting, whose value in quotes may have several lines; or neither. */
const ENTRY = new RegExp(
  String.raw`^[^\S\n]*(?:(?:#.*)?|(?:export[^\S\n]+)?(?<setting>[A-Za-z_]\w*)[^\S\n]*=[^\S\n]*` +
    '(?:(?<quote>["\'`])(?<quoted>[^]*?)\\k<quote>(?<behind>.*)|(?<bare>.*))|(?<other>.+))$',
  'gm',
)

/**
 * Pure: the settings of a file. A value is bare, or stands in quotes, `"`, `'` or `` ` ``, between which it
 * may have several lines; `\n` is a line break in `"` alone. A comment begins with # at the beginning of a
 * line, or behind a space.
 * @param file for messages
 * @throws ConfigurationError with a sentence for each line that is not understood. No value stands in it,
 *   because it may be a password.
 */
export function parseSettings(text: string, file: string): Map<string, string> {
  const lines = text.replace(LINE_BREAK, '\n')
  const found = new Map<string, { value: string; line: number }>()
  const problems: string[] = []
  for (const { index, groups = {} } of lines.matchAll(ENTRY)) {
    const { setting, other } = groups
    const line = lines.slice(0, index).split('\n').length
    const refuse = (problem: string) => problems.push(`${file}, line ${line}: ${problem}`)
    if (other !== undefined)
      refuse('it is neither NAME=value, such as MAX_USD_PER_DAY=0.5, nor a comment that begins with #.')
    if (setting === undefined) continue
    const { value, doubt } = readValue(groups)
    const before = found.get(setting)
    if (doubt !== null) refuse(`the value of ${setting} ${doubt}`)
    else if (before) refuse(`${setting} is set in line ${before.line} already: keep one of the two.`)
    found.set(setting, { value, line })
  }
  if (problems.length > 0) throw new ConfigurationError(problems.join('\n'))
  return new Map([...found].map(([setting, { value }]) => [setting, value]))
}

/** With what makes it doubtful where it ends: a # in a bare one is part of it to some programs. */
function readValue({ quote, quoted = '', behind = '', bare = '' }: Record<string, string | undefined>) {
  if (quote !== undefined) {
    const value = quote === '"' ? quoted.replaceAll('\\n', '\n') : quoted
    const isClosed = /^\s*(#.*)?$/.test(behind)
    return { value, doubt: isClosed ? null : `ends at the second ${quote}, and more stands behind it.` }
  }
  const value = bare.replace(/(^|\s)#.*$/, '').trim()
  const [opening] = /^["'`]/.exec(bare) ?? []
  if (opening !== undefined) return { value, doubt: `begins with ${opening} and does not end with one.` }
  const hasSign = value.includes('#')
  return { value, doubt: hasSign ? 'has a # in it: put it in quotes, or a space before its comment.' : null }
}

function isSecret([name, value]: [string, string]): boolean {
  return (
    value !== '' && (SECRET_NAMES.includes(name) || /^ALERT_/.test(name) || URL_WITH_PASSWORD.test(value))
  )
}
