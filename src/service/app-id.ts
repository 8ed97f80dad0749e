/** App ids as the stores give them out. */

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
 * Whether an item, by its type, is of the other store than that which was asked. A type that names no store
 * is of any.
 */
export function isOfOtherStore(type: string, asked: Store): boolean {
  return (asked === 'ios_store' ? /^(android_store|google_play)_/ : /^(ios|app)_store_/).test(type)
}

/**
 * As `readAppId`, of the store that was asked: digits alone are the id of an app of the ios_store, and of
 * none of the android_store.
 */
export function readAskedAppId(value: unknown, asked: Store): string | null {
  const id = readAppId(value, asked)
  return id !== null && asked === 'android_store' && FORMS.ios_store.test(id) ? null : id
}
