/**
 * Makes batches of what arrives one by one. While batches are written the next one gathers, so that it grows with the load,
 * and whoever added a thing waits for the end of its own batch. What is held is bounded.
 */

export interface BatcherOptions {
  readonly maxItems: number
  /** Over all that waits or is being written. */
  readonly maxHeldBytes: number
  /** Batches written at the same time. */
  readonly writers: number
  /** How long a first item waits for company while a writer is free. */
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
      const answers = await write(batch.map((one) => one.item))
      batch.forEach((one, index) => {
        one.resolve(answers[index] as Answer)
      })
    } catch (error) {
      for (const one of batch) one.reject(error)
    }
    for (const one of batch) heldBytes -= one.bytes
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
