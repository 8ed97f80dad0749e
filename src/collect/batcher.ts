/**
 * Writes items that arrive one by one in batches. While a batch is written the next one gathers, so batches
 * grow with the load. Each caller waits for the batch of its own item, and an item that comes alone waits for
 * no other. The bytes that are held are bounded.
 */

export interface BatcherOptions {
  readonly maxItems: number
  /** Of all items that wait or are being written. */
  readonly maxHeldBytes: number
  /**
   * Batches written at the same time. One that is not full is written alone: two halves would cost two
   * commits.
   */
  readonly writers: number
  /**
   * So long after a batch the next one may gather until it has as many items, because those who were answered
   * send again.
   */
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
  let last = { items: 0, endedMs: 0 }
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
    last = { items: batch.length, endedMs: performance.now() }
  }
  const begin = () => {
    const batch = writeBatch(waiting.splice(0, maxItems)).finally(() => {
      writing.delete(batch)
      beginWhenDue()
    })
    writing.add(batch)
  }
  /**
   * A full batch begins at once, any other one when none is being written and it has as many items as the
   * last, or those do not come.
   */
  const beginWhenDue = () => {
    clearTimeout(timer)
    while (waiting.length >= maxItems && writing.size < writers) begin()
    if (waiting.length === 0 || writing.size > 0) return
    const waitMs = waiting.length < last.items ? last.endedMs + lingerMs - performance.now() : 0
    if (waitMs > 0) timer = setTimeout(beginWhenDue, Math.ceil(waitMs))
    else begin()
  }
  return {
    add: (item, bytes) => {
      if (heldBytes >= maxHeldBytes) return null
      heldBytes += bytes
      return new Promise((resolve, reject) => {
        waiting.push({ item, bytes, resolve, reject })
        beginWhenDue()
      })
    },
    drain: async () => {
      while (waiting.length + writing.size > 0) {
        last = { items: 0, endedMs: 0 }
        beginWhenDue()
        await Promise.all(writing)
      }
    },
  }
}
