/**
 * Items of a result stand each for itself: one that breaks the contract is left out and named, and the others
 * are read.
 */

import { UnreadableError } from '../errors.ts'

/** What a result held that breaks the contract, and what was therefore left out of it. */
export interface RefusedItem {
  /** Of the field that breaks the contract, such as `items[3].rank_group`. */
  readonly path: string
  /** A sentence. */
  readonly problem: string
}

export interface ReadItems<Item> {
  readonly items: readonly Item[]
  readonly refused: readonly RefusedItem[]
}

/**
 * Reads items one by one.
 * @param read gives null for an item that is passed over
 * @throws UnreadableError for the first item, when not one of them can be read
 */
export function readItems<Sent, Item>(
  sent: readonly Sent[],
  read: (value: Sent, index: number) => Item | null,
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
  const isOne = refused.length === 1
  return (
    `${refused.length} of ${itemsCount} items could not be read and ` +
    `${isOne ? 'is left out.' : 'are left out. The first:'} ${first.problem}`
  )
}

/** A sentence about a result that counts other items than it has; null when it has them, or counts none. */
export function describeMiscount(sent: number, counted: number | null): string | null {
  if (sent === (counted ?? sent)) return null
  const wrong = sent < Number(counted) ? 'the others are lacking' : 'which of them it counts is not known'
  return `The answer counts ${counted} items and has ${sent}: ${wrong}.`
}
