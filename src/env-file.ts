/** Settings from a file, `.env` of the working folder unless another is named. What the environment says comes first. */
import { readFileSync, statSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { ConfigurationError } from './errors.ts'

export interface Environment {
  readonly env: NodeJS.ProcessEnv
  /** Sentences for the log. */
  readonly notes: readonly string[]
}

const DEFAULT_FILE = '.env'
/** What others must not read. */
const SECRET_NAMES = /^(APP_DATA_PASSWORD|POSTBACK_URL|HEARTBEAT_URL|ALERT_\w+)$/
const URL_WITH_PASSWORD = /^\w+:\/\/[^/\s]*:[^/\s]+@/

/**
 * @param file as a person named it; undefined: `.env`, where there is one
 * @throws ConfigurationError when a named file cannot be read
 */
export function readEnvFile(file: string | undefined, env: NodeJS.ProcessEnv): Environment {
  const content = readContent(file)
  if (content === null) return { env, notes: [] }
  const given = parseEnv(content) as NodeJS.ProcessEnv
  const set = Object.entries(env).filter(([, value]) => value !== undefined && value !== '')
  const name = file ?? DEFAULT_FILE
  const isOpenToAll = (statSync(name).mode & 0o004) !== 0
  const note = `${name} has a password in it and can be read by every user of this machine: chmod 600 "${name}".`
  return {
    env: { ...given, ...Object.fromEntries(set) },
    notes: isOpenToAll && Object.entries(given).some(isSecret) ? [note] : [],
  }
}

function readContent(file: string | undefined): string | null {
  try {
    return readFileSync(file ?? DEFAULT_FILE, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (file === undefined && code === 'ENOENT') return null
    throw new ConfigurationError(`${file ?? DEFAULT_FILE} cannot be read: ${message}.`, { cause: error })
  }
}

function isSecret([name, value = '']: [string, string | undefined]): boolean {
  return value !== '' && (SECRET_NAMES.test(name) || URL_WITH_PASSWORD.test(value))
}
