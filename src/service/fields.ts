/** Reads single values of an answer. What cannot be read is null, or fails its zod schema. */
import { z } from 'zod'
import { UnreadableError } from '../errors.ts'

const MICROS_PER_DOLLAR = 1_000_000
/** More than any account holds; a greater number is not taken for money. */
const MAX_DOLLARS = 1_000_000_000
/** More than anything costs; the costs of some million tasks still add up within a bigint. */
const MAX_COST_MICROS = 1_000_000 * MICROS_PER_DOLLAR
/** The largest integer of Postgres. */
const MAX_CODE = 2 ** 31 - 1
/** A number in a string: without plus, exponent, hexadecimal digits and spaces. */
const PLAIN_DECIMAL = /^-?\d{1,16}(\.\d{1,20})?$/

/** A number whose whole part is exact, also as a plain decimal in a string. */
export function readNumber(value: unknown): number | null {
  const number = typeof value === 'string' && PLAIN_DECIMAL.test(value) ? Number(value) : value
  return typeof number === 'number' && Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : null
}

/** A whole number of at least 0. */
export function readCount(value: unknown): number | null {
  const number = readNumber(value)
  return number !== null && Number.isInteger(number) && number >= 0 ? number : null
}

/** As `readCount`, no larger than an integer of Postgres. */
export function readCode(value: unknown): number | null {
  const number = readCount(value)
  return number !== null && number <= MAX_CODE ? number : null
}

/** Dollars of the wire as whole micro-dollars, also below 0. */
export function readMicros(value: unknown): number | null {
  const dollars = readNumber(value)
  return dollars === null || Math.abs(dollars) > MAX_DOLLARS ? null : Math.round(dollars * MICROS_PER_DOLLAR)
}

/** As `readMicros`, of what is spent or may be spent: null below 0. */
export function readSpending(value: unknown): number | null {
  const micros = readMicros(value)
  return micros === null || micros < 0 ? null : micros
}

/** As `readSpending`, of what one thing costs. */
export function readCost(value: unknown): number | null {
  const micros = readSpending(value)
  return micros === null || micros > MAX_COST_MICROS ? null : micros
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An object, or an empty one for anything else. */
export function objectOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}

