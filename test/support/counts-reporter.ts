/** A reporter of `node --test` that writes how many tests passed and failed, over all files, as JSON. */
import type { EventData } from 'node:test'

// biome-ignore lint/style/noDefaultExport: Node asks for it.
export default async function* countsReporter(
  events: AsyncIterable<{ type: string; data: unknown }>,
): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (type !== 'test:summary') continue
    const { file, counts } = data as EventData.TestSummary
    if (file !== undefined) continue
    const { tests, passed, skipped, todo } = counts
    yield JSON.stringify({ passed, failed: tests - passed - skipped - todo })
  }
}
