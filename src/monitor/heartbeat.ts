/** Calls HEARTBEAT_URL, so that a service elsewhere notices when the calls stay out. Nothing is sent but the call itself. */
import type { Logger } from 'pino'
import type { Secret } from '../secret.ts'

const TIMEOUT_MS = 10_000

/** Never throws: a heartbeat that fails is the other side's to notice. */
export async function beat(url: Secret, log: Logger): Promise<void> {
  try {
    const response = await fetch(url.reveal(), {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: 'follow',
    })
    await response.body?.cancel()
    if (!response.ok) log.warn({ httpStatus: response.status }, 'the heartbeat was refused')
  } catch (error) {
    log.warn(
      { reason: error instanceof Error ? error.message : String(error) },
      'the heartbeat could not be sent',
    )
  }
}
