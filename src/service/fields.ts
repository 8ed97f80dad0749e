/**
 * How single values of the wire are read: numbers that may come as strings, timestamps, dollars, and text
 * that Postgres can store. Reading never throws; what cannot be read is null or fails its zod schema.
 */

import { z } from 'zod'

import { UnreadableError } from '../errors.ts'

const MICROS_PER_DOLLAR = 1_000_000

/** Dollars as the service gives them → integer micro-dollars. */
export function microsFromDollars(dollars: number): number {
  return Math.round(dollars * MICROS_PER_DOLLAR)
}

/** Dollars of the wire as integer micro-dollars; null for anything that is no number. */
export function readMicros(value: unknown): number | null {
  const dollars = readNumber(value)
  return dollars === null ? null : microsFromDollars(dollars)
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A finite number, also out of a string; null for anything else. */
export function readNumber(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

/** A safe integer, also out of a string; null for anything else. */
export function readInteger(value: unknown): number | null {
  const number = readNumber(value)
  return Number.isSafeInteger(number) ? number : null
}

/** `yyyy-mm-dd hh:mm:ss +00:00` (spec: time formats), to the second: fractions are cut off. */
export function formatTimestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} +00:00`
}

/** The instant of a timestamp, or null when it is none. A timestamp without offset is UTC. */
export function readTimestamp(value: unknown): Date | null {
  if (typeof value !== 'string') return null
  const parts = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?) ?(Z|[+-]\d\d:\d\d)?$/.exec(value.trim())
  if (parts === null) return null
  const date = new Date(`${parts[1]}T${parts[2]}${parts[3] ?? 'Z'}`)
  return Number.isNaN(date.getTime()) ? null : date
}

/**
 * Text that Postgres takes: without U+0000, lone surrogates replaced by U+FFFD, at most `maxLength` UTF-16
 * units, never cut inside a character.
 */
export function cleanText(text: string, maxLength: number): string {
  let clean = text.includes('\0') ? text.replaceAll('\0', '') : text
  if (clean.length > maxLength) clean = clean.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '')
  return clean.toWellFormed()
}

/** An id or tag is compared and stored, never cut: unfit text is null. */
export function readIdentifier(value: unknown, maxLength: number): string | null {
  if (typeof value !== 'string' || value === '' || value.length > maxLength) return null
  return cleanText(value, maxLength) === value ? value : null
}

/** A number, or a string that holds one. */
export const wireNumber = z.union([
  z.number(),
  z.string().transform((value, context) => {
    const number = readNumber(value)
    if (number === null) context.addIssue({ code: 'custom', message: 'is not a number' })
    return number ?? 0
  }),
])

/** An integer within the safe range, or a string that holds one. */
export const wireInteger = wireNumber.refine(Number.isSafeInteger, 'is not a whole number')

/** An id that may come as a number. */
export const wireIdentifier = z
  .union([z.string(), z.int().transform(String)])
  .refine(
    (value) => readIdentifier(value, 255) !== null,
    'is empty, longer than 255 characters or not valid text',
  )

/** Text that may be missing; too long is cut. */
export function wireText(maxLength: number) {
  return z
    .string()
    .nullish()
    .transform((value) => (value == null ? null : cleanText(value, maxLength)))
}

/** A timestamp that may be missing; one that cannot be read is null, because no result hangs on it. */
export const wireTimestamp = z.unknown().optional().transform(readTimestamp)

/** A number that may be missing. */
export const optionalNumber = wireNumber.nullish().transform(orNull)

/** A whole number that may be missing. */
export const optionalInteger = wireInteger.nullish().transform(orNull)

/** A yes or no that may be missing. */
export const optionalFlag = z.boolean().nullish().transform(orNull)

const MAX_LIST_LENGTH = 1000

/** A list that may be missing, which is not the same as empty. */
export function optionalList<T extends z.ZodType>(element: T) {
  return z.array(element).max(MAX_LIST_LENGTH).nullish().transform(orNull)
}

export function orNull<T>(value: T | null | undefined): T | null {
  return value ?? null
}

/** `rank_group` → `rankGroup` */
type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name
type CamelKeys<Row> = { [Key in keyof Row as CamelCase<Key>]: Row[Key] }

/** A record of the wire, its fields named as we name ours; fields that are not in `shape` are ignored. */
export function wireRecord<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = Object.keys(shape).map(
    (wire) => [wire, wire.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())] as const,
  )
  return z.object(shape).transform((row) => {
    const sent: Readonly<Record<string, unknown>> = row
    const record: Record<string, unknown> = {}
    for (const [wire, ours] of names) record[ours] = sent[wire]
    return record as CamelKeys<typeof row>
  })
}

/** `items[3].rank_group` */
function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${String(part)}`))
    .join('')
}

/** The error for a field that breaks the contract. */
export function unreadable(path: readonly PropertyKey[], problem: string): UnreadableError {
  const at = formatPath(path)
  return new UnreadableError(
    `The answer of the service cannot be read at ${at || 'its root'}: ${problem}.`,
    at,
  )
}

/**
 * Reads `value` by its schema.
 * @param at path of `value` in the answer
 * @throws UnreadableError with the path of the first field that breaks the contract
 */
export function readWith<T>(schema: z.ZodType<T>, value: unknown, at: readonly PropertyKey[] = []): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw unreadable([...at, ...(issue?.path ?? [])], issue?.message ?? 'it breaks the contract')
}
