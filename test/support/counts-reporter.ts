/**
 * A reporter of `node --test` that writes as JSON how many tests passed and failed, and how long each file
 * took.
 */
import type { EventData } from 'node:test'

// biome-ignore lint/style/noDefaultExport: Node asks for it.
export default async function* countsReporter(
  events: AsyncIterable<{ type: string; data: unknown }>,
): AsyncGenerator<string> {
  const seconds: Record<string, number> = {}
  for await (const { type, data } of events) {
    if (type === 'test:pass' || type === 'test:fail') {
      const { name, details } = data as EventData.TestPass | EventData.TestFail
      if (name.startsWith('test/')) seconds[name] = Math.round(details.duration_ms / 1000)
    }
    if (type !== 'test:summary') continue
    const { file, counts } = data as EventData.TestSummary
    if (file !== undefined) continue
    const { tests, passed, skipped, todo } = counts
    yield JSON.stringify({ passed, failed: tests - passed - skipped - todo, seconds })
  }
}
