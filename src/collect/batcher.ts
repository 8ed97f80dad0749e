/**
 * Writes items that arrive one by one in batches. While batches are written the next one gathers, so batches grow with the load. Each
 * caller waits for the batch of its own item. The bytes that are held are bounded.
 */

export interface BatcherOptions {
  readonly maxItems: number
  /** Of all items that wait or are being written. */
  readonly maxHeldBytes: number
  /** Batches written at the same time. */
  readonly writers: number
  /** How long the first item of a batch waits for others while a writer is free. */
  readonly lingerMs: number
}

export interface Batcher<Item, Answer> {
  /**
   * Adds an item and waits for the answer to it; null when too much is held.
   * @throws what the write of its batch threw
   */
  add(item: Item, bytes: number): Promise<Answer> | null
  /** Resolves when nothing is held. */
  drain(): Promise<void>
}

interface Held<Item, Answer> {
  readonly item: Item
  readonly bytes: number
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** @param write answers each item of a batch, in its order; a throw is the answer to all of them */
export function createBatcher<Item, Answer>(
  write: (items: readonly Item[]) => Promise<readonly Answer[]>,
  { maxItems, maxHeldBytes, writers, lingerMs }: BatcherOptions,
): Batcher<Item, Answer> {
  const waiting: Held<Item, Answer>[] = []
  const writing = new Set<Promise<void>>()
  let heldBytes = 0
  let timer: NodeJS.Timeout | undefined

  const writeBatch = async (batch: readonly Held<Item, Answer>[]) => {
    try {
      const answers = await write(batch.map(({ item }) => item))
      batch.forEach(({ resolve }, index) => {
        resolve(answers[index] as Answer)
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    for (const { bytes } of batch) heldBytes -= bytes
  }
  const begin = () => {
    clearTimeout(timer)
    timer = undefined
    while (waiting.length > 0 && writing.size < writers) {
      const batch = writeBatch(waiting.splice(0, maxItems)).finally(() => {
        writing.delete(batch)
        begin()
      })
      writing.add(batch)
    }
  }
  return {
    add: (item, bytes) => {
      if (heldBytes >= maxHeldBytes) return null
      heldBytes += bytes
      return new Promise((resolve, reject) => {
        waiting.push({ item, bytes, resolve, reject })
        if (waiting.length >= maxItems) begin()
        else timer ??= setTimeout(begin, lingerMs)
      })
    },
    drain: async () => {
      while (waiting.length + writing.size > 0) {
        begin()
        await Promise.all(writing)
      }
    },
  }
}
