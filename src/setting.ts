/** What a setting is, and rules of single ones: each turns a text into a value, or says what it must be. */
import { z } from 'zod'
import { parseDuration } from './duration.ts'
import { Secret } from './secret.ts'

/** Everything that is known of a setting stands in its declaration (settings.ts). */
export interface Setting<Value> {
  /** The variable of the environment. */
  readonly name: string
  /** A sentence or two: what it does, and what holds without it. */
  readonly help: string
  /** Reads its text, or says what it must be: `must …`. */
  readonly schema: z.ZodType<Value, string>
  /** As a person would write it. Without one the value is null when it is not set. */
  readonly default?: string
  /** What `storerank init` shows where there is no default. */
  readonly example?: string
  /** `whole`: nobody else may read it; `in part`: it may hold a password. A refusal shows neither. */
  readonly secret?: 'whole' | 'in part'
  /**
   * Every variable that begins so is meant for storerank: one that is no setting is refused. To be given
   * where the name is shorter than 13 letters, because near misses of such a name are noted alone.
   */
  readonly prefix?: string
  /** Other programs read it too, in small letters as well. */
  readonly isCommon?: true
  /** Whether spaces at its ends belong to it. */
  readonly keepsSpaces?: true
}

type Declared<Value> = Omit<Setting<Value>, 'name'>

/** Declares a setting: without a default it is null when it is not set. */
export function setting<Value>(name: string, declared: Declared<Value> & { default: string }): Setting<Value>
export function setting<Value>(name: string, declared: Declared<Value>): Setting<Value | null>
export function setting<Value>(name: string, declared: Declared<Value>): Setting<Value> {
  return { name, ...declared }
}

/** Settings by the names that they have in `Config`; those of one thing stand together. */
export interface Shape {
  readonly [name: string]: Setting<unknown> | Shape
}

/** What `Config` has of a shape. */
export type Values<S> = {
  readonly [Name in keyof S]: S[Name] extends Setting<infer Value> ? Value : Values<S[Name]>
}

/** A chapter of `.env` and of docs/operations.md. */
export interface Group {
  readonly title: string
  readonly note?: string
  readonly shape: Shape
}

/** Whether it is a setting, and not several under one name. */
export function isSetting(part: Setting<unknown> | Shape): part is Setting<unknown> {
  return 'schema' in part && 'name' in part
}

/** Every setting of a shape, in its order. */
export function listSettings(shape: Shape): Setting<unknown>[] {
  return Object.values(shape).flatMap((part) => (isSetting(part) ? [part] : listSettings(part)))
}

/** A text that `parse` turns into a value, or into null where it breaks the rule `must …`. */
export function rule<Value>(must: string, parse: (text: string) => Value | null): z.ZodType<Value, string> {
  return z.string().transform((text, context) => {
    const value = parse(text)
    if (value !== null) return value
    context.addIssue(must)
    return z.NEVER
  })
}

const MICROS_PER_USD = 1_000_000

/**
 * Micro-dollars of a decimal amount such as `5` or `0.0012`, exact: no float ever holds the dollars. Null
 * when it is not one, has more than six decimals, or is a billion dollars and more.
 */
export function parseUsdMicros(text: string): number | null {
  const [, dollars, decimals = ''] = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text) ?? []
  return dollars === undefined ? null : Number(dollars) * MICROS_PER_USD + Number(decimals.padEnd(6, '0'))
}

/** Micro-dollars. */
export const usd = () =>
  rule('must be an amount in dollars such as 5 or 0.25, with at most six decimals', parseUsdMicros)

/** Both bounds are allowed. */
export function wholeNumber(min: number, max: number) {
  return rule(`must be a whole number from ${min} to ${max}`, (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : null
  })
}

/** Both bounds as a person writes them. */
export function duration(max: string, min = '0s') {
  const range =
    min === '0s' ? `of at most ${max}, such as 90s, 20m or 2h` : `from ${min} to ${max}, such as 400d`
  return rule(`must be a duration ${range}`, (text) => {
    const ms = parseDuration(text)
    const isWithin = ms !== null && ms >= (parseDuration(min) ?? 0) && ms <= (parseDuration(max) ?? 0)
    return isWithin ? ms : null
  })
}

/** @param must what an address that is not called by http or https must be */
export const webUrl = (must: string) =>
  rule(must, (text) => (/^https?:$/.test(URL.parse(text)?.protocol ?? '') ? new Secret(text) : null))

/** Whether what is sent there cannot be read on the way. */
export function isSafe(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))
}

export function isLoopback(url: URL | null): boolean {
  return url !== null && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname)
}
