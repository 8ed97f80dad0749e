/** The items of a result, each for itself: one that breaks the contract is left out and named. */
import { UnreadableError } from '../errors.ts'
import { isObject } from './fields.ts'
import type { Store } from './functions.ts'

/** Digits in ios_store; in android_store the name of a package, read leniently. */
const ID_FORMS: Readonly<Record<Store, RegExp>> = {
  ios_store: /^[1-9]\d{0,18}$/,
  android_store: /^\w[\w.-]{0,254}$/,
}

/** What an app id must be, for messages. */
export const APP_ID_RULE =
  'an app id is a whole number above 0 in ios_store, and up to 255 letters, digits and _ . - in android_store'

/** An app id, also out of an exact number; null for anything that the store gives to no app. */
export function readAppId(value: unknown, store: Store): string | null {
  const id = Number.isSafeInteger(value) ? String(value) : value
  return typeof id === 'string' && ID_FORMS[store].test(id) ? id : null
}

/** By what it begins with: `ios_store_…` or `app_store_…`, `android_store_…` or `google_play_…`. */
export function storeOfType(type: string): Store {
  return /^(ios|app)_store_/.test(type) ? 'ios_store' : 'android_store'
}

/**
 * The app of an item, as `readAppId`.
 * @param asked the store that was asked; null for whichever the type names. An item whose type names the
 *   other store is none of its apps, and digits alone are the id of no app of the android_store
 */
export function readListedAppId({ app_id, type }: TypedItem, asked: Store | null): string | null {
  const id = readAppId(app_id, asked ?? storeOfType(type))
  if (id === null || asked === null) return id
  if (asked === 'ios_store') return /^(android_store|google_play)_/.test(type) ? null : id
  return storeOfType(type) === 'ios_store' || ID_FORMS.ios_store.test(id) ? null : id
}

export type TypedItem = Readonly<Record<string, unknown>> & { readonly type: string }

export function isTyped(item: unknown): item is TypedItem {
  return isObject(item) && typeof item.type === 'string'
}

/** Whether an item is an app that the store gives by itself, and no advertisement or bundle. */
export function isOrganic(item: unknown): item is TypedItem {
  return isTyped(item) && item.type.endsWith('_organic')
}

/** What was left out of a result, because it breaks the contract. */
export interface RefusedItem {
  /** Of the field, such as `items[3].rank_group`. */
  readonly path: string
  /** A sentence. */
  readonly problem: string
}

export interface ReadItems<Item> {
  readonly items: readonly Item[]
  readonly refused: readonly RefusedItem[]
}

/**
 * @param read gives null for an item that is passed over
 * @throws UnreadableError for the first item, when not one of them can be read
 */
export function readItems<Item>(
  sent: readonly unknown[],
  read: (value: unknown, index: number) => Item | null,
): ReadItems<Item> {
  const items: Item[] = []
  const errors: UnreadableError[] = []
  sent.forEach((value, index) => {
    try {
      const item = read(value, index)
      if (item !== null) items.push(item)
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error
      errors.push(error)
    }
  })
  if (items.length === 0 && errors[0] !== undefined) throw errors[0]
  return { items, refused: errors.map(({ path, message }) => ({ path, problem: message })) }
}

/** A sentence about what was left out of a result; null when nothing was. */
export function describeRefused(refused: readonly RefusedItem[], itemsCount: number): string | null {
  const [first] = refused
  if (first === undefined) return null
  const left = refused.length === 1 ? 'is left out.' : 'are left out. The first:'
  return `${refused.length} of ${itemsCount} items could not be read and ${left} ${first.problem}`
}

/** A sentence about a result that counts other items than it has; null when it has them, or counts none. */
export function describeMiscount(sent: number, counted: number | null): string | null {
  if (sent === (counted ?? sent)) return null
  const wrong = sent < Number(counted) ? 'the others are lacking' : 'which of them it counts is not known'
  return `The answer counts ${counted} items and has ${sent}: ${wrong}.`
}
