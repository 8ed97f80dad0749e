/**
 * Calls HEARTBEAT_URL, so that a service elsewhere notices when the calls stay out. Nothing is sent but the
 * call itself.
 */
import type { Logger } from 'pino'
import { Agent, fetch, type Response } from 'undici'
import { NO_PROXY, openProxy, type ProxySettings, proxyOf } from '../proxy.ts'
import { describeStatus, secretsOf } from '../reply.ts'
import type { Secret } from '../secret.ts'
import { describeUnreachable } from '../trouble.ts'

const PARTY = 'The receiver of HEARTBEAT_URL'
const TIMEOUT_MS = 10_000
const MOST_CHARACTERS = 4096

/** Never throws: a heartbeat that fails is the other side's to notice. */
export async function sendHeartbeat(
  url: Secret,
  log: Logger,
  settings: ProxySettings = NO_PROXY,
): Promise<void> {
  const proxy = proxyOf(new URL(url.reveal()), settings)
  const dispatcher = proxy === null ? new Agent() : openProxy(proxy)
  try {
    const response = await fetch(url.reveal(), {
      dispatcher,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: 'follow',
    })
    if (response.ok) return await response.body?.cancel()
    const reason = describeStatus(
      PARTY,
      response.status,
      await readStart(response),
      secretsOf(new URL(url.reveal())),
    )
    log.warn({ httpStatus: response.status, reason }, 'the heartbeat was refused')
  } catch (error) {
    log.warn({ reason: describeUnreachable(PARTY, error) }, 'the heartbeat could not be sent')
  } finally {
    await dispatcher.destroy()
  }
}

/** Of an answer no more is read. */
async function readStart(response: Response): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (text.length < MOST_CHARACTERS) {
    const { done = true, value = '' } = (await reader?.read()) ?? {}
    if (done) return text
    text += value
  }
  await reader?.cancel()
  return text
}
