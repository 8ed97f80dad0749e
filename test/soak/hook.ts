/**
 * Loaded into a runner with `--import`: on a message it collects garbage, and says what is left. The product
 * knows nothing of it.
 */
export interface Held {
  /**
   * With the code, and with what lies outside the heap and belongs to it: buffers, and what zlib and the
   * parser of HTTP hold.
   */
  readonly heapBytes: number
  /** All that the process has of the machine's memory, garbage included. */
  readonly rssBytes: number
  /** Handles and requests that are open, such as `Timeout` and `TCPSocketWrap`. */
  readonly resources: Readonly<Record<string, number>>
  readonly listeners: number
  /** Of Node, such as MaxListenersExceededWarning. */
  readonly warnings: readonly string[]
}

const warnings: string[] = []
process.on('warning', (warning) => warnings.push(`${warning.name}: ${warning.message}`))

process.on('message', () => {
  for (let n = 0; n < 3; n += 1) globalThis.gc?.()
  const resources: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1
  const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
  const { heapUsed, external, rss } = process.memoryUsage()
  const held: Held = {
    heapBytes: heapUsed + external,
    rssBytes: rss,
    resources,
    listeners,
    warnings,
  }
  process.send?.(held)
})
process.channel?.unref()
