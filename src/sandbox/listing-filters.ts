/**
 * Filters and orders of the search in listings: `["item.rating.value", ">", 3]`, joined by `and` and `or`.
 */

import { z } from 'zod'
import type { showInfoItem } from './listing.ts'

/** One listing of the service's own database. */
export type Listing = {
  app_id: string
  se_domain: string
  location_code: number
  language_code: string
  check_url: string
  time_update: string
  item: ReturnType<typeof showInfoItem>
}

const MAX_CONDITIONS = 8
const MAX_ORDERS = 3

/** The value at `item.rating.value`, or, as the documentation of the ios_store writes it, `rating.value`. */
const valueAt = (listing: Listing, path: string): unknown => {
  const [first = ''] = path.split('.')
  const root: unknown = first in listing ? listing : listing.item
  return path
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name], root)
}

/** `%` stands for any text. */
const matches = (text: unknown, pattern: unknown): boolean =>
  new RegExp(
    `^${String(pattern)
      .split('%')
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
    'is',
  ).test(String(text))

const isAmong = (value: unknown, list: unknown): boolean => Array.isArray(list) && list.includes(value)

const TESTS = {
  regex: (value, given) => new RegExp(String(given)).test(String(value)),
  not_regex: (value, given) => !new RegExp(String(given)).test(String(value)),
  '<': (value, given) => Number(value) < Number(given),
  '<=': (value, given) => Number(value) <= Number(given),
  '>': (value, given) => Number(value) > Number(given),
  '>=': (value, given) => Number(value) >= Number(given),
  '=': (value, given) => value === given,
  '<>': (value, given) => value !== given,
  in: isAmong,
  not_in: (value, given) => !isAmong(value, given),
  like: matches,
  not_like: (value, given) => !matches(value, given),
} satisfies Record<string, (value: unknown, given: unknown) => boolean>
const OPERATORS = Object.keys(TESTS) as (keyof typeof TESTS)[]

const Condition = z.tuple([z.string().min(1), z.enum(OPERATORS), z.unknown()])
type Condition = z.output<typeof Condition>

/** Conditions with `and` or `or` between them. */
type Chain = readonly (Condition | 'and' | 'or')[]

const isWellJoined = (chain: Chain): boolean =>
  chain.length % 2 === 1 &&
  chain.length < 2 * MAX_CONDITIONS &&
  chain.every((part, index) => (typeof part === 'string') === (index % 2 === 1))

/** One condition, or several. */
export const Filters = z.union([
  Condition.transform((condition): Chain => [condition]),
  z.array(z.union([Condition, z.enum(['and', 'or'])])).refine(isWellJoined),
])

/** `item.rating.value,desc`. */
export const OrderBy = z
  .array(z.string().regex(/^[a-z_.]+,(asc|desc)$/))
  .min(1)
  .max(MAX_ORDERS)

const meets = (listing: Listing, [path, operator, given]: Condition): boolean =>
  TESTS[operator](valueAt(listing, path), given)

/** Whether a listing passes all filters, read from left to right. */
export const passes = (listing: Listing, [first, ...rest]: Chain): boolean => {
  let isPassed = Array.isArray(first) && meets(listing, first as Condition)
  for (let index = 0; index < rest.length; index += 2) {
    const isMet = meets(listing, rest[index + 1] as Condition)
    isPassed = rest[index] === 'and' ? isPassed && isMet : isPassed || isMet
  }
  return isPassed
}

const compare = (left: unknown, right: unknown): number =>
  typeof left === 'number' && typeof right === 'number'
    ? left - right
    : String(left).localeCompare(String(right))

/** Listings in the order of the first rule that tells two of them apart. */
export const sortListings = (listings: readonly Listing[], orders: readonly string[]): Listing[] =>
  listings.toSorted((left, right) => {
    for (const order of orders) {
      const [path = '', direction] = order.split(',')
      const difference = compare(valueAt(left, path), valueAt(right, path))
      if (difference !== 0) return direction === 'asc' ? difference : -difference
    }
    return 0
  })
