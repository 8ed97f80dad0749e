/** Values of arguments and options: each is read, or refused with what is allowed. */
import { InvalidArgumentError } from 'commander'
import { ConfigurationError } from '../errors.ts'
import { type ListenAddress, parseListenAddress } from '../listen-address.ts'
import { DEVIATION_NAMES, type Deviation } from '../sandbox/deviations.ts'
import { didYouMean } from '../suggest.ts'
import { API_ENDPOINTS, type ApiEndpoint } from './api-endpoints.ts'
import { JOB_NAMES, type JobName } from './command.ts'

export function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}

export function parseEndpoint(name: string): ApiEndpoint {
  const endpoint = API_ENDPOINTS.find((known) => known === name)
  if (endpoint !== undefined) return endpoint
  throw new InvalidArgumentError(`There is no such endpoint.${didYouMean(name, API_ENDPOINTS)}`)
}

export function parseDay(text: string): string {
  const instant = Date.parse(/^\d{4}-\d\d-\d\d$/.test(text) ? text : '')
  // 30 February would be taken for 2 March.
  if (!Number.isNaN(instant) && new Date(instant).toISOString().startsWith(text)) return text
  throw new InvalidArgumentError('It must be a day such as 2026-03-01.')
}

/** As Postgres reads it. */
export function parseEvery(text: string): string {
  const [, digits, unit] = /^(\d{1,2})(h|d)$/.exec(text) ?? []
  const count = Number(digits)
  if (unit === 'h' && [1, 2, 3, 4, 6, 8, 12, 24].includes(count)) return `${count} hours`
  if (unit === 'd' && count >= 1 && count <= 31) return `${count} days`
  throw new InvalidArgumentError('It must be 1h, 2h, 3h, 4h, 6h, 8h or 12h, or whole days from 1d to 31d.')
}

export function parsePriority(text: string): 1 | 2 {
  if (text === '1' || text === '2') return text === '1' ? 1 : 2
  throw new InvalidArgumentError('It must be 1, or 2: twice the price.')
}

export function parseEncoding(name: string): string {
  try {
    return new TextDecoder(name).encoding
  } catch {
    throw new InvalidArgumentError(
      'There is no such encoding: utf-8, utf-16le, windows-1252 and shift_jis are some.',
    )
  }
}

export function collectJobs(name: string, before: readonly JobName[] = []): readonly JobName[] {
  const job = JOB_NAMES.find((known) => known === name)
  if (job === undefined) {
    throw new InvalidArgumentError(
      `There is no such job.${didYouMean(name, JOB_NAMES)} Jobs: ${JOB_NAMES.join(', ')}.`,
    )
  }
  return [...before, job]
}

export function collectDeviations(name: string, before: readonly Deviation[] = []): readonly Deviation[] {
  const deviation = DEVIATION_NAMES.find((known) => known === name)
  if (deviation === undefined) {
    throw new InvalidArgumentError(
      `There is no such deviation.${didYouMean(name, DEVIATION_NAMES)} Deviations: ${DEVIATION_NAMES.join(', ')}.`,
    )
  }
  return [...before, deviation]
}

export function parseListen(text: string): ListenAddress {
  const address = parseListenAddress(text)
  if (address !== null) return address
  throw new InvalidArgumentError('It must be a port such as 8070, or host and port such as 0.0.0.0:8070.')
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}

/** Durations belong to the settings, whose module is loaded only when a command runs. */
export async function readWait(text: string | undefined): Promise<{ waitMs?: number }> {
  if (text === undefined) return {}
  const { parseDuration } = await import('../setting-values.ts')
  const waitMs = parseDuration(text)
  if (waitMs === null)
    throw new ConfigurationError(
      `--wait must be a duration such as 90s, 20m or 2h; it is ${JSON.stringify(text)}.`,
    )
  return { waitMs }
}
