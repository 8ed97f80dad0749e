/** One attempt to hand over a message: bounded in time and size, to a checked address, without redirects. */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { promisify } from 'node:util'
import { Webhook } from 'standardwebhooks'
import { Agent, type Dispatcher, request } from 'undici'
import {
  ConfigurationError,
  RateLimitedError,
  RejectedError,
  StorerankError,
  UnavailableError,
} from '../errors.ts'
import { openProxy, proxyOf } from '../proxy.ts'
import { describeStatus, quoteReply, readStart, secretsOf } from '../reply.ts'
import { describeUnreachable } from '../trouble.ts'
import { checkAddress } from './address.ts'
import { type AlertSettings, type Channel, secretOf } from './channel.ts'
import type { Outgoing } from './content.ts'
import { sendMail } from './mail.ts'
import { CHATS, renderWebhook } from './render.ts'

const TIMEOUT_MS = 10_000
const GONE = 410

/**
 * @returns whom the receiver took the message not for, as a sentence; null when it took it for all
 * @throws ConfigurationError when the channel cannot be sent to as it is set up; UnavailableError when the
 *   receiver did not take it; RateLimitedError when it says when to try again; RejectedError when it wants no
 *   more messages. None names a secret.
 */
export async function send(
  channel: Channel,
  message: Outgoing,
  settings: AlertSettings,
  signal: AbortSignal,
): Promise<string | null> {
  checkChannel(channel, settings)
  if (channel.kind === 'email') return sendMail(channel, message, settings, signal)
  const { id, content } = message
  const secret = secretOf(channel, settings)
  if (channel.kind === 'webhook') {
    const body = renderWebhook(content)
    const headers = signWebhook(id, body, readSigners(channel, secret))
    await post(channel.address ?? '', headers, body, settings, signal)
  } else await post(secret, {}, CHATS[channel.kind](content, id), settings, signal)
  return null
}

/** @throws ConfigurationError with what to set, of what can be said without a name server or a receiver */
export function checkChannel(channel: Channel, settings: AlertSettings): void {
  if (channel.kind === 'email') {
    const missing = settings.smtpUrl === null ? 'SMTP_URL' : settings.smtpFrom === null ? 'SMTP_FROM' : null
    if (missing === null) return
    throw new ConfigurationError(
      `The channel "${channel.name}" sends e-mail, for which ${missing} has to be set for the runners.`,
    )
  }
  const secret = secretOf(channel, settings)
  if (channel.kind === 'webhook') readSigners(channel, secret)
  checkAddress(channel.kind === 'webhook' ? (channel.address ?? '') : secret, settings.privateHosts)
}

function signWebhook(id: string, body: string, signers: readonly Webhook[]) {
  const now = new Date()
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': signers.map((key) => key.sign(id, now, body)).join(' '),
  }
}

/** One for each secret, so that a receiver may take the old one or the new one while it is changed. */
function readSigners(channel: Channel, secret: string): Webhook[] {
  const texts = secret.split(/\s+/).filter((text) => text !== '')
  const isRight = (text: string) => /^(whsec_)?[A-Za-z0-9+/]{32,}={0,2}$/.test(text)
  if (texts.length > 0 && texts.every(isRight)) return texts.map((text) => new Webhook(text))
  throw new ConfigurationError(
    `${channel.secretVariable} of the channel "${channel.name}" must be a signing secret of at least 24 ` +
      'bytes in base64, or several with spaces between: echo whsec_$(openssl rand -base64 24).',
  )
}

async function post(
  address: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  settings: AlertSettings,
  signal: AbortSignal,
): Promise<void> {
  const checked = checkAddress(address, settings.privateHosts)
  const { url } = checked
  let dispatcher: Dispatcher | undefined
  try {
    const way = await findWay(checked, settings)
    dispatcher = way.dispatcher
    const answer = await request(way.url, {
      method: 'POST',
      dispatcher,
      headers: { host: url.host, 'content-type': 'application/json', 'user-agent': 'storerank', ...headers },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    answer.body.on('error', () => {})
    if (answer.statusCode >= 200 && answer.statusCode < 300) answer.body.destroy()
    else throw await refusalOf(answer, url)
  } catch (error) {
    if (signal.aborted || (error instanceof StorerankError && !(error instanceof ConfigurationError)))
      throw error
    if (error instanceof ConfigurationError) throw new UnavailableError(error.message, { cause: error })
    // Without its cause: an error of the network below another one is taken for the database's.
    throw new UnavailableError(describeUnreachable('The receiver', error))
  } finally {
    await dispatcher?.destroy()
  }
}

/** A proxy is asked for the address that was checked; for a host that the operator allows, by name. */
async function findWay({ url, isAllowed, lookup }: ReturnType<typeof checkAddress>, settings: AlertSettings) {
  const proxy = proxyOf(url, settings.proxy)
  if (proxy === null) return { dispatcher: new Agent({ connect: { lookup, timeout: TIMEOUT_MS } }), url }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const target = new URL(url)
  if (!isAllowed && isIP(host) === 0) {
    const address = (await promisify(lookup)(host, {})) as string
    target.hostname = isIP(address) === 6 ? `[${address}]` : address
  }
  const requestTls = { timeout: TIMEOUT_MS, ...(isIP(host) === 0 ? { servername: host } : {}) }
  return { dispatcher: openProxy(proxy, { connectTimeout: TIMEOUT_MS, requestTls }), url: target }
}

/** As Standard Webhooks has it: 410 wants no more, and others may say when to try again. */
async function refusalOf({ statusCode, headers, body }: Dispatcher.ResponseData, url: URL) {
  const said = await readStart(body)
  if (statusCode === GONE) {
    const reason = said === '' ? '' : ` It says ${quoteReply(said, secretsOf(url))}.`
    const gone = `The receiver answered HTTP ${statusCode} (Gone): it wants no more messages.${reason}`
    return new RejectedError(gone, statusCode)
  }
  const sentence = describeStatus('The receiver', statusCode, said, secretsOf(url))
  const retryAfterMs = readRetryAfterMs(headers)
  return retryAfterMs === null
    ? new UnavailableError(sentence)
    : new RateLimitedError(`${sentence} It says when to try again.`, retryAfterMs)
}

/** Seconds, or a date by the clock of the receiver; null where it means nothing. */
function readRetryAfterMs({ 'retry-after': text = '', date = '' }: IncomingHttpHeaders): number | null {
  if (/^\d{1,9}$/.test(String(text))) return Number(text) * 1000
  const untilMs = /^\w{3}, .* GMT$/.test(String(text)) ? Date.parse(String(text)) : Number.NaN
  return Number.isNaN(untilMs) ? null : Math.max(0, untilMs - (Date.parse(date) || Date.now()))
}
