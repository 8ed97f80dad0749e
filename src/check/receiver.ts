/**
 * Whether the address of the webhooks answers, from here. Whether the service reaches it, only a bought task
 * tells.
 */
import { Agent, request } from 'undici'
import { openProxy, proxyOf } from '../proxy.ts'
import { findObstacle } from '../trouble.ts'
import type { CheckedService } from './checked-service.ts'
import { differs, type Finding, holds } from './finding.ts'

const TIMEOUT_MS = 10_000

export async function checkReceiver({
  postbackUrl,
  proxy: settings,
  signal,
}: CheckedService): Promise<Finding> {
  const about = 'POSTBACK_URL'
  if (postbackUrl === null) return holds(about, 'Not set: results are fetched, and not delivered.')
  // Without the secret, which is the last segment of its path: the receiver answers 404, and takes nothing.
  const { origin } = new URL(postbackUrl)
  const proxy = proxyOf(new URL(origin), settings)
  const dispatcher = proxy === null ? new Agent() : openProxy(proxy)
  try {
    const { statusCode, body } = await request(origin, {
      dispatcher,
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
  } finally {
    await dispatcher.destroy()
  }
}
