/** Rules of single settings: each turns a text into a value, or says what it must be. */
import { z } from 'zod'

const MICROS_PER_USD = 1_000_000
const DURATION_UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** Milliseconds of a whole number with its unit, such as `500ms`, `90s`, `20m`, `2h` or `1d`; null when it is not one. */
export function parseDuration(text: string): number | null {
  const [, digits, unit] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? []
  const unitMs = DURATION_UNITS_MS[unit ?? '']
  return unitMs === undefined ? null : Number(digits) * unitMs
}

/**
 * Micro-dollars of a decimal amount such as `5` or `0.0012`, exact: no float ever holds the dollars. Null when it is
 * not one, has more than six decimals, or is a billion dollars and more.
 */
export function parseUsdMicros(text: string): number | null {
  const [, dollars, decimals = ''] = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text) ?? []
  return dollars === undefined ? null : Number(dollars) * MICROS_PER_USD + Number(decimals.padEnd(6, '0'))
}

/** A setting whose text `parse` turns into a value, or into null where it breaks the rule. */
export function setting<Value>(rule: string, parse: (text: string) => Value | null) {
  return z.string().transform((text, context) => {
    const value = parse(text)
    if (value !== null) return value
    context.addIssue(rule)
    return z.NEVER
  })
}

/** Both bounds are allowed. */
export function wholeNumber(min: number, max: number) {
  return setting(`must be a whole number from ${min} to ${max}`, (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : null
  })
}

/** Both bounds as a person writes them. */
export function duration(max: string, min = '0s') {
  const rule =
    min === '0s' ? `of at most ${max}, such as 90s, 20m or 2h` : `from ${min} to ${max}, such as 400d`
  return setting(`must be a duration ${rule}`, (text) => {
    const durationMs = parseDuration(text)
    const isWithin = durationMs !== null && durationMs >= (parseDuration(min) ?? 0)
    return isWithin && durationMs <= (parseDuration(max) ?? 0) ? durationMs : null
  })
}

/** Micro-dollars. */
export const usd = () =>
  setting('must be an amount in dollars such as 5 or 0.25, with at most six decimals', parseUsdMicros)
