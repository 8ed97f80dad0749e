/**
 * Writes items that arrive one by one: at once, or in batches of those that come while others are written.
 * Each caller waits for its own batch. The bytes that are held are bounded.
 */

export interface BatcherOptions {
  readonly maxItems: number
  /** Of all items that wait or are being written. */
  readonly maxHeldBytes: number
  /** Batches written at the same time. */
  readonly writers: number
}

interface Held<Item, Answer> extends Omit<PromiseWithResolvers<Answer>, 'promise'> {
  readonly item: Item
  readonly bytes: number
}

/** @param write answers each item of a batch, in its order; a throw is the answer to all of them */
export function createBatcher<Item, Answer>(
  write: (items: readonly Item[]) => Promise<readonly Answer[]>,
  { maxItems, maxHeldBytes, writers }: BatcherOptions,
) {
  const waiting: Held<Item, Answer>[] = []
  const writing = new Set<Promise<void>>()
  let heldBytes = 0

  const writeBatch = async (batch: readonly Held<Item, Answer>[]) => {
    try {
      const answers = await write(batch.map(({ item }) => item))
      for (const [index, { resolve }] of batch.entries()) resolve(answers[index] as Answer)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    for (const { bytes } of batch) heldBytes -= bytes
  }
  const begin = () => {
    if (waiting.length === 0 || writing.size >= writers) return
    const batch = writeBatch(waiting.splice(0, maxItems)).finally(() => {
      writing.delete(batch)
      begin()
    })
    writing.add(batch)
  }
  return {
    /** Adds an item and waits for its answer; null when too much is held. @throws what `write` threw */
    add: (item: Item, bytes: number): Promise<Answer> | null => {
      if (heldBytes >= maxHeldBytes) return null
      heldBytes += bytes
      const { promise, resolve, reject } = Promise.withResolvers<Answer>()
      waiting.push({ item, bytes, resolve, reject })
      begin()
      return promise
    },
    /** Resolves when nothing is held. */
    drain: async () => {
      while (writing.size > 0) await Promise.all(writing)
    },
  }
}
