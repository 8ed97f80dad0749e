/** The body of a result that could not be read, as it is kept for inspection. */
import { gzipSync } from 'node:zlib'
import { cutDepth } from '../service/fields.ts'

/**
 * Compressed JSON: one body may have 32 MiB, and a batch holds a hundred. What is nested too deep to be
 * written is cut off.
 */
export function compressBody(body: unknown): Buffer {
  return gzipSync(JSON.stringify(cutDepth(body)) ?? 'null')
}
