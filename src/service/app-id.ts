/** App ids as the stores give them out. */

import { isObject } from './fields.ts'
import type { Store } from './functions.ts'

/** Digits in ios_store; in android_store the name of a package, read leniently. */
const FORMS: Readonly<Record<Store, RegExp>> = {
  ios_store: /^[1-9]\d{0,18}$/,
  android_store: /^\w[\w.-]{0,254}$/,
}

/** What an app id must be, for messages. */
export const APP_ID_RULE =
  'an app id is a whole number above 0 in ios_store, and up to 255 letters, digits and _ . - in android_store'

/** An app id, also out of an exact number; null for anything that the store gives to no app. */
export function readAppId(value: unknown, store: Store): string | null {
  const id = Number.isSafeInteger(value) ? String(value) : value
  return typeof id === 'string' && FORMS[store].test(id) ? id : null
}

/**
 * The store that an item is of, by its type: `ios_store_search_organic` or `app_store_…`,
 * `android_store_info_organic` or `google_play_…`.
 */
export function storeOfType(type: string): Store {
  return /^(ios|app)_store_/.test(type) ? 'ios_store' : 'android_store'
}

/**
 * The app of an item, as `readAppId`.
 * @param asked the store that was asked; null for whichever the type names. An item whose type names the
 *   other store is none of its apps, and digits alone are the id of no app of the android_store
 */
export function readListedAppId(value: unknown, type: string, asked: Store | null): string | null {
  const id = readAppId(value, asked ?? storeOfType(type))
  if (id === null || asked === null) return id
  if (asked === 'ios_store') return /^(android_store|google_play)_/.test(type) ? null : id
  return storeOfType(type) === 'ios_store' || FORMS.ios_store.test(id) ? null : id
}

/** Whether an item is an app that the store gives by itself, and no advertisement or bundle. */
export function isOrganic(
  item: unknown,
): item is Readonly<Record<string, unknown>> & { readonly type: string } {
  return isObject(item) && typeof item.type === 'string' && item.type.endsWith('_organic')
}
