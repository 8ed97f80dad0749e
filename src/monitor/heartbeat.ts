/** Calls HEARTBEAT_URL, so that a service elsewhere notices when the calls stay out. Nothing else is sent. */
import type { Logger } from 'pino'
import { fetch } from 'undici'
import { NO_PROXY, openWay, type ProxySettings } from '../proxy.ts'
import { describeStatus, readStart, secretsOf } from '../reply.ts'
import type { Secret } from '../secret.ts'
import { describeUnreachable } from '../trouble.ts'

const PARTY = 'The receiver of HEARTBEAT_URL'
const TIMEOUT_MS = 10_000

/** Never throws: a heartbeat that fails is the other side's to notice. */
export async function sendHeartbeat(
  secret: Secret,
  log: Logger,
  settings: ProxySettings = NO_PROXY,
): Promise<void> {
  const url = new URL(secret.reveal())
  const dispatcher = openWay(url, settings)
  try {
    const response = await fetch(url, { dispatcher, signal: AbortSignal.timeout(TIMEOUT_MS) })
    if (response.ok) return await response.body?.cancel()
    const { status: httpStatus } = response
    const said = response.body === null ? '' : await readStart(response.body)
    const reason = describeStatus(PARTY, httpStatus, said, secretsOf(url))
    log.warn({ httpStatus, reason }, 'the heartbeat was refused')
  } catch (error) {
    log.warn({ reason: describeUnreachable(PARTY, error) }, 'the heartbeat could not be sent')
  } finally {
    await dispatcher.destroy()
  }
}
