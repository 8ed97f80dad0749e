/**
 * Whether the address of the webhooks answers, from here. Whether the service reaches it, only a bought task
 * tells.
 */
import { request } from 'undici'
import { findObstacle } from '../trouble.ts'
import type { CheckedService } from './checked-service.ts'
import { differs, type Finding, holds } from './finding.ts'

const TIMEOUT_MS = 10_000

export async function checkReceiver({ postbackUrl, signal }: CheckedService): Promise<Finding> {
  const about = 'POSTBACK_URL'
  if (postbackUrl === null) return holds(about, 'Not set: results are fetched, and not delivered.')
  // Without the secret, which is the last segment of its path: the receiver answers 404, and takes nothing.
  const address = new URL(postbackUrl).origin
  try {
    const { statusCode, body } = await request(address, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    await body.dump()
    return holds(about, `Something answers there from here (HTTP ${statusCode}).`)
  } catch (error) {
    signal.throwIfAborted()
    return differs(
      about,
      `Nothing answers there from here: ${findObstacle(error).reason}.`,
      'Where the service does not reach it either, results are fetched instead.',
    )
  }
}
