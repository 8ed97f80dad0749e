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
 * @param file as a person named it; undefined: `.env`, where there is one
 * @throws ConfigurationError when a named file cannot be read or is empty, and with each line that is not
 *   understood
 */
export function readEnvFile(file: string | undefined, env: NodeJS.ProcessEnv): Environment {
  const name = file ?? DEFAULT_FILE
  const bytes = readBytes(file)
  if (bytes === null) return { env: unquoteAll(env), names: [], file: name, notes: [] }
  const text = decode(bytes, name)
  if (file !== undefined && text.trim() === '')
    throw new ConfigurationError(`${name} is empty: it sets nothing.`)
  const given = parseSettings(text, name)
  const set = Object.entries(unquoteAll(env)).filter(([, value]) => value !== undefined && value !== '')
  const notes: string[] = []
  if (given.size === 0) notes.push(`${name} sets nothing: each of its lines is empty or a comment.`)
  // The folder may be somebody else's, and what it names would be run.
  if (given.delete('PAGER')) notes.push(`PAGER in ${name} is not run: it counts in the environment alone.`)
  if ((statSync(name).mode & 0o004) !== 0 && [...given].some(isSecret)) {
    notes.push(
      `${name} has a password in it and can be read by every user of this machine: chmod 600 "${name}".`,
    )
  }
  return {
    env: { ...Object.fromEntries(given), ...Object.fromEntries(set) },
    names: [...given.keys()],
    file: name,
    notes,
  }
}

/** Programs that take a file of settings as docker does leave the quotes around a value of it. */
function unquoteAll(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const unquote = (value = '') => /^'([^']*)'$/s.exec(value)?.[1] ?? value
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, unquote(value)]))
}

function readBytes(file: string | undefined): Buffer | null {
  try {
    return readFileSync(file ?? DEFAULT_FILE)
  } catch (error) {
    if (file === undefined && (error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new ConfigurationError(`${file ?? DEFAULT_FILE} cannot be read: ${whyNot(error)}.`, {
      cause: error,
    })
  }
}

/** Without the byte order mark that editors of Windows begin a file with. */
function decode(bytes: Buffer, name: string): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (!text.includes('\0')) return text
  } catch {
    // Refused below: the decoder does not say more.
  }
  throw new ConfigurationError(`${name} is no text in UTF-8: save it as UTF-8, and name it again.`)
}

const ASSIGNMENT = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=[^\S\n]*/
const BLANK_OR_COMMENT = /^\s*(#.*)?$/
/** What may stand behind a value that is closed. */
const REST = /^[^\S\n]*(#.*)?$/

/**
 * Pure: the settings of a file. A value is bare, or stands in quotes, `"`, `'` or `` ` ``, between which it
 * may have several lines; `\n` is a line break in `"` alone. A comment begins with # at the beginning of a
 * line, or behind a space.
 * @param name the file, for messages
 * @throws ConfigurationError with a sentence for each line that is not understood. No value stands in it,
 *   because it may be a password.
 */
export function parseSettings(text: string, name: string): Map<string, string> {
  const lines = text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)
  const found = new Map<string, { value: string; line: number }>()
  const problems: string[] = []
  for (let index = 0; index < lines.length; index += 1) {
    const line = index + 1
    const refuse = (problem: string) => problems.push(`${name}, line ${line}: ${problem}`)
    const content = lines[index] ?? ''
    if (BLANK_OR_COMMENT.test(content)) continue
    const [assigned, setting] = ASSIGNMENT.exec(content) ?? []
    if (assigned === undefined || setting === undefined) {
      refuse('it is neither NAME=value, such as MAX_USD_PER_DAY=0.5, nor a comment that begins with #.')
      continue
    }
    const read = readValue(lines, index, content.slice(assigned.length))
    index += read.moreLines
    const before = found.get(setting)
    if (read.problem !== undefined) refuse(`the value of ${setting} ${read.problem}`)
    else if (before) refuse(`${setting} is set in line ${before.line} already: keep one of the two.`)
    found.set(setting, { value: read.value, line })
  }
  if (problems.length > 0) throw new ConfigurationError(problems.join('\n'))
  return new Map([...found].map(([setting, { value }]) => [setting, value]))
}

interface ReadValue {
  readonly value: string
  /** How many lines after the first one it takes. */
  readonly moreLines: number
  /** What is wrong with it, after "the value of NAME". */
  readonly problem?: string
}

/** @param rest of the line at the index, behind the = */
function readValue(lines: readonly string[], index: number, rest: string): ReadValue {
  const quote = rest.charAt(0)
  if (!['"', "'", '`'].includes(quote)) return readBareValue(rest)
  const quoted = [rest.slice(1), ...lines.slice(index + 1)].join('\n')
  const end = quoted.indexOf(quote)
  if (end < 0) return { value: '', moreLines: 0, problem: `begins with ${quote} and does not end with one.` }
  const content = quoted.slice(0, end)
  const moreLines = content.split('\n').length - 1
  const behind = quoted.slice(end + 1).split('\n', 1)[0] ?? ''
  if (!REST.test(behind)) {
    return { value: '', moreLines, problem: `ends at the second ${quote}, and more stands behind it.` }
  }
  return { value: quote === '"' ? content.replaceAll('\\n', '\n') : content, moreLines }
}

/** A # within a value is one to some programs, and begins a comment to others, such as Node. */
function readBareValue(rest: string): ReadValue {
  const value = rest.replace(/(^|\s)#.*$/, '').trim()
  if (!value.includes('#')) return { value, moreLines: 0 }
  return {
    value: '',
    moreLines: 0,
    problem: 'has a # in it: put it in quotes, or a space before its comment.',
  }
}

function isSecret([name, value]: [string, string]): boolean {
  return (
    value !== '' && (SECRET_NAMES.includes(name) || /^ALERT_/.test(name) || URL_WITH_PASSWORD.test(value))
  )
}
