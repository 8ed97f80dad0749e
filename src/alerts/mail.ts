/** A message as e-mail: in text and HTML, with the page of a report attached. */
import { createTransport, type NodemailerError, type Transporter } from 'nodemailer'
import { UnavailableError } from '../errors.ts'
import { quoteReply, secretsOf } from '../reply.ts'
import { describeUnreachable } from '../trouble.ts'
import type { AlertSettings, Channel } from './channel.ts'
import type { Outgoing } from './content.ts'
import { renderHtml, renderText } from './render.ts'

const PARTY = 'The mail server of SMTP_URL'
/** Of each step. */
const STEP_TIMEOUT_MS = 10_000
/** Of all of them, with the page. */
const MAIL_TIMEOUT_MS = 60_000

/**
 * @returns whom the server took the message not for, as a sentence; null when it took it for all
 * @throws UnavailableError when it took it for nobody
 */
export async function sendMail(
  channel: Channel,
  { id, content, attachment }: Outgoing,
  settings: AlertSettings,
  signal: AbortSignal,
): Promise<string | null> {
  const url = new URL(settings.smtpUrl?.reveal() ?? '')
  const transport = openTransport(url)
  try {
    const { rejected = [], rejectedErrors = [] } = await transport.sendMail({
      signal: AbortSignal.any([signal, AbortSignal.timeout(MAIL_TIMEOUT_MS)]),
      messageId: `<${id}@storerank>`,
      from: toSender(settings.smtpFrom ?? ''),
      to: (channel.address ?? '').split(',').map((address) => address.trim()),
      subject: content.title,
      text: renderText(content, id),
      html: renderHtml(content, id),
      headers: { 'auto-submitted': 'auto-generated' },
      attachments: attachment === null ? [] : [{ ...attachment, contentType: 'text/html; charset=utf-8' }],
    })
    if (rejected.length === 0) return null
    const reply = rejectedErrors[0]?.response
    const reason = reply === undefined ? '' : `: ${quoteReply(reply, secretsOf(url))}`
    return `${PARTY} did not take the message for ${rejected.join(', ')}${reason}.`
  } catch (error) {
    if (signal.aborted) throw error
    // Without its cause: an error of the network below another one is taken for the database's.
    throw new UnavailableError(describeRefusal(error, secretsOf(url)))
  } finally {
    transport.close()
  }
}

/** A name of its own, so that it is quoted where it has to be: a colon would begin a group of addresses. */
function toSender(from: string): { name: string; address: string } {
  const [, name = '', address = from] = /^"?(.*?)"? <(.+)>$/.exec(from) ?? []
  return { name, address }
}

function openTransport(url: URL): Transporter {
  const isLoopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname)
  return createTransport({
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port || (url.protocol === 'smtps:' ? 465 : 587)),
    secure: url.protocol === 'smtps:',
    // A password and a report do not go over a network in the clear.
    requireTLS: url.protocol === 'smtp:' && !isLoopback,
    ignoreTLS: isLoopback,
    ...(url.username === ''
      ? {}
      : { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }),
    connectionTimeout: STEP_TIMEOUT_MS,
    greetingTimeout: STEP_TIMEOUT_MS,
    socketTimeout: STEP_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

/** What the server replied, or why there was no reply. */
function describeRefusal(error: unknown, secrets: readonly string[]): string {
  const { code, response, responseCode } = error as NodemailerError
  if (response === undefined) return describeUnreachable(PARTY, error)
  const reply = quoteReply(response, secrets)
  return `${PARTY} did not take the message: ${reply}. ${remedyOf(code, responseCode)}`
}

function remedyOf(code?: string, responseCode = 0): string {
  if (code === 'EAUTH') return 'Check the login of SMTP_URL, and that the server lets a program log in.'
  if (code === 'EENVELOPE') return 'Check SMTP_FROM and the addresses of the channel.'
  return responseCode < 500 ? 'It may take it later.' : 'Ask those who run the mail server.'
}