/** `yyyy-mm-dd hh:mm:ss +00:00` (spec: time formats), to the second: fractions are cut off. */
export function formatTimestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} +00:00`
}

/** A timestamp before or after these years is not taken for a time. */
const YEARS = { first: 1970, last: 2099 }

/** The instant of a timestamp; one without offset is UTC. */
export function readTimestamp(value: unknown): Date | null {
  if (typeof value !== 'string') return null
  const parts = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?) ?(Z|[+-]\d\d:\d\d)?$/.exec(value.trim())
  if (parts === null) return null
  const date = new Date(`${parts[1]}T${parts[2]}${parts[3] ?? 'Z'}`)
  const year = date.getUTCFullYear()
  return year >= YEARS.first && year <= YEARS.last ? date : null
}

/** Text that Postgres takes, at most `maxLength` UTF-16 units, never cut inside a character. */
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

/** A tag as the service echoes it (spec: Limits); null for one that cannot be stored. */
export const readTag = (value: unknown) => readIdentifier(value, 255)

/** JSON.stringify recurses, and overflows the stack at thousands of levels; the contract has some. */
const MAX_DEPTH = 100

/** A parsed value as it was sent, what lies deeper than 100 levels replaced by an ellipsis. */
export function cutDepth(value: unknown, levels = MAX_DEPTH): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) return '…'
  if (Array.isArray(value)) return value.map((each) => cutDepth(each, levels - 1))
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, cutDepth(each, levels - 1)]))
}

/** Reads a value by `read`, and refuses with `rule` what it gives null for. */
export function wireValue<T>(read: (value: unknown) => T | null, rule: string) {
  return z.unknown().transform((value, context): T => {
    const known = read(value)
    if (known !== null) return known
    context.addIssue({ code: 'custom', message: rule })
    return z.NEVER
  })
}

const wireNumber = wireValue(readNumber, 'it is not a number')
export const wireCount = wireValue(readCount, 'it is not a whole number of at least 0')
export const wireCode = wireValue(readCode, `it is not a whole number from 0 to ${MAX_CODE}`)

/** An id that may come as a number. */
export const wireIdentifier = wireValue((value) => {
  const id = readIdentifier(Number.isSafeInteger(value) ? String(value) : value, 255)
  return id === null || /\s/.test(id) ? null : id
}, 'it is empty, longer than 255 characters, has spaces, or is not valid text')

/** What may be missing, and is null then. */
export function optional<T extends z.ZodType>(value: T) {
  return value.nullish().transform((read) => read ?? null)
}

/** Text that may be missing; too long is cut. */
export function wireText(maxLength: number) {
  return optional(z.string().transform((text) => cleanText(text, maxLength)))
}

export const optionalName = wireText(500)
export const optionalUrl = wireText(2_000)
/** A name that must be there. */
export const wireName = optionalName.pipe(z.string().min(1))
export const optionalNumber = optional(wireNumber)
export const optionalCount = optional(wireCount)
export const optionalFlag = optional(z.boolean())

/** A list that may be missing, which is not the same as empty. */
export function optionalList<T extends z.ZodType>(element: T) {
  return optional(z.array(element).max(1000))
}

/** A field that may be missing; one that cannot be read is null, because no decision depends on it. */
export function ifReadable<T>(read: (value: unknown) => T | null) {
  return z.unknown().optional().transform(read)
}

/** Text on which no decision depends; too long is cut. */
export function textIfReadable(maxLength: number) {
  return ifReadable((value) => (typeof value === 'string' ? cleanText(value, maxLength) : null))
}

export const wireTimestamp = ifReadable(readTimestamp)

/** The market that a result is of: as in the lists of locations and languages. */
export const PLACE = {
  /** Domain of the store. */
  seDomain: textIfReadable(500),
  locationCode: ifReadable(readCode),
  languageCode: textIfReadable(500),
}

/** Where, when and how long a result was measured. */
export const PAGE = {
  ...PLACE,
  /** Where a person can check the data. */
  checkUrl: textIfReadable(2_000),
  /** When the store was asked, UTC. */
  datetime: wireTimestamp,
}

/** A record of the wire by our names, `rankGroup` for `rank_group`; what is not in `shape` is ignored. */
export function wireRecord<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = Object.keys(shape).map((ours) => [ours, toWireName(ours)] as const)
  const wire = z.object(Object.fromEntries(names.map(([ours, wire]) => [wire, shape[ours] as z.ZodType])))
  return wire.transform((row) => {
    const record: Record<string, unknown> = {}
    for (const [ours, wire] of names) record[ours] = row[wire]
    return record as { readonly [Field in keyof Shape]: z.output<Shape[Field]> }
  })
}

/** Fields of a record that are read alike. */
export function each<Name extends string, T>(schema: T, names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, schema])) as Readonly<Record<Name, T>>
}

/** `rankGroup` → `rank_group` */
export function toWireName(ours: string): string {
  return ours.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** A request by the names of the wire. */
export function toWireRecord(asked: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(asked).map(([name, value]) => [toWireName(name), value]))
}

/**
 * The error for a field that breaks the contract.
 * @param path such as `items[3].rank_group`, in parts
 * @param what the answer, for the message
 */
export function unreadable(
  path: readonly PropertyKey[],
  problem: string,
  what = 'The answer of the service',
): UnreadableError {
  const parts = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
  const at = parts.join('').replace(/^\./, '')
  return new UnreadableError(`${what} cannot be read at ${at || 'its root'}: ${problem}.`, at)
}

/**
 * Reads `value` by its schema.
 * @param at path of `value` in the answer
 * @throws UnreadableError with the path of the first field that breaks the contract
 */
export function readWith<T>(
  schema: z.ZodType<T>,
  value: unknown,
  at: readonly PropertyKey[] = [],
  what?: string,
): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw unreadable([...at, ...(issue?.path ?? [])], issue?.message ?? 'it breaks the contract', what)
}
